// The serial elision: the same names with the runtime taken out, for programs compiled with TOBI_ELIDE. It lives in an
// inline namespace of its own, so that both can be linked into one binary.
#pragma once

#include <type_traits>
#include <utility>

#include "tobi/detail/fork.hpp"

namespace tobi {
inline namespace elided {

template <class R>
class [[nodiscard]] task {
 public:
  template <class F>
  explicit task(F function) : value_(function()) {
    detail::check_closure<F>();
  }
  task(const task&) = delete;
  task& operator=(const task&) = delete;
  R join() { return value_; }

 private:
  R value_;
};

template <>
class [[nodiscard]] task<void> {
 public:
  template <class F>
  explicit task(F function) {
    detail::check_closure<F>();
    function();
  }
  task(const task&) = delete;
  task& operator=(const task&) = delete;
  void join() {}
};

template <class F>
task<detail::result_of<F>> spawn(F function) {
  return task<detail::result_of<F>>(function);
}

inline void poll() noexcept {}

}  // namespace elided
}  // namespace tobi
