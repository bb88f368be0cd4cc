// SPDX-License-Identifier: Apache-2.0
// The exceptions under way, which the C++ runtime counts for a thread, here of a task: the code that leaves a task in
// the middle takes them, and gives them back when it goes on in the same process. They are memory of that process.
#pragma once

#include <cxxabi.h>

#include <cstring>

namespace tobi::tasks {

/// What the Itanium C++ ABI keeps of them (section 2.2.2 of its chapter on exceptions).
struct exceptions_under_way {
  void* caught;
  unsigned uncaught;
};

/// Whether any is under way or in a catch clause, by what __cxa_get_globals() has returned on the thread in question.
/// Callable from another one: what that sees may be old.
inline bool any_under_way(const void* of_thread) noexcept {
  const auto* at = static_cast<const exceptions_under_way*>(of_thread);
  return __atomic_load_n(&at->uncaught, __ATOMIC_RELAXED) != 0 ||
         __atomic_load_n(&at->caught, __ATOMIC_RELAXED) != nullptr;
}

inline exceptions_under_way take_exceptions() noexcept {
  exceptions_under_way taken;
  auto* at = __cxxabiv1::__cxa_get_globals();
  std::memcpy(&taken, at, sizeof taken);
  const exceptions_under_way none{};
  std::memcpy(at, &none, sizeof none);
  return taken;
}

inline void give_exceptions(const exceptions_under_way& back) noexcept {
  std::memcpy(__cxxabiv1::__cxa_get_globals(), &back, sizeof back);
}

}  // namespace tobi::tasks
