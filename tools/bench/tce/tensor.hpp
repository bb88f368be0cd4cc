// SPDX-License-Identifier: Apache-2.0
// Tensors of four indices in global memory, by dense tiles, of which those that symmetry makes zero have no memory.
//
// The values of an index are in spatial blocks, and a block is cut into tiles. Block n is the irreducible
// representation n of an abelian point group (D2h and its subgroups), whose product is the exclusive or. A tile of a
// tensor that is symmetric as a whole is zero unless the product of its four is 0.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <tobi/checkout.hpp>
#include <tobi/global_memory.hpp>
#include <vector>

namespace tobi_bench::tce {

/// A tile of an index: LENGTH values from FIRST on, all of block SYMMETRY.
struct index_tile {
  std::size_t first, length;
  unsigned symmetry;
};
/// An index whose spatial blocks have BLOCKS values each. The last tile of a block may be smaller than TILE.
struct index_range {
  std::vector<index_tile> tiles;
  std::vector<unsigned> symmetry;  // of each value

  index_range(const std::vector<std::size_t>& blocks, std::size_t tile);
  [[nodiscard]] std::size_t size() const noexcept { return symmetry.size(); }
};

/// The numbers of four tiles.
using tile_place = std::array<std::size_t, 4>;

/// Made and ended by all workers together. Every worker knows where all tiles are, without communication.
class tensor {
 public:
  /// The indices outlive it. TILE: values of the largest tile of an index.
  tensor(const std::array<const index_range*, 4>& indices, std::size_t tile);
  ~tensor() { tobi::free_all(all_); }
  tensor(const tensor&) = delete;
  tensor& operator=(const tensor&) = delete;

  [[nodiscard]] const index_tile& along(std::size_t index, std::size_t tile) const {
    return indices_[index]->tiles[tile];
  }
  /// Whether the tile may be other than zero. One that is not has no memory.
  [[nodiscard]] bool exists(const tile_place& t) const;
  /// Where the elements of a tile that exists are, by rows: the last index is the fastest.
  [[nodiscard]] tobi::global_span<double> tile(const tile_place& t) const;
  /// How many elements there are in all tiles that exist.
  [[nodiscard]] std::size_t elements() const noexcept { return elements_; }

  /// Calls F(PLACE) for each tile that exists and is dealt to worker RANK of SIZE.
  template <class F>
  void for_share(int rank, int size, F f) const {
    std::size_t number = 0;
    for_tiles([&](const tile_place& t) {
      if (exists(t) && number++ % static_cast<std::size_t>(size) == static_cast<std::size_t>(rank)) f(t);
    });
  }
  /// Calls F(i, j, k, l) for each element of a tile, in order.
  template <class F>
  void for_elements(const tile_place& t, F f) const {
    const auto& [p, q, r, s] = t;
    const index_tile &i = along(0, p), &j = along(1, q), &k = along(2, r), &l = along(3, s);
    for (std::size_t a = i.first; a < i.first + i.length; ++a) {
      for (std::size_t b = j.first; b < j.first + j.length; ++b) {
        for (std::size_t c = k.first; c < k.first + k.length; ++c) {
          for (std::size_t d = l.first; d < l.first + l.length; ++d) f(a, b, c, d);
        }
      }
    }
  }

 private:
  template <class F>
  void for_tiles(F f) const {
    for (std::size_t p = 0; p < indices_[0]->tiles.size(); ++p) {
      for (std::size_t q = 0; q < indices_[1]->tiles.size(); ++q) {
        for (std::size_t r = 0; r < indices_[2]->tiles.size(); ++r) {
          for (std::size_t s = 0; s < indices_[3]->tiles.size(); ++s) f({p, q, r, s});
        }
      }
    }
  }
  [[nodiscard]] std::size_t number(const tile_place& t) const;
  [[nodiscard]] std::size_t area(const tile_place& t) const;

  std::array<const index_range*, 4> indices_;
  std::vector<std::size_t> offsets_;  // of all tiles by number; of one that does not exist that of the next one
  std::size_t elements_ = 0;
  tobi::global_span<double> all_;
};

}  // namespace tobi_bench::tce
