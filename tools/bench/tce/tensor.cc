// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/tce/tensor.hpp"

#include <algorithm>

namespace tobi_bench::tce {

index_range::index_range(const std::vector<std::size_t>& blocks, std::size_t tile) {
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    for (std::size_t done = 0; done < blocks[b]; done += tile) {
      tiles.push_back({symmetry.size() + done, std::min(tile, blocks[b] - done), static_cast<unsigned>(b)});
    }
    symmetry.insert(symmetry.end(), blocks[b], static_cast<unsigned>(b));
  }
}

tensor::tensor(const std::array<const index_range*, 4>& indices, std::size_t tile) : indices_(indices) {
  for_tiles([&](const tile_place& t) {
    offsets_.push_back(elements_);
    if (exists(t)) elements_ += area(t);
  });
  all_ = tobi::allocate_all<double>(elements_, tobi::block_cyclic(tile * tile * tile * tile * sizeof(double)));
}

bool tensor::exists(const tile_place& t) const {
  return (along(0, t[0]).symmetry ^ along(1, t[1]).symmetry ^ along(2, t[2]).symmetry ^ along(3, t[3]).symmetry) == 0;
}

std::size_t tensor::number(const tile_place& t) const {
  std::size_t n = 0;
  for (std::size_t index = 0; index < t.size(); ++index) n = n * indices_[index]->tiles.size() + t[index];
  return n;
}

std::size_t tensor::area(const tile_place& t) const {
  std::size_t n = 1;
  for (std::size_t index = 0; index < t.size(); ++index) n *= along(index, t[index]).length;
  return n;
}

tobi::global_span<double> tensor::tile(const tile_place& t) const { return all_.subspan(offsets_[number(t)], area(t)); }

}  // namespace tobi_bench::tce
