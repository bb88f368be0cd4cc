// SPDX-License-Identifier: Apache-2.0
// Work hints of loops, for TOBI_SCHED=adws: how the work of a range is distributed over its elements.
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <type_traits>
#include <utility>

#include "ityr/execution.hpp"
#include "ityr/global_vector.hpp"
#include "ityr/iterator.hpp"
#include "ityr/loop.hpp"

namespace ityr {

/// What create_workhint_range() returns. It outlives the loops that it is given to. Empty where nothing is divided.
template <class W>
class workhint_range {
 public:
  using value_type = W;
  workhint_range() noexcept = default;
  /// SUMS: {n, 0, and the work of the first 1, 2, ..., n of n parts of the range}, parts alike in elements.
  explicit workhint_range(global_vector<double>&& sums) noexcept : sums_(std::move(sums)) {}
  [[nodiscard]] workhint_range_view<W> view() const noexcept {
    return sums_.empty() ? workhint_range_view<W>() : workhint_range_view<W>(sums_.data().raw_ptr());
  }

 private:
  global_vector<double> sums_;
};

/// Returns hints of the work of a range for policies of loops over it. HINT(x) says how much an element is, at least 0,
/// in any unit. It is called once per element, in parallel as HOW says, and only where the workers of the caller are
/// divided (TOBI_SCHED=adws): elsewhere there is nothing that it could decide. The sums of N parts of the range are
/// kept, or of at most 1024 where N is 0.
template <class Policy, class First, class Hint>
auto create_workhint_range(const Policy& how, First first, First last, Hint hint, std::size_t n = 0) {
  using T = typename std::iterator_traits<First>::value_type;
  using W = std::invoke_result_t<Hint&, T&>;
  constexpr std::size_t usual_parts = 1024;
  const std::size_t count = internal::length(first, last);
  const std::size_t parts = std::min(count, n != 0 ? n : usual_parts);
  if (parts == 0 || !tobi::pieces::divides()) return workhint_range<W>();
  global_vector<double> sums(parts + 2);
  const auto begin_of = [count, parts](std::size_t part) { return internal::begin_of_part(part, parts, count); };
  const auto from = internal::with_mode<checkout_mode::read_t>(first);
  const std::size_t chunk = internal::chunk_of(how);
  const execution::parallel_policy each(std::max<std::size_t>(1, internal::leaf_of(how) / (count / parts)));
  internal::loop(
      each, parts,
      [=](std::size_t part, ori::global_ref<double> sum) {
        double all = 0;
        Hint of = hint;
        internal::serial_loop(
            chunk, begin_of(part + 1) - begin_of(part), [&](auto&& x) { all += static_cast<double>(of(x)); },
            internal::after(from, begin_of(part)));
        sum = all;
      },
      count_iterator<std::size_t>(0), sums.data() + 2);
  double before = 0;
  internal::serial_loop(
      std::size_t{4096}, parts,
      [&](double& sum) {
        before += sum;
        sum = before;
      },
      make_global_iterator(sums.data() + 2, checkout_mode::read_write));
  sums[0] = static_cast<double>(parts);
  sums[1] = 0;
  return workhint_range<W>(std::move(sums));
}

}  // namespace ityr
