// SPDX-License-Identifier: Apache-2.0
// Reducers whose accumulators are vectors in global memory.
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

#include <cstddef>
#include <limits>
#include <type_traits>
#include <utility>

#include "ityr/global_vector.hpp"
#include "ityr/loop.hpp"
#include "ityr/reducer.hpp"

namespace ityr::reducer {

namespace internal {
/// RIGHT is added to LEFT by FOLD, element by element.
template <class T, class Fold>
void add_elements(global_vector<T>& left, const global_vector<T>& right, Fold fold) {
  for_each(execution::sequenced_policy(256), make_global_iterator(left.begin(), checkout_mode::read_write),
           make_global_iterator(left.end(), checkout_mode::read_write),
           make_global_iterator(right.begin(), checkout_mode::read), fold);
}
}  // namespace internal

/// Counts how many values lie in each of some bins of equal width. Values outside are not counted.
template <class T, class Counter = std::size_t>
struct histogram {
  using value_type = T;
  using accumulator_type = global_vector<Counter>;

  explicit histogram(std::size_t bins, T lowest = std::numeric_limits<T>::lowest(),
                     T highest = std::numeric_limits<T>::max())
      : bins_(bins), lowest_(lowest), highest_(highest) {}
  accumulator_type operator()() const { return accumulator_type(bins_, Counter(0)); }
  void foldl(accumulator_type& acc, const T& x) const {
    if (x < lowest_ || x > highest_) return;
    // As floating-point numbers, since the width of the range may be no number of T.
    const double width = (static_cast<double>(highest_) - static_cast<double>(lowest_)) / static_cast<double>(bins_);
    const auto bin = static_cast<std::size_t>((static_cast<double>(x) - static_cast<double>(lowest_)) / width);
    ++acc[bin < bins_ ? bin : bins_ - 1];
  }
  void foldl(accumulator_type& left, const accumulator_type& right) const {
    internal::add_elements(left, right, [](Counter& x, const Counter& y) { x += y; });
  }

 private:
  std::size_t bins_;
  T lowest_;
  T highest_;
};

/// Reduces vectors of equal length element by element.
template <class ElementReducer>
struct vec_element_wise {
  using value_type = global_vector<typename ElementReducer::accumulator_type>;
  using accumulator_type = value_type;

  explicit vec_element_wise(std::size_t count, ElementReducer each = {}) : count_(count), each_(each) {}
  accumulator_type operator()() const { return accumulator_type(count_, each_()); }
  void foldl(accumulator_type& left, const accumulator_type& right) const {
    internal::add_elements(left, right, [each = each_](auto& x, const auto& y) { each.foldl(x, y); });
  }

 private:
  std::size_t count_;
  ElementReducer each_;
};

/// Puts elements into a vector, in their order.
template <class T>
struct vec_concat {
  using value_type = T;
  using accumulator_type = global_vector<T>;

  accumulator_type operator()() const { return {}; }
  void foldl(accumulator_type& acc, const T& x) const { acc.push_back(x); }
  void foldl(accumulator_type& acc, T&& x) const { acc.push_back(std::move(x)); }
  void foldl(accumulator_type& left, accumulator_type&& right) const {
    left.insert(left.cend(), make_move_iterator(right.begin()), make_move_iterator(right.end()));
  }
};

}  // namespace ityr::reducer
