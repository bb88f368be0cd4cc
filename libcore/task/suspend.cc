// In and out of the uni-address region: evacuation, restoring, and the migration at every fork that TOBI_DEBUG_MIGRATE
// asks for.
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

#include "libcore/base/door.hpp"
#include "libcore/base/log.hpp"
#include "libcore/task/trace.hpp"
#include "libcore/task/worker.hpp"
#include "tobi/detail/fork.hpp"

namespace tobi::tasks {

namespace {

constexpr int poison = 0xdb;  // as an address it is not canonical: a pointer read from poison faults

std::uintptr_t page_bytes() noexcept {
  static const auto bytes = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

}  // namespace

std::uint64_t worker::evacuate(std::uintptr_t sp, std::uintptr_t base, std::uint64_t die_record) {
  auto* saved = static_cast<image*>(parts_.objects->allocate(sizeof(image) + (base - sp)));
  if (saved == nullptr) {
    base::fatal("the registered heap is full: no room to evacuate a stack of " + std::to_string(base - sp) +
                " bytes; raise TOBI_HEAP_SIZE.");
  }
  // SC'23, figure 5: Release #3. Who resumes the task may be elsewhere, unless it waits in this worker's own queue.
  if (fences() && sched_->moves_at_joins()) parts_.memory->release();
  const std::uint64_t where = parts_.net->here(saved).word;
  *saved = image{sp, base - sp, die_record, 0, scopes_.at(sp), image_mark ^ where, {}};
  std::memcpy(saved + 1, reinterpret_cast<const void*>(sp), base - sp);
  ++counts_.evacuations;
  counts_.evacuated_bytes += base - sp;
  return where;
}

std::uintptr_t worker::restore(location where, waiter_links& before) {
  fabric& net = *parts_.net;
  const image head = incoming_image_.head(where);
  before = head.before;
  scopes_.entered(head.finish);
  had_to_wait_ = head.waiting_for != 0;
  if (had_to_wait_) still_.goes_on();
  const std::uintptr_t base = head.sp + head.bytes;
  expose(base);
  incoming_image_.frames(where, head);
  free_object(where);
  cut_from_parent(base);
  deque_->reset(base, head.die_record);
  // What it wrote before it was suspended elsewhere was released there.
  if (fences() && !net.is_local(where)) parts_.memory->acquire(0);
  return head.sp;
}

// The greedy join's second half, on the scheduler's stack: CLUSTER 2022, figure 4, lines 44 to 50. Answers the stack
// pointer to enter next, or 0 when the region is empty now.
std::uintptr_t worker::suspend_task() {
  const std::uint64_t begin_ns = tracing != nullptr ? tracer::now() : 0;
  const std::uint64_t begin = arch::cycles();
  const std::uintptr_t sp = tobi_hot.suspended_sp;
  const std::uintptr_t base = deque_->task_base();
  std::uintptr_t parent = 0;
  std::uint64_t dies_to = 0;
  // With futures a task may wait while its parent is still here: the parent then runs on as if this worker had stolen
  // it.
  if (!deque_->at_base() && deque_->pop(base)) {
    parent = base;
    if (reinterpret_cast<const arch::saved_frame*>(parent)->handle != nullptr) dies_to = need_record();
  } else {
    dies_to = deque_->die_record();
  }

  const std::uint64_t mine = evacuate(sp, base, dies_to);
  static_cast<image*>(parts_.net->local(location{mine}))->waiting_for = waiting_for_;
  if (!sched_->park(mine, waiting_for_)) {
    // The child was faster. The task's frames are where they were: it goes on.
    parts_.objects->free_local(parts_.net->local(location{mine}));
    if (parent != 0) {
      if (dies_to != 0) drop_record(dies_to);
      deque_->push_again();
    }
    return sp;
  }
  ++counts_.outstanding_joins;
  counts_.suspend_cycles += arch::cycles() - begin;
  if (tracing != nullptr) tracing->suspended(mine, begin_ns);
  still_.waits();
  if (parent == 0) return 0;
  auto* frame = reinterpret_cast<arch::saved_frame*>(parent);
  frame->record = dies_to;
  scopes_.forget_below(parent);
  tell_parent(*frame, deque_->task_base());
  return parent;
}

// Puts the image at WHERE among the waiters of the record. False: that is done already.
bool worker::enlist(std::uint64_t where, std::uint64_t record) noexcept {
  const location word = location{record};
  auto* mine = static_cast<image*>(parts_.net->local(location{where}));
  const auto read = [this](std::uint64_t of, waiter_links& links) {
    const location at{location{of}.rank(), location{of}.offset() + offsetof(image, before)};
    if (!parts_.net->can_be(at, sizeof links)) return false;
    parts_.net->get(at, &links, sizeof links);
    return true;
  };
  std::uint64_t seen = 0;
  for (;;) {
    mine->before = links_before(seen, read);
    const std::uint64_t found = parts_.net->compare_swap(word, seen, where);
    if (found == seen) return true;
    if (is_done(found)) return false;
    seen = found;
  }
}

void worker::expose(std::uintptr_t up_to) noexcept {
  const std::uintptr_t end = (up_to + page_bytes() - 1) & ~(page_bytes() - 1);
  if (end <= protected_from_) return;
  if (mprotect(reinterpret_cast<void*>(protected_from_), end - protected_from_, PROT_READ | PROT_WRITE) != 0) {
    base::fatal("cannot change the protection of the task stacks (mprotect); run without TOBI_DEBUG_MIGRATE.");
  }
  protected_from_ = end;
}

// TOBI_DEBUG_MIGRATE: the parent's continuation is evacuated as if it had been stolen, and its frames become a trap:
// poisoned, and every whole page of them without access. The child starts on a page of its own, below.
void worker::migrate_at_fork() {
  const std::uintptr_t sp = forked_sp_;
  --tobi_hot.bottom;  // the entry that the fork has pushed
  const std::uintptr_t base = deque_->task_base();
  const auto* type = static_cast<const detail::task_type*>(forked_type_);

  auto* frame = reinterpret_cast<arch::saved_frame*>(sp);
  frame->record = frame->handle == nullptr ? 0 : need_record();
  tell_parent(*frame, base);
  const std::uint64_t child_dies_to = frame->record;

  const std::uintptr_t limit = sp & ~(page_bytes() - 1);
  const std::uintptr_t child_sp = (limit - type->closure_bytes) & ~std::uintptr_t{15};
  if (type->closure_bytes != 0) {  // else it travels in registers
    std::memcpy(reinterpret_cast<void*>(child_sp), reinterpret_cast<const void*>(forked_words_[0]),
                type->closure_bytes);
    forked_words_[0] = child_sp;
  }
  ready_.push(evacuate(sp, base, deque_->die_record()));

  scopes_.entered(scopes_.at(sp));  // while its markers can still be read
  std::memset(reinterpret_cast<void*>(sp), poison, base - sp);
  if (limit < protected_from_) {
    if (mprotect(reinterpret_cast<void*>(limit), protected_from_ - limit, PROT_NONE) != 0) {
      base::fatal("cannot take away the access to a moved stack (mprotect); run without TOBI_DEBUG_MIGRATE.");
    }
    protected_from_ = limit;
  }
  deque_->reset(child_sp, child_dies_to);
  base::the_door.step_out();
  tobi_enter_child(child_sp, forked_words_.data(), type);
}

}  // namespace tobi::tasks
