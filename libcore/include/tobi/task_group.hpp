// SPDX-License-Identifier: Apache-2.0
// Any number of children that are waited for together, as oneTBB's task_group has them.
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

#include <cstdint>
#include <type_traits>
#include <utility>

#include "tobi/finish.hpp"

namespace tobi {

#ifndef TOBI_ELIDE
namespace detail {
extern "C" {
/// Returns a finish that governs nothing by itself.
std::uint64_t tobi_group_begin() noexcept;
/// Returns FINISH as a new async of it is told of it, perhaps with async_counted.
std::uint64_t tobi_group_async(std::uint64_t finish) noexcept;
/// Waits, which may migrate the caller. Throws finish_error.
void tobi_group_end(std::uint64_t finish);
}
}  // namespace detail
#else
inline namespace elided {
#endif

/// A local of the task that makes it, which runs children in it and waits for them. It is neither copied nor moved, and
/// no child captures it: asyncs that a child makes belong to the group, too. Children give no results. Those that do
/// are tasks in a recursion, or futures. A group costs nothing until its first run(), and a child what an async costs:
/// some six spawns.
/// @code
/// const long visited = tobi::run([] {
///   const auto count = tobi::allocate_global<long>(1);
///   count[0] = 0;
///   tobi::task_group group;
///   for (int i = 0; i < 100; ++i) group.run([=] { tobi::fetch_add(count, 1L); });
///   group.wait();
///   const long n = count[0];
///   tobi::free_global(count, 1);
///   return n;
/// });
/// if (rt.rank() == 0) std::printf("%ld\n", visited);  // prints 100
/// @endcode
class task_group {
 public:
  task_group() noexcept = default;
  task_group(const task_group&) = delete;
  task_group& operator=(const task_group&) = delete;
  /// Waits, if wait() was not called, and drops what failed.
  ~task_group() {
    try {
      wait();
    } catch (const finish_error&) {  // NOLINT: dropped
    }
  }

  /// Forks FUNCTION, as async() does. May migrate the caller.
  template <class Function>
  void run(const Function& function) {
    using F = std::decay_t<Function>;
    detail::check_closure<F>();
#ifndef TOBI_ELIDE
    if constexpr (detail::travels<F>) {
      if (finish_ == 0) finish_ = detail::tobi_group_begin();
      detail::fork_async<F>(function, detail::tobi_group_async(finish_));
    }
#else
    detail_elided::finish_state* const around = std::exchange(detail_elided::governing, &ran_);
    F own = function;
    detail_elided::guarded(ran_, own);
    detail_elided::governing = around;
#endif
  }

  /// Returns when all children have ended, and all asyncs that they made. May migrate the caller. Throws finish_error
  /// then, if one of them threw. The group can be used again.
  void wait() {
#ifndef TOBI_ELIDE
    if (const std::uint64_t all = std::exchange(finish_, 0); all != 0) detail::tobi_group_end(all);
#else
    std::exchange(ran_, {}).end();
#endif
  }

 private:
#ifndef TOBI_ELIDE
  std::uint64_t finish_ = 0;
#else
  detail_elided::finish_state ran_{};
#endif
};

#ifdef TOBI_ELIDE
}  // namespace elided
#endif
}  // namespace tobi
