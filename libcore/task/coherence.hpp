// SPDX-License-Identifier: Apache-2.0
// What the scheduler asks of the global memory: the fences of SC'23, section 5, and nothing else. The scheduler calls
// them on its slow paths alone (a continuation is shown to thieves, stolen, suspended or resumed; a task ends whose
// parent is elsewhere), each behind a test of `used`, which is false until a worker touches global memory.
//
// A ticket names the data that a worker had written when it gave the ticket out; 0 names nothing.
#pragma once

#include <cstdint>

namespace tobi::tasks {

class coherence {
 public:
  virtual ~coherence() = default;

  /// This worker has used global memory.
  bool used = false;
  /// For how long it has waited for what lies elsewhere, or goes there. It only grows.
  std::uint64_t waited_ns = 0;

  /// Before a continuation is shown: what a thief must wait for. May write back itself, by the policy.
  virtual std::uint64_t release_lazily() noexcept = 0;
  /// Everything that this worker has written is at its home when this returns.
  virtual void release() noexcept = 0;
  /// What this worker runs next may read what others have written: those of TICKET (0: whichever worker has released),
  /// which rank FROM has shown, and what that one may read; -1: there is no such one.
  virtual void acquire(std::uint64_t ticket, int from) noexcept = 0;
  /// Serves a release that a thief has asked for, if one has. Called wherever this worker polls.
  virtual void serve() noexcept = 0;
  /// A run begins or ends on the calling thread. What forks look at from now on, unless a checkout is held.
  virtual void usual_bell(const volatile std::uint64_t* bell) noexcept = 0;
  /// The caller is at a point (WHERE) where a task may move: fatal if it holds a checkout.
  virtual void nothing_held(const char* where) noexcept = 0;
};

}  // namespace tobi::tasks
