// SPDX-License-Identifier: Apache-2.0
#include "libcore/sched/attendant.hpp"

#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "arch/clock.hpp"
#include "arch/heavy_fence.hpp"
#include "arch/topology.hpp"
#include "libcore/base/thread.hpp"
#include "libcore/task/door.hpp"
#include "transports/nap.hpp"

namespace tobi::sched {

namespace {

// Of its own looks: one after this share of the worker's silence, within these bounds. A look costs a few microseconds
// of a core that computes.
constexpr std::uint64_t share_of_silence = 20;
constexpr std::uint64_t soonest_ns = 100'000;
constexpr std::uint64_t latest_ns = 1'000'000;
// A worker that has polled since then forks small tasks, and serves others itself: the looks at it become rare, since
// each has the kernel put another thread on a core that computes, twice.
constexpr double often_ns = 25'000;
// A descriptor to sleep on tells what has come since the last visit, unless the worker has moved the transport since.
constexpr std::uint64_t longest_trust_ns = 10'000'000;
constexpr int most_turns = 16;

constexpr std::uint32_t value(deque::attending what) noexcept { return static_cast<std::uint32_t>(what); }

}  // namespace

attendant::attendant(attended& worker, deque::steal_window& window, const habits& chosen)
    : worker_(worker), window_(window), habits_(chosen) {
  // Signals are for the thread that runs tasks.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = base::start_thread("lets thieves in while a task computes", [this] { live(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

attendant::~attendant() {
  stopping_.store(true, std::memory_order_relaxed);
  call();
  thread_.join();
}

void attendant::call() noexcept {
  std::atomic_ref(window_.attendant).store(value(deque::attending::called), std::memory_order_release);
  syscall(SYS_futex, &window_.attendant, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

// Until it is called, or for NS; 0: without a limit.
void attendant::sleep(std::uint64_t ns) noexcept {
  const std::uint32_t seen = std::atomic_ref(window_.attendant).load(std::memory_order_acquire);
  if (seen == value(deque::attending::called)) return;
  const timespec most{static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
  syscall(SYS_futex, &window_.attendant, FUTEX_WAIT, seen, ns == 0 ? nullptr : &most, nullptr, 0);
}

// Until a task begins, or somebody calls. Dekker: the worker stores `busy` and loads `dozes_`; this stores `dozes_`,
// has the worker's core pass a barrier, and loads `busy`. So at least one sees the other.
void attendant::doze() noexcept {
  dozes_.store(true, std::memory_order_relaxed);
  arch::heavy_fence();
  if (std::atomic_ref(window_.busy).load(std::memory_order_relaxed) == 0) sleep(0);
  dozes_.store(false, std::memory_order_relaxed);
}

// Whether somebody has asked the worker for something.
bool attendant::wanted() const noexcept {
  const bool quiet =
      std::atomic_ref(window_.attendant).load(std::memory_order_relaxed) == value(deque::attending::idle);
  // An idle one has shown all; but what it has shown to its own node it can still show to others.
  const bool may_move = window_.bells.rung(deque::bell::publish) && deque::near_entries(window_) != 0;
  return (habits_.polls_transport && habits_.wait_fd < 0) || (deque::asked(window_) && !quiet) || may_move ||
         window_.bells.rung(deque::bell::release) || window_.bells.rung(deque::bell::letters) || worker_.has_arrivals();
}

// Does what there is to do, if the worker's own thread is not inside. True: the transport has nothing to move, and may
// be slept on.
bool attendant::visit() noexcept {
  if (!tasks::the_door.try_visit()) return false;
  bool may_sleep = false;
  for (int turns = 0; turns < most_turns && !may_sleep; ++turns) {
    stays_.store(worker_.attend(), std::memory_order_relaxed);
    if (habits_.wait_fd < 0) break;
    may_sleep = worker_.may_sleep();
    // A ring that this look has let in shows at no descriptor any more.
    if (turns == 0 && wanted()) may_sleep = false;
  }
  tasks::the_door.end_visit();
  return may_sleep;
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
  std::uint64_t visited_ns = 0;
  bool on_fabric = false;  // what comes over the fabric from now on shows at its descriptor
  for (;;) {
    bool came = false;
    const std::uint64_t most_ns = stays_.load(std::memory_order_relaxed) ? soonest : pause_ns;
    if (habits_.looks && busy.load(std::memory_order_relaxed) == 0) {
      on_fabric = false;
      doze();
    } else if (on_fabric) {
      came = transports::nap_on(habits_.wait_fd, most_ns);
    } else {
      sleep(most_ns);
    }
    if (stopping_.load(std::memory_order_relaxed)) return;
    const bool was_called = state.load(std::memory_order_acquire) == value(deque::attending::called);
    const bool runs = busy.load(std::memory_order_relaxed) != 0;
    const bool stays = stays_.load(std::memory_order_relaxed);
    if (habits_.looks) {
      const std::uint64_t now = arch::now_ns();
      const std::uint64_t sign = worker_.sign_of_life();
      if (sign != last_sign || !runs) silent_since = now;
      last_sign = sign;
      const bool polls_often = runs && arch::cycles_to_ns(arch::cycles() - sign) < often_ns;
      pause_ns = polls_often ? std::min(2 * std::max(pause_ns, soonest), latest)
                             : std::clamp((now - silent_since) / share_of_silence, soonest, latest);
      if (silent_since == now) on_fabric = false;
      if (silent_since == now && !was_called && !stays && !worker_.has_arrivals()) continue;
      // The worker has moved the transport meanwhile, maybe half way.
      if (habits_.wait_fd >= 0 && now - visited_ns > longest_trust_ns) on_fabric = false;
      came = came || (habits_.wait_fd >= 0 && !on_fabric);
      if (came) visited_ns = now;
    }
    // A worker that is inside serves thieves itself.
    if (runs && (was_called || came || stays || wanted())) on_fabric = visit();
    auto seen = value(deque::attending::called);
    // Acquire: the call may have been the destructor's, and then this sees why it came.
    state.compare_exchange_strong(seen, value(deque::attending::asleep), std::memory_order_acq_rel,
                                  std::memory_order_relaxed);
    if (stopping_.load(std::memory_order_relaxed)) return;
  }
}

}  // namespace tobi::sched
