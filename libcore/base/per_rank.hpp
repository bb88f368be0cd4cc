// SPDX-License-Identifier: Apache-2.0
// Something for each rank of a job, found by the rank as it is: an int.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace tobi::base {

template <class T>
class per_rank : public std::vector<T> {
 public:
  using std::vector<T>::vector;
  explicit per_rank(int ranks) : std::vector<T>(static_cast<std::size_t>(ranks)) {}
  explicit per_rank(std::vector<T> all) : std::vector<T>(std::move(all)) {}

  [[nodiscard]] T& operator[](int rank) noexcept { return this->begin()[rank]; }
  [[nodiscard]] const T& operator[](int rank) const noexcept { return this->begin()[rank]; }
};

}  // namespace tobi::base
