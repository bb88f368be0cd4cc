// SPDX-License-Identifier: Apache-2.0
// finish and async as in X10. An async may outlive the task that made it. The innermost finish around it waits for it,
// and for all that it made in turn.
//
// An async is forked like a spawn: it runs at once, and what follows can be taken by another worker. The finish counts
// the continuations that were taken, and nothing as long as none is.
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "tobi/detail/fork.hpp"
#include "tobi/task.hpp"

namespace tobi {

/// Thrown at the end of a finish() in which something failed: its own body, or any number of asyncs. The text names
/// their number and the first few.
class finish_error : public std::runtime_error {
 public:
  /// Made by the runtime: COUNT tasks failed.
  finish_error(std::uint64_t count, const std::string& text) : std::runtime_error(text), count_(count) {}
  /// How many of them failed.
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }

 private:
  std::uint64_t count_;
};

#ifndef TOBI_ELIDE

namespace detail {
/// What a finish or an async leaves among its locals: see libcore/task/scopes.hpp.
struct scope_marker {
  scope_marker* up;
  std::uint64_t finish;
  std::uint64_t outer;
};
extern "C" {
void tobi_finish_begin(scope_marker* marker) noexcept;
/// In a catch clause: keeps the exception for the end of FINISH.
void tobi_finish_fail(std::uint64_t finish) noexcept;
/// Waits, which may migrate the caller. Throws finish_error.
void tobi_finish_end(scope_marker* marker);
/// Returns the finish around the caller, perhaps with async_counted. Ends the job where there is none.
std::uint64_t tobi_async_finish() noexcept;
void tobi_async_begin(scope_marker* marker, std::uint64_t finish) noexcept;
void tobi_async_end(scope_marker* marker, std::uint64_t finish) noexcept;
/// The caller was taken away from its async, for which FINISH waits from now on.
void tobi_async_parted(handle* h, std::uint64_t finish) noexcept;
}

/// Tag on a finish: the async that is about to be forked has been counted, and tells itself when it has ended.
inline constexpr std::uint64_t async_counted = 1;

template <class F>
struct async_body {
  [[no_unique_address]] F function;  // an empty one takes no word, which nobody would set
  std::uint64_t finish;
  void operator()() {
    scope_marker marker;
    tobi_async_begin(&marker, finish);
    try {
      function();
    } catch (...) {
      tobi_finish_fail(finish);
    }
    tobi_async_end(&marker, finish);
  }
};

/// Forks FUNCTION as an async of FINISH, perhaps with async_counted. A call, and no part of its caller: a fork changes
/// every register, and a loop that contains one keeps its variables in memory, also in rounds that do not fork.
template <class F>
[[gnu::noinline]] void fork_async(const F& function, std::uint64_t finish) {
  const async_body<F> body{function, finish};
  handle h;
  h.record = 0;
  fork_task<void>(body, (finish & async_counted) == 0 ? &h : nullptr);
  if (h.record != 0) [[unlikely]] {
    tobi_async_parted(&h, finish);
  }
}
}  // namespace detail

/// Runs BODY in the caller's task, and waits for all asyncs that were made in it, by any task. May migrate the caller.
/// A nested finish waits for its own asyncs. Throws finish_error after that, if BODY or an async threw.
/// @code
/// void mark(tobi::global_span<char> seen, std::size_t i) {  // element i, and those below it in a binary tree
///   if (i >= seen.size()) return;
///   seen[i] = 1;
///   tobi::async([=] { mark(seen, 2 * i + 1); });
///   tobi::async([=] { mark(seen, 2 * i + 2); });  // may run on when mark has returned
/// }
///
/// const auto seen = tobi::allocate_all<char>(1000);
/// const int marked = tobi::run([=] {
///   tobi::finish([=] { mark(seen, 0); });
///   return tobi::reduce(seen, 0);  // all asyncs have ended
/// });
/// if (rt.rank() == 0) std::printf("%d\n", marked);  // prints 1000
/// @endcode
template <class F>
void finish(F&& body) {
  detail::scope_marker marker;
  detail::tobi_finish_begin(&marker);
  try {
    std::forward<F>(body)();
  } catch (...) {
    detail::tobi_finish_fail(marker.finish);
  }
  detail::tobi_finish_end(&marker);
}

/// Forks FUNCTION. Its closure must be trivially copyable. Its result is dropped: an async gives what it finds by a
/// promise. May migrate the caller. Outside of any finish it ends the job with a message.
template <class Function>
void async(const Function& function) {
  using F = std::decay_t<Function>;
  detail::check_closure<F>();
  if constexpr (detail::travels<F>) detail::fork_async<F>(function, detail::tobi_async_finish());
}

#else

inline namespace elided {
namespace detail_elided {
struct finish_state {
  std::uint64_t failed = 0;
  std::string text{};
  void add(const std::string& what) {
    ++failed;
    if (failed <= 3) text += (failed == 1 ? "" : "; ") + what;
  }
  void end() const {
    if (failed == 0) return;
    throw finish_error(failed, std::to_string(failed) + " of the tasks of a finish failed: " + text);
  }
};
inline finish_state* governing = nullptr;

template <class F>
void guarded(finish_state& s, F&& f) {
  try {
    f();
  } catch (const std::exception& e) {
    s.add(e.what());
  } catch (...) {
    s.add("an exception");
  }
}
}  // namespace detail_elided

template <class F>
void finish(F&& body) {
  detail_elided::finish_state mine;
  detail_elided::finish_state* const outer = std::exchange(detail_elided::governing, &mine);
  detail_elided::guarded(mine, std::forward<F>(body));
  detail_elided::governing = outer;
  mine.end();
}
template <class F>
void async(const F& function) {
  if (detail_elided::governing == nullptr) throw std::logic_error("tobi: an async outside of any finish");
  detail_elided::finish_state& mine = *detail_elided::governing;
  std::decay_t<F> own = function;
  detail_elided::guarded(mine, own);
}
}  // namespace elided

#endif

}  // namespace tobi
