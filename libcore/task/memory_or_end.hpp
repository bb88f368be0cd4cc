// SPDX-License-Identifier: Apache-2.0
// What happens where operator new finds no memory: the runtime's containers are made of it, and so are the program's.
#pragma once

#include <new>

namespace tobi::tasks {

/// From begin() to end(), an operator new of the runtime that finds no memory ends the job with a sentence. An
/// exception would leave a cache, a queue or a transport half changed, meet functions that it cannot pass, or be caught
/// on one rank while the others wait for it. The runtime's is what the worker's thread asks for while it is inside
/// (door.hpp), and what threads of the library ask for. What the program asks for, in tasks and outside, is its own
/// affair: there its handler is called, and std::bad_alloc thrown where it has none.
///
/// It is the process's handler (std::set_new_handler), and costs nothing before it is called. A handler that the
/// program sets later takes its place, until the runtime ends.
class memory_or_end {
 public:
  /// The caller is the worker's thread.
  static void begin() noexcept;
  static void end() noexcept;
  /// From now on the worker's thread is the caller.
  static void worker_is_here() noexcept;

 private:
  static void ends_or_not();
  [[nodiscard]] static bool runtime_asks() noexcept;
};

}  // namespace tobi::tasks
