// SPDX-License-Identifier: Apache-2.0
// Something for each rank of a job, or for each of its nodes or clients, found by its number as it is: an int. What a
// worker needs of few ranks is made at its first use instead (transports/by_rank.hpp).
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
  per_rank(int ranks, const T& each) : std::vector<T>(static_cast<std::size_t>(ranks), each) {}
  explicit per_rank(std::vector<T> all) noexcept : std::vector<T>(std::move(all)) {}

  [[nodiscard]] T& operator[](int rank) noexcept { return this->begin()[rank]; }
  [[nodiscard]] const T& operator[](int rank) const noexcept { return this->begin()[rank]; }
};

}  // namespace tobi::base
