// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/tce/reference.hpp"

namespace tobi_bench::tce {

double contracted(std::uint64_t seed, const index_range& outer, const index_range& inner, std::size_t i, std::size_t j,
                  std::size_t k, std::size_t l) {
  const unsigned ij = outer.symmetry[i] ^ outer.symmetry[j];
  const unsigned kl = outer.symmetry[k] ^ outer.symmetry[l];
  double sum = 0;
  for (std::size_t a = 0; a < inner.size(); ++a) {
    for (std::size_t b = 0; b < inner.size(); ++b) {
      const unsigned ab = inner.symmetry[a] ^ inner.symmetry[b];
      if (ij == ab && ab == kl) sum += element(seed, 0, i, j, a, b) * element(seed, 1, a, b, k, l);
    }
  }
  return sum;
}

}  // namespace tobi_bench::tce
