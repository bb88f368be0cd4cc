// SPDX-License-Identifier: Apache-2.0
// Work hints of loops. They have no effect here, and cost nothing: a loop is divided by what its last execution took.
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

#include <cstddef>
#include <iterator>
#include <type_traits>

#include "ityr/execution.hpp"

namespace ityr {

/// Returns hints of the work of a range. HINT says how much an element is, and is not called.
template <class Policy, class First, class Hint>
auto create_workhint_range(const Policy&, First, First, Hint, std::size_t = 0) {
  using T = typename std::iterator_traits<First>::value_type;
  return workhint_range<std::invoke_result_t<Hint&, T&>>();
}

}  // namespace ityr
