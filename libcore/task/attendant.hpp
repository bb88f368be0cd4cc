// A thread of each worker that lets thieves in while the worker computes.
//
// A worker answers thieves at its forks. One that has forked down to a long leaf makes none, and what it has forked
// would stay out of reach until the leaf has ended. Its attendant then comes in by the door (base/door.hpp) and does
// what the worker would do at a fork: it shows continuations and ready tasks, writes back what a thief waits for, and
// moves a transport that stands still unless it is polled. It interrupts nothing: no signal, so no system call of the
// program ends early.
//
// It sleeps until a thief of the same host calls it, by a futex in the window, when a ring of the bell has not been
// answered. Thieves of other hosts have no system call there, and a transport that must be polled brings no ring: in
// jobs that have such the attendant wakes by itself. How soon is a share of the time for which the worker has been
// silent, so that a thief waits for a twentieth of the leaf that keeps it waiting, and a long leaf pays for few looks.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include "libcore/task/window.hpp"

namespace tobi::tasks {

class worker;

class attendant {
 public:
  struct habits {
    bool polls_transport;  // the transport stands still unless it is polled
    bool looks;            // not all thieves can call
    unsigned crowd;        // workers a core: all of their attendants may look
  };
  /// Of W, whose window is WINDOW. Both outlive it. It may visit from now on.
  attendant(worker& w, steal_window& window, const habits& chosen);
  ~attendant();
  attendant(const attendant&) = delete;
  attendant& operator=(const attendant&) = delete;

 private:
  void live() noexcept;
  void sleep(std::uint64_t ns) noexcept;
  [[nodiscard]] bool wanted() const noexcept;

  worker& worker_;
  steal_window& window_;
  habits habits_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace tobi::tasks
