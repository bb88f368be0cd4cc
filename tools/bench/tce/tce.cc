// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/tce/tce.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <tobi/accumulate.hpp>
#include <vector>

#include "tools/bench/collection_gather.hpp"
#include "tools/bench/tce/blas.hpp"
#include "tools/bench/tce/reference.hpp"
#include "tools/bench/tce/tensor.hpp"

namespace tobi_bench {

namespace {

using namespace tce;

// The numbers of the tiles of i, j, k, l, a and b.
using product = std::array<std::uint16_t, 6>;

// All products whose three tiles exist.
template <class F>
void for_products(const index_range& outer, const index_range& inner, F f) {
  const auto n = static_cast<std::uint16_t>(outer.tiles.size());
  const auto m = static_cast<std::uint16_t>(inner.tiles.size());
  const auto pair = [](const index_range& of, std::uint16_t x, std::uint16_t y) {
    return of.tiles[x].symmetry ^ of.tiles[y].symmetry;
  };
  for (std::uint16_t i = 0; i < n; ++i) {
    for (std::uint16_t j = 0; j < n; ++j) {
      for (std::uint16_t k = 0; k < n; ++k) {
        for (std::uint16_t l = 0; l < n; ++l) {
          if (pair(outer, i, j) != pair(outer, k, l)) continue;
          for (std::uint16_t a = 0; a < m; ++a) {
            for (std::uint16_t b = 0; b < m; ++b) {
              if (pair(inner, a, b) == pair(outer, i, j)) f(product{i, j, k, l, a, b});
            }
          }
        }
      }
    }
  }
}

std::string joined(const std::vector<std::size_t>& sizes) { return fmt::format("{}", fmt::join(sizes, ",")); }

class contraction final : public collection_program {
 public:
  contraction(tobi::runtime& rt, const tce_options& asked)
      : rt_(rt),
        asked_(asked),
        outer_(asked.blocks, asked.tile),
        inner_(asked.inner, asked.tile),
        a_({&outer_, &outer_, &inner_, &inner_}, asked.tile),
        b_({&inner_, &inner_, &outer_, &outer_}, asked.tile),
        c_({&outer_, &outer_, &outer_, &outer_}, asked.tile),
        sum_(asked.tile * asked.tile * asked.tile * asked.tile) {
    for_products(outer_, inner_, [this](const product& p) { products_.push_back(p); });
    fill(a_, 0);
    fill(b_, 1);
  }

  std::uint64_t tasks() const override { return products_.size(); }
  void begin(int) override {
    c_.for_share(rt_.rank(), rt_.size(), [this](const tile_place& t) {
      const auto place = tobi::checkout(c_.tile(t), tobi::mode::write);
      std::fill(place.begin(), place.end(), 0.0);
    });
  }
  bool execute(std::uint64_t task) override;
  bool end(int iteration) override;
  bool right() override;

  std::string describe() const override {
    return fmt::format("blocks={} inner={} tile={} seed={}", joined(asked_.blocks), joined(asked_.inner), asked_.tile,
                       asked_.seed);
  }
  nlohmann::ordered_json params() const override {
    return {{"blocks", asked_.blocks}, {"inner", asked_.inner}, {"tile", asked_.tile}, {"seed", asked_.seed}};
  }
  nlohmann::ordered_json result() const override {
    return {{"norm", norm_}, {"gflop", 2e-9 * multiplications()}, {"elements", c_.elements()}};
  }

 private:
  void fill(const tensor& of, unsigned which) {
    of.for_share(rt_.rank(), rt_.size(), [&](const tile_place& t) {
      const auto place = tobi::checkout(of.tile(t), tobi::mode::write);
      double* at = place.data();
      of.for_elements(t, [&](std::size_t p, std::size_t q, std::size_t r, std::size_t s) {
        *at++ = element(asked_.seed, which, p, q, r, s);
      });
    });
  }
  [[nodiscard]] double multiplications() const;

  tobi::runtime& rt_;
  const tce_options asked_;
  const index_range outer_, inner_;
  const tensor a_, b_, c_;
  std::vector<product> products_;  // by task
  std::vector<double> sum_;        // of one task
  double norm_ = 0;
};

double contraction::multiplications() const {
  double all = 0;
  for (const product& p : products_) {
    double one = 1;
    for (std::size_t i = 0; i < p.size(); ++i) {
      one *= static_cast<double>((i < 4 ? outer_ : inner_).tiles[p[i]].length);
    }
    all += one;
  }
  return all;
}

// A tile is a matrix of its first two indices by its last two.
bool contraction::execute(std::uint64_t task) {
  const auto& [i, j, k, l, a, b] = products_[task];
  const auto rows = [&](std::size_t p, std::size_t q) { return outer_.tiles[p].length * outer_.tiles[q].length; };
  const std::size_t depth = inner_.tiles[a].length * inner_.tiles[b].length;
  {
    const auto left = tobi::checkout(a_.tile({i, j, a, b}), tobi::mode::read);
    const auto right = tobi::checkout(b_.tile({a, b, k, l}), tobi::mode::read);
    multiply(static_cast<int>(rows(i, j)), static_cast<int>(rows(k, l)), static_cast<int>(depth), left.data(),
             right.data(), sum_.data());
  }
  const tobi::global_span<double> into = c_.tile({i, j, k, l});
  tobi::accumulate(into.data(), sum_.data(), into.size());
  return true;
}

// Every worker has a share of the sum.
bool contraction::end(int) {
  std::vector<double> squares(1, 0.0);
  c_.for_share(rt_.rank(), rt_.size(), [&](const tile_place& t) {
    const auto place = tobi::checkout(c_.tile(t), tobi::mode::read);
    squares[0] = std::inner_product(place.begin(), place.end(), place.begin(), squares[0]);
  });
  norm_ = std::sqrt(sum_over_workers(rt_, squares)[0]);
  return true;
}

// Every worker looks at its share. What takes longer than a billion multiplications is looked at in part, with the
// first element of each tile.
bool contraction::right() {
  const double terms = static_cast<double>(inner_.size() * inner_.size());
  const auto step = static_cast<std::size_t>(std::ceil(terms * static_cast<double>(c_.elements()) / 4e9));
  const double near = 1e-14 * terms;  // of a sum of terms below 1
  std::vector<std::uint64_t> wrong(1, 0);
  c_.for_share(rt_.rank(), rt_.size(), [&](const tile_place& t) {
    const auto place = tobi::checkout(c_.tile(t), tobi::mode::read);
    std::size_t at = 0;
    c_.for_elements(t, [&](std::size_t i, std::size_t j, std::size_t k, std::size_t l) {
      const std::size_t number = at++;
      if (number % step != 0) return;
      // Not a number is wrong too.
      if (!(std::fabs(place[number] - contracted(asked_.seed, outer_, inner_, i, j, k, l)) <= near)) ++wrong[0];
    });
  });
  wrong = sum_over_workers(rt_, wrong);
  if (wrong[0] != 0 && rt_.rank() == 0) {
    fmt::print(stderr, "tobi-bench: tce {}: {} elements of C are not what a serial program makes them\n", describe(),
               wrong[0]);
  }
  return wrong[0] == 0;
}

}  // namespace

std::uint64_t tce_tasks(const tce_options& asked) {
  // Tiles of each symmetry, and pairs of them: by the block, since tiles of one value may be many. Large numbers are
  // near enough.
  const auto pairs = [&](const std::vector<std::size_t>& blocks) {
    std::array<double, 8> of{};
    for (std::size_t x = 0; x < blocks.size(); ++x) {
      for (std::size_t y = 0; y < blocks.size(); ++y) {
        of[x ^ y] += std::ceil(static_cast<double>(blocks[x]) / static_cast<double>(asked.tile)) *
                     std::ceil(static_cast<double>(blocks[y]) / static_cast<double>(asked.tile));
      }
    }
    return of;
  };
  const std::array<double, 8> outer = pairs(asked.blocks), inner = pairs(asked.inner);
  const double all_pairs = std::accumulate(outer.begin(), outer.end(), 0.0);
  double tasks = 0;
  for (std::size_t s = 0; s < outer.size(); ++s) tasks += outer[s] * outer[s] * inner[s];
  return static_cast<std::uint64_t>(std::min(std::max(tasks, all_pairs * all_pairs), 1e18));
}

std::string load_tce() { return load_blas(); }

std::unique_ptr<collection_program> make_tce(tobi::runtime& rt, const arguments& a) {
  return std::make_unique<contraction>(rt, a.tce);
}

}  // namespace tobi_bench
