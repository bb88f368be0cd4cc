// SPDX-License-Identifier: Apache-2.0
// The seam between the templates and the runtime, for functions whose closure goes to other workers by its bytes and
// that are not forked: the root of a run, and what all workers call together. Not for users.
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

#include <cstdint>
#include <cstring>
#include <memory>
#include <type_traits>

#include "tobi/detail/fork.hpp"

namespace tobi::detail {

/// A function and what it captured, type-erased. `body` calls it and writes the result to RESULT.
struct root {
  void (*body)(const void* closure, void* result);
  const void* closure;
  std::uint32_t closure_bytes;
  std::uint32_t result_bytes;
  bool all_set;  // each byte of the closure is of a capture, or was set: a word that looks like a pointer is one
};
/// The body for F. It makes a copy of F by bytes and uses the copy alone, because the place of the closure is aligned
/// for most types, not for all.
template <class F, class R>
void run_root_task(const void* closure, void* result) {
  own_closure<F> mine(closure);
  if constexpr (std::is_void_v<R>) {
    (void)result;
    mine.function();
  } else {
    const R value = mine.function();
    std::memcpy(result, std::addressof(value), sizeof value);
  }
}

/// Has CALL call GIVEN, on whatever workers it does so, and returns the result that it leaves.
template <class F>
result_of<F> call_by_bytes(const F& given, void (*call)(const root& what, void* result)) {
  using R = result_of<F>;
  check_closure<F>();
  check_result<R>();
  if constexpr (!travels<F> || !result_travels<R>) {
    __builtin_unreachable();
  } else {
    F closure = given;
#if __has_builtin(__builtin_clear_padding)
    // What was in memory between the captures before is not a pointer that the program captures.
    constexpr bool all_set = true;
    __builtin_clear_padding(__builtin_addressof(closure));  // of any type, since the compiler sees the whole object
#else
    constexpr bool all_set = std::has_unique_object_representations_v<F>;
#endif
    const root what{&run_root_task<F, R>, std::addressof(closure), sizeof(F), result_bytes<R>(), all_set};
    if constexpr (std::is_void_v<R>) {
      call(what, nullptr);
    } else {
      room_for<R> got;
      call(what, std::addressof(got.value));
      return got.value;
    }
  }
}

extern "C" {
/// Whether the caller is a task, and not main, nor a function that all workers call. Ends the job inside a task of a
/// collection, which is neither.
int tobi_in_task() noexcept;
}
/// In a task: all workers call WHAT, outside of tasks; RESULT is rank 0's. May migrate the caller. Throws task_error.
void call_everywhere(const root& what, void* result);

/// CALL, which all workers make with the same result: in main by the caller, and in a task by all of them.
template <class F>
result_of<F> by_all_workers(const F& call) {
  return tobi_in_task() != 0 ? call_by_bytes(call, &call_everywhere) : call();
}

}  // namespace tobi::detail
