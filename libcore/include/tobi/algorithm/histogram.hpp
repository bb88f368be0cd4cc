// SPDX-License-Identifier: Apache-2.0
// histogram: how many elements fall into each bin. A leaf counts in memory of its own, and its counts are accumulated,
// so the tasks of a node and between nodes meet once per bin and leaf. Where a leaf has fewer elements than there are
// bins, it adds to the bins of its elements alone. Work O(n + leaves * bins), depth O(log n) and a leaf. The range is
// read. May migrate the caller, which holds no checkout. The function does not fork. What it throws leaves as
// task_error.
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

#include "tobi/accumulate.hpp"
#include "tobi/algorithm/policy.hpp"

namespace tobi {
#ifdef TOBI_ELIDE
inline namespace elided {
#endif

namespace pieces {

/// Counts the elements [BEGIN, END).
template <class T, class Count, class BinOf>
void count_leaf(const execution_policy& how, std::size_t begin, std::size_t end, global_span<T> a,
                global_span<Count> counts, const BinOf& bin_of_given) {
  BinOf bin_of = bin_of_given;
  const std::size_t bins = counts.size();
  const bool few = end - begin < bins;
  std::vector<Count> here(few ? 0 : bins);
  std::vector<std::size_t> places;
  if (few) places.reserve(end - begin);
  const auto body = [&](std::size_t first, std::size_t n, const T* at) {
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t bin = bin_of(at[i]);
      if (bin >= bins) {
        throw std::out_of_range("tobi::histogram: element " + std::to_string(first + i) + " falls into bin " +
                                std::to_string(bin) + " of " + std::to_string(bins));
      }
      if (few) {
        places.push_back(bin);
      } else {
        here[bin] += 1;
      }
    }
  };
  sweep(how, begin, end, body, input(a));
  if (few) {
    accumulate_at(counts, places, std::vector<Count>(places.size(), Count{1}));
  } else {
    accumulate(counts, here);
  }
}

}  // namespace pieces

/// Adds 1 to counts[bin_of(element)] for each element. An element with another bin is a std::out_of_range, and COUNTS
/// is undefined then. Others may update COUNTS meanwhile.
/// @code
/// const auto a = tobi::allocate_all<int>(1000);
/// const auto counts = tobi::allocate_all<long>(10);
/// const long threes = tobi::run([=] {
///   tobi::iota(a, 0);
///   tobi::fill(counts, 0);
///   tobi::histogram(a, counts, [](int x) { return static_cast<std::size_t>(x / 100); });
///   return long{counts[3]};
/// });
/// if (rt.rank() == 0) std::printf("%ld\n", threes);  // prints 100
/// @endcode
template <class T, detail::updated_number Count, class BinOf>
void histogram(const execution_policy& how, global_span<T> a, global_span<Count> counts, const BinOf& bin_of) {
  execution_policy own = how;
  if (how.cutoff == 0) own.cutoff = std::max(pieces::cutoff_of<T>(how), 2 * std::min(counts.size(), a.size() / 16));
  const auto leaf = [=](std::size_t begin, std::size_t end) { pieces::count_leaf(own, begin, end, a, counts, bin_of); };
  pieces::leaves_in_tasks(own, a.size(), own.cutoff, leaf, pieces::input(a));
}
/// The same with par.
template <class T, detail::updated_number Count, class BinOf>
void histogram(global_span<T> a, global_span<Count> counts, const BinOf& bin_of) {
  tobi::histogram(par, a, counts, bin_of);
}

#ifdef TOBI_ELIDE
}  // namespace elided
#endif
}  // namespace tobi
