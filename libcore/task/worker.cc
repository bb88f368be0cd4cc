#include "libcore/task/worker.hpp"

#include <sched.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

#include "arch/clock.hpp"
#include "arch/cpu.hpp"
#include "libcore/base/log.hpp"
#include "libcore/task/the.hpp"
#include "tobi/detail/fork.hpp"

tobi::arch::hot_state tobi_hot;

namespace tobi::tasks {

namespace {

// Attempts that an idle worker makes at full speed, then with the core given away, before it sleeps between them. An
// oversubscribed worker spins on somebody else's time.
constexpr unsigned eager_attempts = 20'000;
constexpr unsigned eager_attempts_oversubscribed = 16;
constexpr unsigned yielding_attempts_oversubscribed = 64;
constexpr long idle_sleep_ns = 50'000;

// A task that forks polls a transport that needs it so often: at about 100 ns a poll and 10 ns a fork it costs less
// than the forks themselves, and a thief waits for less than a microsecond.
constexpr unsigned forks_between_polls = 32;

void nap() noexcept {
  const timespec pause{0, idle_sleep_ns};
  nanosleep(&pause, nullptr);
}

}  // namespace

worker& this_worker() noexcept {
  static worker instance;
  return instance;
}

void worker::start(const worker_parts& parts) {
  parts_ = parts;
  const auto high = reinterpret_cast<std::uintptr_t>(parts.stack_high);
  const auto bytes = static_cast<std::size_t>(parts.stack_high - parts.stack_low);
  if (parts.use_the) {
    deque_ =
        std::make_unique<the>(tobi_hot, parts.slot_memory, *parts.net, *parts.window, *parts.the, *this, high, bytes);
  } else {
    deque_ = std::make_unique<steal_word>(tobi_hot, parts.slot_memory, *parts.net, *parts.window, *this, high, bytes);
  }
  must_poll_ = must_poll(parts.net->transport().caps());
  // Rung for good, every fork reaches on_fork. A transport that moves by itself does not need that.
  if (parts.count_forks || parts.debug_migrate || must_poll_) {
    auto* bells = reinterpret_cast<std::uint8_t*>(&parts.window->doorbell);
    bells[static_cast<int>(bell::sticky)] = 1;
  }
  protected_from_ = high;
  deque_->reset(high, 0);
}

void worker::stop() noexcept {
  deque_.reset();
  parts_ = worker_parts{};
}

void worker::schedule(void (*first)(void*), const void* argument, std::size_t argument_bytes, std::uint64_t& done,
                      std::uint64_t done_value) {
  if (first != nullptr) {
    // The argument lies in the root's own frames, so that it moves with the root.
    const auto high = reinterpret_cast<std::uintptr_t>(parts_.stack_high);
    const std::uintptr_t sp = (high - argument_bytes) & ~std::uintptr_t{63};
    expose(high);
    std::memcpy(reinterpret_cast<void*>(sp), argument, argument_bytes);
    deque_->reset(high, 0);
    begin_task();
    tobi_enter_root(sp, first, reinterpret_cast<void*>(sp));
    after_leave();
  }
  unsigned attempts = 0;
  // Acquire: what the root wrote before it told us is read after this.
  while (std::atomic_ref(done).load(std::memory_order_acquire) != done_value) {
    if (run_ready() || steal_once()) {
      attempts = 0;
    } else {
      idle(attempts);
    }
  }
}

void worker::begin_task() noexcept {
  TOBI_ASSERT(!inside_task_, "a worker that brings frames into its region has no live frame there");
  std::atomic_ref(parts_.window->busy).store(1, std::memory_order_relaxed);
  inside_task_ = true;
}

void worker::after_leave() {
  for (;;) {
    switch (left_) {
      case left::died:
        settle();
        return;
      case left::suspended: {
        const std::uintptr_t next = suspend_task();
        if (next == 0) {
          settle();
          return;
        }
        tobi_enter(next);
        break;
      }
      case left::forked:
        migrate_at_fork();
        break;
    }
  }
}

void worker::settle() noexcept {
  inside_task_ = false;
  std::atomic_ref(parts_.window->busy).store(0, std::memory_order_relaxed);
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
  if (ready_.empty()) return false;
  const std::uint64_t where = ready_.back();
  ready_.pop_back();
  const std::uintptr_t sp = restore(location{where});
  begin_task();
  tobi_enter(sp);
  after_leave();
  return true;
}

bool worker::steal_once() {
  if (parts_.choice->none()) return false;
  const std::uint64_t begin_ns = arch::now_ns();
  const std::uint64_t trips = parts_.net->round_trips();
  stolen got;
  if (deque_->steal(parts_.choice->next(), got) != steal_result::taken) {
    ++counts_.steals_failed;
    return false;
  }
  ++counts_.steals_ok;
  counts_.steal_time += arch::now_ns() - begin_ns;
  counts_.steal_round_trips += parts_.net->round_trips() - trips;
  counts_.stolen_bytes += got.base - got.sp;

  const auto* frame = reinterpret_cast<const arch::saved_frame*>(got.sp);
  tell_parent(*frame, got.base);
  deque_->reset(got.base, frame->die_record);
  // SC'23, figure 5: Acquire #2.
  if (fences() || frame->ticket != 0) parts_.memory->acquire(frame->ticket);
  begin_task();
  tobi_enter(got.sp);
  after_leave();
  return true;
}

void worker::tell_parent(const arch::saved_frame& frame, std::uintptr_t base) const noexcept {
  if (frame.handle == nullptr) return;
  const auto at = reinterpret_cast<std::uintptr_t>(frame.handle);
  TOBI_ASSERT(
      at >= reinterpret_cast<std::uintptr_t>(&frame) && at < base,
      "a tobi::task must live among the locals of the task that spawned it, not on the heap or in a parent's frame");
  static_cast<detail::handle*>(frame.handle)->record = frame.record;
}

void worker::idle(unsigned& attempts) noexcept {
  ++attempts;
  parts_.net->transport().progress();
  if (fences()) parts_.memory->serve();
  if (!parts_.oversubscribed) {
    if (attempts < eager_attempts) {
      for (unsigned i = 0; i < (attempts < 32 ? attempts : 32); ++i) arch::pause();
    } else {
      nap();
    }
  } else if (attempts < eager_attempts_oversubscribed) {
    arch::pause();
  } else if (attempts < yielding_attempts_oversubscribed) {
    sched_yield();
  } else {
    nap();
  }
}

void worker::keep_moving() noexcept {
  if (!must_poll_ || --until_poll_ != 0) return;
  until_poll_ = forks_between_polls;
  parts_.net->transport().progress();
}

void worker::on_fork(std::uintptr_t sp, const std::uint64_t* words, const void* type) noexcept {
  keep_moving();
  if (fences()) {
    parts_.memory->nothing_held("fork");
    parts_.memory->serve();
  }
  if (parts_.count_forks) ++counts_.forks;
  if (parts_.debug_migrate) {
    forked_sp_ = sp;
    std::memcpy(&forked_words_, words, sizeof forked_words_);
    forked_type_ = type;
    left_ = left::forked;
    tobi_leave();
  }
  deque_->forked();
}

void worker::poll() noexcept {
  parts_.net->transport().progress();
  if (fences()) parts_.memory->serve();
  if (inside_task_) deque_->serve();
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
  if (fences()) parts_.memory->nothing_held("task's end");
  if (const std::uint64_t where = deque_->die_record(); where != 0) {
    if (failed != 0) {
      complete(where, record_status::error, &failed, sizeof failed);
    } else if (large != 0) {
      complete(where, record_status::value, large_.data(), large);
    } else {
      const std::uint64_t value[] = {a, b};
      complete(where, record_status::value, value, sizeof value);
    }
  }
  leave_dead();
}

void worker::leave_dead() noexcept {
  left_ = left::died;
  tobi_leave();
}

void* worker::result_slot(std::uintptr_t sp, std::uint32_t bytes, std::uint32_t offset) noexcept {
  if (!deque_->at_base() && sp < tobi_hot.split_sp) {
    return static_cast<std::byte*>(reinterpret_cast<const arch::saved_frame*>(sp)->handle) + offset;
  }
  if (large_.size() < bytes) large_.resize(bytes);
  large_bytes_ = bytes;
  large_offset_ = offset;
  return large_.data();
}

void worker::task_failed(std::uintptr_t sp) noexcept {
  const std::uint64_t kept = keep_failure();
  if (!deque_->at_base() && sp < tobi_hot.split_sp) {
    static_cast<detail::handle*>(reinterpret_cast<const arch::saved_frame*>(sp)->handle)->record = kept | failure_tag;
  } else {
    pending_failure_ = kept;
  }
}

statistics worker::counted() const noexcept {
  statistics all = counts_;
  all.joins = all.forks;
  const deque::counters shown = deque_->counts();
  all.published = shown.published - shown_before_.published;
  all.taken_back = shown.taken_back - shown_before_.taken_back;
  all.peak_stack_bytes = peak_stack();
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
