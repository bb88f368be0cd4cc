// SPDX-License-Identifier: Apache-2.0
// A square matrix in global memory by tiles, which are dealt to the workers in turn, and the numbers of pairs.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <tobi/checkout.hpp>
#include <tobi/global_memory.hpp>
#include <vector>

namespace tobi_bench::hf {

/// How SIDE rows and columns are cut. The last tiles may be smaller than others, and take the same room.
struct tiling {
  std::size_t side, tile;

  [[nodiscard]] std::size_t along() const noexcept { return (side + tile - 1) / tile; }
  [[nodiscard]] std::size_t first(std::size_t number) const noexcept { return number * tile; }
  [[nodiscard]] std::size_t last(std::size_t number) const noexcept { return std::min(side, (number + 1) * tile); }
  [[nodiscard]] std::size_t area() const noexcept { return tile * tile; }
  /// Returns where a tile begins.
  [[nodiscard]] std::size_t offset(std::size_t row, std::size_t column) const noexcept {
    return (row * along() + column) * area();
  }
};

/// A pair of numbers, the first not below the second, and its own number: (0,0), (1,0), (1,1), (2,0), ...
struct ordered_pair {
  std::size_t first, second;

  [[nodiscard]] static constexpr std::uint64_t count(std::uint64_t n) noexcept { return n * (n + 1) / 2; }
  [[nodiscard]] static constexpr std::uint64_t number(std::size_t first, std::size_t second) noexcept {
    return count(first) + second;
  }
  [[nodiscard]] static ordered_pair at(std::uint64_t number) noexcept {
    auto first = static_cast<std::uint64_t>((std::sqrt(8.0 * static_cast<double>(number) + 1.0) - 1.0) / 2.0);
    while (count(first) > number) --first;  // the root is rounded
    while (count(first + 1) <= number) ++first;
    return {first, number - count(first)};
  }
};

/// Made and ended by all workers together.
class tiled_matrix {
 public:
  explicit tiled_matrix(const tiling& cut)
      : cut_(cut),
        all_(tobi::allocate_all<double>(cut.along() * cut.along() * cut.area(),
                                        tobi::block_cyclic(cut.area() * sizeof(double)))) {}
  ~tiled_matrix() { tobi::free_all(all_); }
  tiled_matrix(const tiled_matrix&) = delete;
  tiled_matrix& operator=(const tiled_matrix&) = delete;

  [[nodiscard]] tobi::global_ptr<double> tile(std::size_t row, std::size_t column) const {
    return all_.data() + static_cast<std::ptrdiff_t>(cut_.offset(row, column));
  }
  [[nodiscard]] auto read(std::size_t row, std::size_t column) const {
    return tobi::checkout(tile(row, column), cut_.area(), tobi::mode::read);
  }
  /// Returns the whole matrix by rows. One worker reads it.
  [[nodiscard]] std::vector<double> rows() const {
    std::vector<double> all(cut_.side * cut_.side);
    for (std::size_t r = 0; r < cut_.along(); ++r) {
      for (std::size_t c = 0; c < cut_.along(); ++c) {
        const auto place = read(r, c);
        for (std::size_t i = cut_.first(r); i < cut_.last(r); ++i) {
          for (std::size_t j = cut_.first(c); j < cut_.last(c); ++j) {
            all[i * cut_.side + j] = place[(i - cut_.first(r)) * cut_.tile + j - cut_.first(c)];
          }
        }
      }
    }
    return all;
  }
  /// One worker writes all of it: element (i, j) is OF(i, j).
  template <class F>
  void fill(F of) const {
    for (std::size_t r = 0; r < cut_.along(); ++r) {
      for (std::size_t c = 0; c < cut_.along(); ++c) {
        const auto place = tobi::checkout(tile(r, c), cut_.area(), tobi::mode::write);
        std::fill(place.begin(), place.end(), 0.0);
        for (std::size_t i = cut_.first(r); i < cut_.last(r); ++i) {
          for (std::size_t j = cut_.first(c); j < cut_.last(c); ++j) {
            place[(i - cut_.first(r)) * cut_.tile + j - cut_.first(c)] = of(i, j);
          }
        }
      }
    }
  }

 private:
  const tiling cut_;
  tobi::global_span<double> all_;
};

}  // namespace tobi_bench::hf
