#include "libcore/task/attendant.hpp"

#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "arch/clock.hpp"
#include "arch/topology.hpp"
#include "libcore/base/door.hpp"
#include "libcore/task/worker.hpp"

namespace tobi::tasks {

namespace {

// Of its own looks: one after this share of the worker's silence, within these bounds. A look costs a few microseconds
// of a core that computes.
constexpr std::uint64_t share_of_silence = 20;
constexpr std::uint64_t soonest_ns = 100'000;
constexpr std::uint64_t latest_ns = 1'000'000;

constexpr std::uint32_t value(attending what) noexcept { return static_cast<std::uint32_t>(what); }

}  // namespace

attendant::attendant(worker& w, steal_window& window, const habits& chosen)
    : worker_(w), window_(window), habits_(chosen) {
  // Signals are for the thread that runs tasks.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { live(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

attendant::~attendant() {
  stopping_.store(true, std::memory_order_relaxed);
  std::atomic_ref(window_.attendant).store(value(attending::called), std::memory_order_release);
  syscall(SYS_futex, &window_.attendant, FUTEX_WAKE, 1, nullptr, nullptr, 0);
  thread_.join();
}

// Until it is called, or for NS; 0: for good.
void attendant::sleep(std::uint64_t ns) noexcept {
  const std::uint32_t seen = std::atomic_ref(window_.attendant).load(std::memory_order_acquire);
  if (seen == value(attending::called)) return;
  const timespec most{static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
  syscall(SYS_futex, &window_.attendant, FUTEX_WAIT, seen, ns == 0 ? nullptr : &most, nullptr, 0);
}

// Whether somebody has asked the worker for something.
bool attendant::wanted() const noexcept {
  auto* bells = reinterpret_cast<std::uint8_t*>(&window_.doorbell);
  const auto rung = [&](bell which) {
    return std::atomic_ref(bells[static_cast<int>(which)]).load(std::memory_order_relaxed) != 0;
  };
  const bool quiet = std::atomic_ref(window_.attendant).load(std::memory_order_relaxed) == value(attending::idle);
  // An idle one has shown all; but what it has shown to its own node it can still show to others.
  const bool may_move = rung(bell::publish) && near_entries(window_) != 0;
  return habits_.polls_transport || (asked(window_) && !quiet) || may_move || rung(bell::release);
}

void attendant::live() noexcept {
  pthread_setname_np(pthread_self(), "tobi-attendant");
  // The worker's core may be the one that is busiest.
  arch::bind_to_all_cores();
  const std::atomic_ref state(window_.attendant);
  const std::atomic_ref busy(window_.busy);
  std::uint64_t silent_since = 0;
  std::uint64_t last_sign = 0;
  const std::uint64_t soonest = soonest_ns * (habits_.crowd + 1) / 2;
  const std::uint64_t latest = std::max(latest_ns, soonest);
  std::uint64_t pause_ns = habits_.looks ? latest : 0;
  for (;;) {
    sleep(pause_ns);
    if (stopping_.load(std::memory_order_relaxed)) return;
    const bool was_called = state.load(std::memory_order_acquire) == value(attending::called);
    if (habits_.looks) {
      const std::uint64_t now = arch::now_ns();
      const std::uint64_t sign = worker_.sign_of_life();
      if (sign != last_sign || busy.load(std::memory_order_relaxed) == 0) silent_since = now;
      last_sign = sign;
      pause_ns = std::clamp((now - silent_since) / share_of_silence, soonest, latest);
      if (silent_since == now && !was_called) continue;
    }
    // A worker that is inside serves thieves itself.
    if (busy.load(std::memory_order_relaxed) != 0 && (was_called || wanted()) && base::the_door.try_visit()) {
      worker_.attend();
      base::the_door.end_visit();
    }
    auto seen = value(attending::called);
    // Acquire: the call may have been the destructor's, and then this sees why it came.
    state.compare_exchange_strong(seen, value(attending::asleep), std::memory_order_acq_rel, std::memory_order_relaxed);
    if (stopping_.load(std::memory_order_relaxed)) return;
  }
}

}  // namespace tobi::tasks
