#include "libcore/task/worker.hpp"

#include <sched.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "arch/clock.hpp"
#include "arch/cpu.hpp"
#include "arch/heavy_fence.hpp"
#include "libcore/base/door.hpp"
#include "libcore/base/log.hpp"
#include "libcore/task/the.hpp"
#include "libcore/task/trace.hpp"
#include "tobi/detail/fork.hpp"

tobi::arch::hot_state tobi_hot;

namespace tobi::tasks {

namespace {

// Attempts that an idle worker makes at full speed, then with the core given away, before it sleeps between them. An
// oversubscribed worker spins on somebody else's time.
constexpr unsigned eager_attempts = 20'000;
constexpr unsigned eager_attempts_oversubscribed = 16;
constexpr unsigned yielding_attempts_oversubscribed = 64;
constexpr std::uint64_t longest_nap_ns = 5'000'000;

// A task that forks polls a transport that needs it so often: at about 100 ns a poll and 10 ns a fork it costs less
// than the forks themselves, and a thief waits for less than a microsecond. Where forks are rarer, each some 10 us.
constexpr std::uint64_t forks_between_polls = 32;
constexpr std::uint64_t cycles_between_polls = 1 << 15;

}  // namespace

worker& this_worker() noexcept {
  static worker instance;
  return instance;
}

void worker::start(const worker_parts& parts) {
  parts_ = parts;
  const auto high = reinterpret_cast<std::uintptr_t>(parts.stack_high);
  const auto bytes = static_cast<std::size_t>(parts.stack_high - parts.stack_low);
  sched_ = make_scheduler(parts.sched, *this);
  arch::hot_state& hot = sched_->deque_state();
  std::erase_if(parts_.near, [&](int rank) { return parts.net->mapped(rank) == nullptr; });
  const bool all_near = parts_.near.size() + 1 == static_cast<std::size_t>(parts.net->size());
  if (parts.use_the) {
    deque_ = std::make_unique<the>(hot, parts.slot_memory, *parts.net, *parts.window, *parts.the, *this, high, bytes);
  } else {
    deque_ = std::make_unique<steal_word>(hot, parts.slot_memory, *parts.net, *parts.window, *this, high, bytes,
                                          !parts.choice->none(),
                                          !parts.net->host_atomics() && !parts_.near.empty() && !all_near);
  }
  one_host_ = std::all_of(parts.hosts->begin(), parts.hosts->end(), [&](int h) { return h == parts.hosts->front(); });
  must_poll_ = must_poll(parts.net->transport().caps());
  // Rung for good, every fork reaches on_fork. A transport that moves by itself does not need that.
  if (parts.count_forks || parts.debug_migrate || must_poll_) {
    auto* bells = reinterpret_cast<std::uint8_t*>(&parts.window->doorbell);
    bells[static_cast<int>(bell::sticky)] = 1;
  }
  protected_from_ = high;
  deque_->reset(high, 0);
  ready_.start(*parts.net, deque_->shown_lists(), !parts.choice->none() && sched_->moves_at_joins());
  incoming_image_.start(*parts.net, *parts.images);
  still_.start(*parts.net, *parts.board, *parts.objects, parts.runs_tasks ? sched_.get() : nullptr);
  const int first = parts_.near.empty() ? parts.net->rank() : std::min(parts.net->rank(), parts_.near.front());
  auto* const window_of_first = reinterpret_cast<steal_window*>(
      first == parts.net->rank() ? reinterpret_cast<std::byte*>(parts.window)
                                 : parts.net->mapped(first) + parts.net->here(parts.window).offset());
  lookout_.start(*deque_, *parts.choice, parts_.near, !all_near, parts.cores, window_of_first->looks_far,
                 static_cast<std::uint64_t>(parts.net->rank()) + 1);
  if (!parts.choice->none()) start_attendant();
}

void worker::start_attendant() {
  if (!parts_.net->transport().caps().any_thread) {
    base::log(base::log_level::warn, std::string(parts_.net->transport().name()) +
                                         " takes calls of one thread alone: what this worker has forked can be stolen "
                                         "only at its next fork, so tasks that compute for long without one run less "
                                         "in parallel.");
    return;
  }
  if (const std::string why = arch::prepare_heavy_fence(); !why.empty()) {
    base::log(base::log_level::warn, why +
                                         ": what this worker has forked can be stolen only at its next fork, so tasks "
                                         "that compute for long without one run less in parallel.");
    return;
  }
  const bool all_can_call = parts_.near.size() + 1 == static_cast<std::size_t>(parts_.net->size());
  attendant_ = std::make_unique<attendant>(
      *this, *parts_.window, attendant::habits{must_poll_, must_poll_ || !all_can_call, parts_.workers_a_core});
}

void worker::stop() noexcept {
  attendant_.reset();
  deque_.reset();
  sched_.reset();
  parts_ = worker_parts{};
}

void worker::schedule(void (*first)(void*), const void* argument, std::size_t argument_bytes, std::uint64_t& done,
                      std::uint64_t done_value) {
  if (tracing != nullptr) tracing->run_begins();
  if (first != nullptr) sched_->run_root(first, argument, argument_bytes);
  unsigned attempts = 0;
  std::uint64_t idle_since = 0;
  // Acquire: what the root wrote before it told us is read after this.
  while (std::atomic_ref(done).load(std::memory_order_acquire) != done_value) {
    if (sched_->run_something()) {
      attempts = 0;
      continue;
    }
    if (attempts == 0) idle_since = arch::now_ns();
    if (idle(attempts)) nothing_runs_since(idle_since);
  }
  still_.moves();
  if (tracing != nullptr) tracing->run_ends();
}

void worker::set_busy(bool in_a_task) noexcept {
  inside_task_ = in_a_task;
  if (in_a_task) sleeps_ = false;
  std::atomic_ref(parts_.window->busy).store(in_a_task ? 1 : 0, std::memory_order_relaxed);
  if (tracing == nullptr) return;
  if (in_a_task) {
    tracing->task_begins();
  } else {
    tracing->task_ends();
  }
}

bool worker::asked_for_work() const noexcept { return asked(*parts_.window); }

void worker::enter_root(void (*first)(void*), const void* argument, std::size_t argument_bytes) {
  // The argument lies in the root's own frames, so that it moves with the root.
  const auto high = reinterpret_cast<std::uintptr_t>(parts_.stack_high);
  const std::uintptr_t sp = (high - argument_bytes) & ~std::uintptr_t{63};
  expose(high);
  std::memcpy(reinterpret_cast<void*>(sp), argument, argument_bytes);
  deque_->reset(high, 0);
  scopes_.entered(0);
  begin_task();
  tobi_enter_root(sp, first, reinterpret_cast<void*>(sp));
  after_leave();
}

// Enters the task saved at SP: out of the door, and in again when it leaves.
void worker::go_on(std::uintptr_t sp) noexcept {
  base::the_door.step_out();
  tobi_enter(sp);
}

void worker::begin_task() noexcept {
  TOBI_ASSERT(!inside_task_, "a worker that brings frames into its region has no live frame there");
  set_busy(true);
}

void worker::after_leave() {
  for (;;) {
    switch (left_) {
      case left::died: {
        const std::uintptr_t next = leave_region();
        if (next == 0) return;
        go_on(next);
        break;
      }
      case left::suspended: {
        std::uintptr_t next = suspend_task();
        if (next == 0) next = leave_region();
        if (next == 0) return;
        go_on(next);
        break;
      }
      case left::forked:
        migrate_at_fork();
        break;
    }
  }
}

// The running task has left, and its parent is elsewhere. An older one may still be here, where thieves of this node
// and of others have a window each: it goes on in place, as if this worker had stolen it, before anything is brought
// into the region. Returns its stack pointer, or 0 when the region is empty.
std::uintptr_t worker::leave_region() {
  const std::uintptr_t sp = deque_->take_older();
  settle();
  if (sp == 0) return 0;
  const auto* frame = reinterpret_cast<const arch::saved_frame*>(sp);
  scopes_.forget_below(sp);
  tell_parent(*frame, deque_->task_base());
  ready_.show();  // what the task that has left has awakened waits no longer for this worker
  begin_task();
  return sp;
}

void worker::settle() noexcept {
  set_busy(false);
  // A thief that claimed a frame of this region may not have copied it yet. It needs nothing of us for that.
  for (unsigned spins = 0; !deque_->quiet(); ++spins) {
    parts_.net->transport().progress();
    if (fences()) parts_.memory->serve();
    if (parts_.oversubscribed || spins > 1000) {
      sched_yield();
    } else {
      arch::pause();
    }
  }
}

bool worker::run_ready() {
  const std::uint64_t list = ready_.take();
  if (list == 0) return false;
  resume(list);
  return true;
}

// The first task of LIST goes on here; the lists that are left may be taken, and are next here if they are not.
void worker::resume(std::uint64_t list) {
  waiter_links before{};
  const std::uintptr_t sp = bring_back(location{list & ~location_tags}, before);
  for (const std::uint64_t rest : before.rest(list)) {
    if (rest != 0) ready_.push(rest);
  }
  ready_.show();
  enter_restored(sp);
}

// Of a task that has waited in a queue since it could go on at RESUMABLE_NS.
void worker::enter_image(std::uint64_t where, std::uint64_t resumable_ns) {
  still_.moves();
  if (tracing != nullptr) tracing->ready(where);
  waiter_links none{};
  const std::uintptr_t sp = bring_back(location{where}, none);
  had_to_wait_ = false;
  count_resumed(resumable_ns);
  enter_restored(sp);
}

std::uintptr_t worker::bring_back(location where, waiter_links& before) {
  const std::uint64_t begin_ns = tracing != nullptr ? tracer::now() : 0;
  const std::uintptr_t sp = restore(where, before);
  if (tracing != nullptr) tracing->resumed(where.word, where.rank(), begin_ns);
  return sp;
}

void worker::enter_restored(std::uintptr_t sp) {
  begin_task();
  go_on(sp);
  after_leave();
}

bool worker::one_clock_with(int rank) const noexcept {
  const std::vector<int>& hosts = *parts_.hosts;
  return hosts[static_cast<std::size_t>(rank)] == hosts[static_cast<std::size_t>(parts_.net->rank())];
}

std::uint64_t worker::resumable_since(std::uint64_t since_ns, const record& done) const noexcept {
  return one_clock_with(done.by) && done.done_ns > since_ns ? done.done_ns : since_ns;
}

std::uint64_t worker::not_done_yet(std::uint64_t since_ns) const noexcept {
  return one_host_ ? since_ns : arch::now_ns();
}

void worker::count_resumed(std::uint64_t resumable_ns) noexcept {
  const std::uint64_t now_ns = arch::now_ns();
  if (now_ns > resumable_ns) counts_.outstanding_time += now_ns - resumable_ns;
}

steal_result worker::steal(stolen& got) {
  if (parts_.incoming != nullptr) parts_.incoming->collect();
  if (parts_.choice->none()) return steal_result::empty;
  const int victim = sleeps_ || parts_.oversubscribed ? lookout_.next() : parts_.choice->next();
  if (victim < 0) return steal_result::empty;
  const std::uint64_t begin_ns = arch::now_ns();
  const std::uint64_t trips = parts_.net->round_trips();
  got.image = &incoming_image_;
  got.insists = sleeps_;
  if (tracing != nullptr) tracing->steal_begins(begin_ns);
  const steal_result result = deque_->steal(victim, got);
  lookout_.tried();
  got.victim = victim;
  if (result == steal_result::taken || result == steal_result::context) sleeps_ = false;
  switch (result) {
    case steal_result::context:
      still_.took();
      ++counts_.contexts_stolen;
      if (tracing != nullptr) tracing->steal_ends(victim, result, tracer::now(), got);
      return result;
    case steal_result::taken:
      break;
    case steal_result::empty:
    case steal_result::lost_race:
      if (result == steal_result::empty) parts_.choice->in_vain();
      ++counts_.steals_failed;
      if (tracing != nullptr) tracing->steal_ends(victim, result, tracer::now(), got);
      return result;
  }
  still_.took();
  ++counts_.steals_ok;
  counts_.steal_time += arch::now_ns() - begin_ns;
  counts_.steal_round_trips += parts_.net->round_trips() - std::max(trips, got.trips_before);
  counts_.stolen_bytes += got.base - got.sp;
  return result;
}

void worker::count_phases(const stolen& got) noexcept {
  for (std::size_t i = 0; i < steal_phases; ++i) counts_.steal_cycles[i] += got.cycles[i];
  if (tracing != nullptr) tracing->steal_ends(got.victim, steal_result::taken, tracer::now(), got);
}

// SC'23, figure 5: Acquire #2. A ticket also comes to a worker that has not used global memory itself.
void worker::acquire_stolen(const stolen& got) noexcept {
  if (parts_.memory != nullptr && (fences() || got.ticket != 0)) parts_.memory->acquire(got.ticket);
}

bool worker::steal_once() {
  stolen got;
  const steal_result result = steal(got);
  if (result == steal_result::context) resume(got.list);
  if (result != steal_result::taken) return result == steal_result::context;
  const std::uint64_t mark = arch::cycles();
  const auto* frame = reinterpret_cast<const arch::saved_frame*>(got.sp);
  tell_parent(*frame, got.base);
  deque_->reset(got.base, frame->die_record);
  scopes_.entered(frame->finish);
  got.spent(steal_phase::resume, mark);
  count_phases(got);
  acquire_stolen(got);
  begin_task();
  cut_from_parent(got.base);
  go_on(got.sp);
  after_leave();
  return true;
}

// The root never returns, and has its argument where others have a return address.
void worker::cut_from_parent(std::uintptr_t base) const noexcept {
  if (base != reinterpret_cast<std::uintptr_t>(parts_.stack_high)) arch::cut_from_parent(base);
}

void worker::tell_parent(const arch::saved_frame& frame, std::uintptr_t base) const noexcept {
  if (frame.handle == nullptr) return;
  const auto at = reinterpret_cast<std::uintptr_t>(frame.handle);
  TOBI_ASSERT(
      at >= reinterpret_cast<std::uintptr_t>(&frame) && at < base,
      "a tobi::task must live among the locals of the task that spawned it, not on the heap or in a parent's frame");
  static_cast<detail::handle*>(frame.handle)->record = frame.record;
}

void worker::nothing_runs_since(std::uint64_t since_ns) noexcept {
  still_.idle(since_ns, arch::now_ns(), [this] { return deque_->claimed() + ready_.claimed(); });
}

// True when it has come to sleeping between its attempts.
bool worker::idle(unsigned& attempts) noexcept {
  ++attempts;
  if (parts_.incoming != nullptr) parts_.incoming->collect();
  parts_.net->transport().progress();
  if (fences()) parts_.memory->serve();
  if (!parts_.oversubscribed) {
    if (attempts < eager_attempts) {
      for (unsigned i = 0; i < (attempts < 32 ? attempts : 32); ++i) arch::pause();
      return false;
    }
  } else if (attempts < eager_attempts_oversubscribed) {
    arch::pause();
    return false;
  } else if (attempts < yielding_attempts_oversubscribed) {
    sched_yield();
    return false;
  }
  sleeps_ = true;
  const timespec pause{0, static_cast<long>(std::min(lookout_.nap_ns(), longest_nap_ns))};
  nanosleep(&pause, nullptr);
  return true;
}

void worker::keep_moving() noexcept {
  if (!must_poll_ || --until_poll_ != 0) return;
  const std::uint64_t now = arch::cycles();
  const std::uint64_t a_fork = (now - polled_at_) / polled_after_ + 1;
  std::atomic_ref(polled_at_).store(now, std::memory_order_relaxed);
  polled_after_ = std::clamp(cycles_between_polls / a_fork, std::uint64_t{1}, forks_between_polls);
  until_poll_ = static_cast<unsigned>(polled_after_);
  parts_.net->transport().progress();
}

void worker::on_fork(std::uintptr_t sp, std::uint64_t* words) noexcept {
  keep_moving();
  if (fences()) {
    parts_.memory->nothing_held("fork");
    parts_.memory->serve();
  }
  if (parts_.count_forks) ++counts_.forks;
  ready_.show();
  if (parts_.debug_migrate) {
    forked_sp_ = sp;
    std::memcpy(&forked_words_, words, sizeof forked_words_);
    forked_type_ = reinterpret_cast<const void*>(words[4]);
    left_ = left::forked;
    tobi_leave();
  }
  sched_->forked(sp, words);
}

void worker::poll() noexcept {
  parts_.net->transport().progress();
  ready_.show();
  if (fences()) parts_.memory->serve();
  if (inside_task_) deque_->serve(server::owner);
}

void worker::attend() noexcept {
  if (!inside_task_) return;
  if (must_poll_) parts_.net->transport().progress();
  if (fences()) parts_.memory->serve();
  ready_.show();
  // Where each continuation is evacuated at its fork there is nothing to show, and an entry that has just been pushed
  // is not for thieves.
  if (asked_for_work() && !parts_.debug_migrate) deque_->serve(server::attendant);
}

void worker::on_return(std::uintptr_t sp, std::uint64_t a, std::uint64_t b) noexcept {
  keep_moving();
  const std::uint64_t failed = std::exchange(pending_failure_, 0);
  const std::uint32_t large = std::exchange(large_bytes_, 0);
  if (!deque_->at_base() && deque_->take_back(sp)) {
    auto* h = static_cast<std::byte*>(reinterpret_cast<const arch::saved_frame*>(sp)->handle);
    if (failed != 0) {
      reinterpret_cast<detail::handle*>(h)->record = failed | failure_tag;
    } else if (large != 0) {
      std::memcpy(h + large_offset_, large_.data(), large);
    }
    return;
  }
  pending_failure_ = failed;
  large_bytes_ = large;
  complete_task(deque_->die_record(), a, b);
  leave_dead();
}

void worker::complete_task(std::uint64_t where, std::uint64_t a, std::uint64_t b) noexcept {
  const std::uint64_t failed = std::exchange(pending_failure_, 0);
  const std::uint32_t large = std::exchange(large_bytes_, 0);
  if (fences()) parts_.memory->nothing_held("task's end");
  if (where != 0) {
    if (failed != 0) {
      complete(where, record_status::error, &failed, sizeof failed);
    } else if (large != 0) {
      complete(where, record_status::value, large_.data(), large);
    } else {
      const std::uint64_t value[] = {a, b};
      complete(where, record_status::value, value, sizeof value);
    }
  }
}

void worker::leave_dead() noexcept {
  left_ = left::died;
  tobi_leave();
}

// Whether the parent of the task whose frames begin at SP waits right above for it to return. Where children are stolen
// it does not: it has gone on.
bool worker::parent_is_here(std::uintptr_t sp) const noexcept {
  return sched_->moves_tasks() && !deque_->at_base() && sp < tobi_hot.split_sp;
}

// The parent may be shown to thieves at any moment, so what does not travel in registers goes to its frame only when
// the child has returned and the frame is ours: on_return.
void* worker::result_slot(std::uintptr_t sp, std::uint32_t bytes, std::uint32_t offset) noexcept {
  if (parent_is_here(sp)) deque_->return_slowly(sp);
  if (large_.size() < bytes) large_.resize(bytes);
  large_bytes_ = bytes;
  large_offset_ = offset;
  return large_.data();
}

void worker::task_failed(std::uintptr_t sp) noexcept {
  pending_failure_ = keep_failure();
  if (parent_is_here(sp)) deque_->return_slowly(sp);
}

statistics worker::counted() const noexcept {
  statistics all = counts_;
  all.joins = all.forks;
  all.copy_time =
      static_cast<std::uint64_t>(arch::cycles_to_ns(counts_.steal_cycles[static_cast<std::size_t>(deque_->copying())]));
  const deque::counters shown = deque_->counts();
  all.published = shown.published - shown_before_.published;
  all.taken_back = shown.taken_back - shown_before_.taken_back;
  const std::size_t own_stacks = sched_->touched_stack_bytes();
  all.peak_stack_bytes = own_stacks != 0 ? own_stacks : peak_stack();
  return all;
}

void worker::reset_counts() noexcept {
  counts_ = statistics{};
  shown_before_ = deque_->counts();
}

std::uint64_t worker::peak_stack() const noexcept {
  // Pages of the region exist once they were touched, and stay: the lowest one is the high-water mark.
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const auto bytes = static_cast<std::size_t>(parts_.stack_high - parts_.stack_low);
  std::vector<unsigned char> present(bytes / page);
  if (mincore(parts_.stack_low, bytes, present.data()) != 0) return 0;
  for (std::size_t i = 0; i < present.size(); ++i) {
    if ((present[i] & 1) == 0) continue;
    const std::byte* lowest = parts_.stack_low + i * page;
    if (reinterpret_cast<std::uintptr_t>(lowest) >= protected_from_) break;
    while (lowest < parts_.stack_high && *lowest == std::byte{0}) ++lowest;
    return static_cast<std::uint64_t>(parts_.stack_high - lowest);
  }
  return 0;
}

}  // namespace tobi::tasks
