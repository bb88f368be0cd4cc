// SPDX-License-Identifier: Apache-2.0
#include "libcore/sched/idler.hpp"

#include <sched.h>

#include <algorithm>
#include <utility>

#include "arch/clock.hpp"
#include "arch/cpu.hpp"
#include "transports/nap.hpp"

namespace tobi::sched {

namespace {

// Attempts that an idle worker makes at full speed, then with the core given away, before it sleeps between them. An
// oversubscribed worker spins on somebody else's time.
constexpr unsigned eager_attempts = 20'000;
constexpr unsigned eager_attempts_oversubscribed = 16;
constexpr unsigned yielding_attempts_oversubscribed = 64;
constexpr unsigned looking_attempts_oversubscribed = 4;  // where an attempt is system calls
constexpr std::uint64_t longest_nap_ns = 5'000'000;

}  // namespace

void idler::start(const worker_parts& parts, deque::deque& work) noexcept {
  net_ = parts.net;
  deque_ = &work;
  window_ = parts.window;
  oversubscribed_ = parts.oversubscribed;
}

// False: it is time to sleep.
bool idler::pauses(unsigned attempts) const noexcept {
  if (!oversubscribed_) {
    if (attempts >= eager_attempts) return false;
    for (unsigned i = 0; i < (attempts < 32 ? attempts : 32); ++i) arch::pause();
    return true;
  }
  const bool attempts_are_calls = net_->transport().wait_fd() >= 0;
  if (attempts >= (attempts_are_calls ? looking_attempts_oversubscribed : yielding_attempts_oversubscribed)) {
    return false;
  }
  if (!attempts_are_calls && attempts < eager_attempts_oversubscribed) {
    arch::pause();
  } else {
    sched_yield();
  }
  return true;
}

bool idler::idle(unsigned& attempts) noexcept {
  ++attempts;
  objects_.collect();
  // What can be slept on has told that there is nothing to move.
  if (!std::exchange(slept_through_, false)) net_->transport().progress();
  fences_.serve();
  if (pauses(attempts)) return false;
  nap();
  return true;
}

void idler::nap() noexcept {
  // What others want of this worker is done at once; an attempt to steal costs them more, and comes at its time, or
  // when a neighbour calls because there is something.
  const std::uint64_t nap_ns = std::min(thief_.falls_asleep(), longest_nap_ns);
  const std::uint64_t wakes_ns = arch::now_ns() + nap_ns;
  std::uint64_t left_ns = nap_ns;
  const auto came = [this] {
    return run_is_over() || arrivals_.any() || window_->bells.rung(deque::bell::release) ||
           window_->bells.rung(deque::bell::letters);
  };
  sleepers_.falls_asleep();
  auto how = transports::nap_end::transport;
  while (!run_is_over() && !arrivals_.any()) {
    how = transports::nap(net_->transport(), left_ns, sleepers_.fd(), came);
    if (how != transports::nap_end::transport) break;
    net_->transport().progress();
    fences_.serve();
    const std::uint64_t now_ns = arch::now_ns();
    if (now_ns >= wakes_ns || looks_at_records_) break;
    left_ns = wakes_ns - now_ns;
  }
  sleepers_.is_awake(how == transports::nap_end::call);
  slept_through_ = how == transports::nap_end::time && net_->transport().wait_fd() >= 0;
}

void idler::nothing_runs_since(std::uint64_t since_ns) noexcept {
  still_.idle(since_ns, arch::now_ns(), [this] { return deque_->claimed() + ready_.claimed() + arrivals_.sent(); });
}

// A thief that claimed a frame of this region may not have copied it yet. It needs nothing of us for that.
void idler::settle() noexcept {
  for (unsigned spins = 0; !deque_->quiet(); ++spins) {
    net_->transport().progress();
    fences_.serve();
    if (oversubscribed_ || spins > 1000) {
      sched_yield();
    } else {
      arch::pause();
    }
  }
}

}  // namespace tobi::sched
