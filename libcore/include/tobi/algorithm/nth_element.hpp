// SPDX-License-Identifier: Apache-2.0
// nth_element: selection. The range is split by a pivot, and the part that has the place is split on. The pivot is an
// element whose place is close to the wanted one, by a sample of 127 elements. It is chosen so that the smaller part
// has the place, where the sample is right. Work O(n) on average: one to two times that of partition() over the range,
// which reads it three times and writes it twice. Depth O(log^2 n) and a leaf on average. Scratch memory is that of
// partition(). A leaf is opened as a whole, so its size is at most what the cache surely holds, whatever the cutoff.
// May migrate the caller, which holds no checkout. The comparison does not fork. What it throws leaves as task_error.
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "tobi/algorithm/select.hpp"

namespace tobi {
#ifdef TOBI_ELIDE
inline namespace elided {
#endif

namespace pieces {

/// An element of A that comes close to place NTH in the order of LESS: behind it where that is in the first half, else
/// before it. A sample has one element of each of equally long parts, at a place that no pattern of the data knows, and
/// that is the same in each run.
template <class T, class Less>
T pivot_near(global_span<T> a, std::size_t nth, Less& less) {
  const std::size_t size = std::min<std::size_t>(a.size(), 127), part = a.size() / size, margin = size / 10;
  std::vector<T> sample;
  sample.reserve(size);
  std::uint64_t random = a.size();
  for (std::size_t i = 0; i < size; ++i) {
    random = random * 6364136223846793005 + 1442695040888963407;
    sample.push_back(load(&a[i * part + (random >> 33) % part]));
  }
  const std::size_t place = nth / part < size ? nth / part : size - 1;
  const std::size_t chosen = place < size / 2 ? place + margin : place - margin;
  const auto at = sample.begin() + static_cast<std::ptrdiff_t>(chosen);
  std::nth_element(sample.begin(), at, sample.end(), std::ref(less));
  return *at;
}

}  // namespace pieces

/// Puts the element to place N that is there when A is sorted as LESS says. No element before it is greater, and none
/// behind it is less. The order is the same in each run, on any number of workers. Does nothing where N is a.size(),
/// and throws std::out_of_range where it is more. Elements are copied by their bytes.
/// @code
/// const auto a = tobi::allocate_all<int>(1001);
/// const int median = tobi::run([=] {
///   tobi::for_each(a, tobi::mode::write, [](int& x, std::size_t i) { x = static_cast<int>(i * 37 % 1001); });
///   tobi::nth_element(a, 500);
///   return int{a[500]};
/// });
/// if (rt.rank() == 0) std::printf("%d\n", median);  // prints 500
/// @endcode
template <class T, class Less = std::less<>>
void nth_element(const execution_policy& how, global_span<T> a, std::size_t n, Less less = {}) {
  pieces::check_place("nth_element", n, a.size());
  const std::size_t leaf = pieces::whole_leaf<T>(how);
  pieces::with_one_error([&] {
    while (n < a.size()) {
      if (a.size() <= leaf) {
        auto open = checkout(a, mode::read_write);
        std::nth_element(open.begin(), open.begin() + n, open.end(), std::ref(less));
        return;
      }
      const T pivot = pieces::pivot_near(a, n, less);
      const std::size_t less_than = tobi::partition(how, a, [=](const T& x) mutable { return less(x, pivot); });
      if (n < less_than) {
        a = a.first(less_than);
        continue;
      }
      a = a.subspan(less_than);
      n -= less_than;
      const std::size_t equal = tobi::partition(how, a, [=](const T& x) mutable { return !less(pivot, x); });
      if (n < equal) return;
      a = a.subspan(equal);
      n -= equal;
    }
  });
}
/// The same with par.
template <class T, class Less = std::less<>>
void nth_element(global_span<T> a, std::size_t n, Less less = {}) {
  tobi::nth_element(par, a, n, less);
}

#ifdef TOBI_ELIDE
}  // namespace elided
#endif
}  // namespace tobi
