// SPDX-License-Identifier: Apache-2.0
// The way from fork-join code back into SPMD code: a task has every worker call a function, together.
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

#include <concepts>
#include <type_traits>

#include "tobi/detail/everywhere.hpp"
#include "tobi/runtime.hpp"

namespace tobi {

namespace detail {
/// The runtime that is alive. Ends the job where there is none.
runtime& the_runtime();

/// FUNCTION, called with the runtime where it wants it.
template <class F>
decltype(auto) call_with_runtime(const F& function) {
  if constexpr (std::invocable<const F&, runtime&>) {
    return function(the_runtime());
  } else {
    return function();
  }
}
/// What all workers call: FUNCTION by itself, so that its closure is checked as it is.
template <class F>
struct everywhere_body {
  [[no_unique_address]] F function;
  auto operator()() const { return call_with_runtime(function); }
};
}  // namespace detail

/// Has every worker call FUNCTION, as main is run by every worker, and returns worker 0's result. FUNCTION may take the
/// runtime, `[=](tobi::runtime& rt) { ... }`, and makes the calls that all workers make together: rt.barrier(),
/// rt.gather(), allocate_all(), a task_collection. What tasks wrote to global memory before is read by it, and what it
/// writes is read by tasks after it. Its closure and result must have trivial copy constructors and destructors. It
/// captures by value: locals of the calling task are elsewhere meanwhile.
///
/// In a task: the run pauses. Each worker calls FUNCTION as soon as no task of the run is left that it could execute,
/// so a task that asks for it while others compute waits for them. Tasks that ask at the same time get their turns one
/// after the other. May migrate the caller. Must not be called under a checkout. Throws task_error if FUNCTION has
/// thrown: that of the lowest rank. Where other workers still wait for the one that threw, in rt.barrier() or the like,
/// the job ends with a sentence. Not with TOBI_SCHED=child_rtc, whose tasks cannot wait for such a thing.
///
/// In main, or in another such FUNCTION: all workers call it with their own FUNCTION, and it is called at once.
/// @code
/// const long sum = tobi::run([] {
///   const int parts = tobi::on_all_workers([](tobi::runtime& all) { return all.reduce(10); }) / 10;
///   return 10L * parts;
/// });
/// if (rt.rank() == 0) std::printf("%d\n", sum == 10 * rt.size());  // prints 1
/// @endcode
template <class Function>
auto on_all_workers(Function&& function) {
  using F = std::decay_t<Function>;
  const F& given = function;
  detail::check_closure<F>();
  if constexpr (!detail::travels<F>) {
    __builtin_unreachable();
  } else {
    const detail::everywhere_body<F> body{given};
    using R = decltype(body());
    if (detail::tobi_in_task() != 0) return detail::call_by_bytes(body, &detail::call_everywhere);
    if constexpr (std::is_void_v<R>) {
      body();
    } else {
      const R value = body();
      return detail::the_runtime().broadcast(value);
    }
  }
}

}  // namespace tobi
