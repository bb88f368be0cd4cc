// SPDX-License-Identifier: Apache-2.0
// The workers of a node that sleep for lack of work, and how they are woken: by what an attendant has shown, by a
// sleeper that has found work where there may be more, and at the end of a run.
//
// Each sleeper wakes by itself too, and then looks. So a call that is lost costs the rest of a nap, and nothing relies
// on one. Without calls a tree of leaves needs naps to spread, one per level, and the end of a run as well.
//
// A call is a datagram to a socket of the sleeper. A futex would not end a sleep on the transport's descriptor, and an
// eventfd would need a descriptor per pair of workers. The socket's name is one that the kernel has chosen when it was
// bound. It is in no file system, and stands in the window.
//
// The caller that takes a sleeper's flag down calls it: so each is called once, and two callers wake two sleepers.
// Dekker: the sleeper raises its flag, and looks for what it may have missed; a caller makes known what it has, and
// looks at the flags. Each has a fence in between.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "libcore/deque/window.hpp"
#include "libcore/net/fabric.hpp"
#include "transports/nap.hpp"

namespace tobi::sched {

class sleepers {
 public:
  sleepers() = default;
  ~sleepers() { stop(); }
  sleepers(const sleepers&) = delete;
  sleepers& operator=(const sleepers&) = delete;
  /// OWN: this worker's window, which is clear. NEAR: the others of its node, whose memory is mapped here.
  void start(net::fabric& net, deque::steal_window& own, const std::vector<int>& near);
  void stop() noexcept;

  /// What becomes readable when this worker is called; -1: no socket was to be had, and it sleeps through its naps.
  [[nodiscard]] int fd() const noexcept { return fd_; }
  /// This worker sleeps from now on. It then looks once more whether it should.
  void falls_asleep() noexcept;
  /// It is awake. CALLED: fd() was readable.
  void is_awake(bool called) noexcept;

  /// Outside of tasks: sleeps for NS, or until a neighbour calls or OVER has something to do. Not if CAME says true.
  template <class Came>
  void sleep(transports::transport& over, std::uint64_t ns, Came came) noexcept {
    falls_asleep();
    auto how = transports::nap_end::transport;
    if (!came()) how = transports::nap(over, ns, fd_, came);
    is_awake(how == transports::nap_end::call);
  }

  /// Calls so many sleepers of this node, or all that there are. One load, and a fence, where nobody sleeps.
  void call(std::size_t most) noexcept;
  void call_all() noexcept { call(windows_.size()); }
  /// Calls RANK, a neighbour, if it sleeps.
  void call_rank(int rank) noexcept;

 private:
  [[nodiscard]] bool call_one(deque::steal_window& one) const noexcept;
  void send_to(const deque::steal_window& one) const noexcept;

  int fd_ = -1;
  deque::steal_window* own_ = nullptr;
  std::uint32_t* asleep_ = nullptr;            // how many of the node do, in the window of its first rank
  std::vector<int> ranks_;                     // the others
  std::vector<deque::steal_window*> windows_;  // theirs
  std::size_t next_ = 0;                       // the one that is looked at first
};

}  // namespace tobi::sched
