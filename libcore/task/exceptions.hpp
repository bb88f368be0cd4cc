// SPDX-License-Identifier: Apache-2.0
// The exceptions under way, which the C++ runtime counts for a thread, here of a task: the code that leaves a task in
// the middle takes them, and gives them back when it goes on in the same process. They are memory of that process.
#pragma once

#include <cxxabi.h>
#include <unwind.h>

#include <cstddef>
#include <cstdint>
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

/// What the ABI puts before the unwinder's part of each exception (its section 2.2.1), as far as it is looked at here.
struct caught_exception {
  void* before[4];
  caught_exception* next;  // around it
  void* between[4];
  void* adjusted;
  _Unwind_Exception unwinder;

  /// That of this language: of another one's nothing but the unwinder's part is known.
  [[nodiscard]] bool is_of_cxx() const noexcept {
    constexpr std::uint64_t name = 0x474e5543432b2b;  // "GNUCC++", and one byte for what kind
    return unwinder.exception_class >> 8 == name;
  }
};
static_assert(offsetof(caught_exception, next) == 32 && offsetof(caught_exception, unwinder) == 80);

/// At or below which address the oldest task lies that has one of THESE: ~0 where that is not known. One in a catch
/// clause belongs to the task with that clause, whose frame the unwinder has noted (private_2) before it went there;
/// of one that is still on its way the runtime keeps but a count.
inline std::uintptr_t owned_up_to(const exceptions_under_way& these) noexcept {
  constexpr std::uintptr_t unknown = ~std::uintptr_t{0};
  if (these.uncaught != 0) return unknown;
  std::uintptr_t oldest = 0;
  for (const auto* e = static_cast<const caught_exception*>(these.caught); e != nullptr; e = e->next) {
    if (!e->is_of_cxx()) return unknown;
    if (e->unwinder.private_2 > oldest) oldest = e->unwinder.private_2;
  }
  return oldest;
}

}  // namespace tobi::tasks
