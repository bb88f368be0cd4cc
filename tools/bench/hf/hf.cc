// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/hf/hf.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <optional>
#include <tobi/accumulate.hpp>
#include <vector>

#include "tools/bench/collection_gather.hpp"
#include "tools/bench/hf/integrals.hpp"
#include "tools/bench/hf/molecule.hpp"
#include "tools/bench/hf/reference.hpp"
#include "tools/bench/hf/scf.hpp"
#include "tools/bench/hf/tiles.hpp"

namespace tobi_bench {

namespace {

using namespace hf;

// Four tiles' numbers: integrals (ij|kl) with i in row, and so on.
struct quartet {
  std::size_t i, j, k, l;
};

tiling cut_of(const molecule& m, const hf_options& asked) {
  const std::size_t side = m.functions.size();
  return {side, std::min(side, static_cast<std::size_t>(asked.tile))};
}
// One for each pair of pairs of tiles, whatever their order.
std::uint64_t tasks_of(const tiling& cut) { return ordered_pair::count(ordered_pair::count(cut.along())); }

class hartree_fock final : public collection_program {
 public:
  hartree_fock(tobi::runtime& rt, const hf_options& asked)
      : rt_(rt),
        asked_(asked),
        molecule_(make_molecule(asked)),
        cut_(cut_of(molecule_, asked)),
        schwarz_(cut_),
        density_(cut_),
        fock_(cut_) {
    for (tile_sum& part : parts_) part.assign(cut_.area(), 0.0);
    const std::size_t n = cut_.side;
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j <= i; ++j)
        pairs_.push_back(make_pair_of(molecule_.functions[i], molecule_.functions[j]));
    }
    if (rt.rank() != 0) return;
    field_.emplace(molecule_);
    std::vector<double> bounds;
    for (const function_pair& p : pairs_) bounds.push_back(std::sqrt(std::fabs(repulsion(p, p, boys_))));
    schwarz_.fill([&](std::size_t i, std::size_t j) { return bounds[pair_number(i, j)]; });
    write_density();
  }

  std::uint64_t tasks() const override { return tasks_of(cut_); }
  void begin(int) override {
    if (rt_.rank() == 0) fock_.fill([](std::size_t, std::size_t) { return 0.0; });
  }
  bool execute(std::uint64_t task) override;
  bool end(int iteration) override;
  bool right() override;

  std::string describe() const override {
    return fmt::format("{} {}, {} functions, tile={}", name(), asked_.basis, cut_.side, cut_.tile);
  }
  nlohmann::ordered_json params() const override {
    return {{"molecule", name()},     {"basis", asked_.basis}, {"atoms", molecule_.atoms.size()},
            {"functions", cut_.side}, {"tile", cut_.tile},     {"threshold", asked_.threshold}};
  }
  nlohmann::ordered_json result() const override {
    return {{"energy", field_->energy()}, {"steps", field_->steps()}, {"converged", field_->converged()}};
  }

 private:
  using tile_sum = std::vector<double>;

  [[nodiscard]] std::string name() const {
    return asked_.molecule == "be" ? fmt::format("be{}-{}", asked_.atoms, asked_.layout) : asked_.molecule;
  }
  [[nodiscard]] static std::size_t pair_number(std::size_t i, std::size_t j) {
    return i < j ? ordered_pair::number(j, i) : ordered_pair::number(i, j);
  }
  void write_density() {
    const std::vector<double>& p = field_->density();
    density_.fill([&](std::size_t i, std::size_t j) { return p[i * cut_.side + j]; });
  }
  template <class Tile>
  void compute(const quartet& q, const Tile& of_ij, const Tile& of_kl);
  void add(std::size_t row, std::size_t column, tile_sum& part);

  tobi::runtime& rt_;
  const hf_options asked_;
  const molecule molecule_;
  const tiling cut_;
  const boys_table boys_;
  std::vector<function_pair> pairs_;
  std::optional<self_consistent_field> field_;  // of rank 0
  tiled_matrix schwarz_, density_, fock_;
  std::array<tile_sum, 6> parts_;
};

template <class Tile>
double largest(const Tile& tile) {
  double most = 0;
  for (const double x : tile) most = std::max(most, x);
  return most;
}

bool hartree_fock::execute(std::uint64_t task) {
  const ordered_pair both = ordered_pair::at(task);
  const ordered_pair ij = ordered_pair::at(both.first), kl = ordered_pair::at(both.second);
  const auto of_ij = schwarz_.read(ij.first, ij.second), of_kl = schwarz_.read(kl.first, kl.second);
  if (largest(of_ij) * largest(of_kl) < asked_.threshold) return false;
  compute({ij.first, ij.second, kl.first, kl.second}, of_ij, of_kl);
  return true;
}

// Each integral once for the eight orders of its indices that are equal: it counts as often as there are different
// ones. Both halves of the symmetric sum get the same, and end() takes their mean.
template <class Tile>
void hartree_fock::compute(const quartet& q, const Tile& of_ij, const Tile& of_kl) {
  const auto p_ij = density_.read(q.i, q.j), p_kl = density_.read(q.k, q.l), p_ik = density_.read(q.i, q.k),
             p_jl = density_.read(q.j, q.l), p_il = density_.read(q.i, q.l), p_jk = density_.read(q.j, q.k);
  auto& [f_ij, f_kl, f_ik, f_jl, f_il, f_jk] = parts_;
  const std::size_t width = cut_.tile;
  const double most_of_kl = largest(of_kl);
  const std::size_t i0 = cut_.first(q.i), j0 = cut_.first(q.j), k0 = cut_.first(q.k), l0 = cut_.first(q.l);
  for (std::size_t i = i0; i < cut_.last(q.i); ++i) {
    for (std::size_t j = j0; j < std::min(cut_.last(q.j), i + 1); ++j) {
      const std::uint64_t ij = ordered_pair::number(i, j);
      const std::size_t at_ij = (i - i0) * width + j - j0;
      const double bound = of_ij[at_ij];
      if (bound * most_of_kl < asked_.threshold) continue;
      for (std::size_t k = k0; k < cut_.last(q.k); ++k) {
        for (std::size_t l = l0; l < std::min(cut_.last(q.l), k + 1); ++l) {
          const std::uint64_t kl = ordered_pair::number(k, l);
          const std::size_t at_kl = (k - k0) * width + l - l0;
          const bool counted_elsewhere = q.i == q.k && q.j == q.l && kl > ij;
          if (counted_elsewhere || bound * of_kl[at_kl] < asked_.threshold) continue;
          const double orders = (i == j ? 1 : 2) * (k == l ? 1 : 2) * (ij == kl ? 1 : 2);
          const double g = orders * repulsion(pairs_[ij], pairs_[kl], boys_);
          const std::size_t at_ik = (i - i0) * width + k - k0, at_jl = (j - j0) * width + l - l0;
          const std::size_t at_il = (i - i0) * width + l - l0, at_jk = (j - j0) * width + k - k0;
          f_ij[at_ij] += g / 2 * p_kl[at_kl];
          f_kl[at_kl] += g / 2 * p_ij[at_ij];
          f_ik[at_ik] -= g / 8 * p_jl[at_jl];
          f_jl[at_jl] -= g / 8 * p_ik[at_ik];
          f_il[at_il] -= g / 8 * p_jk[at_jk];
          f_jk[at_jk] -= g / 8 * p_il[at_il];
        }
      }
    }
  }
  add(q.i, q.j, f_ij);
  add(q.k, q.l, f_kl);
  add(q.i, q.k, f_ik);
  add(q.j, q.l, f_jl);
  add(q.i, q.l, f_il);
  add(q.j, q.k, f_jk);
}

void hartree_fock::add(std::size_t row, std::size_t column, tile_sum& part) {
  tobi::accumulate(fock_.tile(row, column), part.data(), part.size());
  std::fill(part.begin(), part.end(), 0.0);
}

// The tasks' end orders their updates before it.
bool hartree_fock::end(int) {
  std::vector<std::uint8_t> done(1, 0);
  if (rt_.rank() == 0) {
    const std::size_t n = cut_.side;
    const std::vector<double> sum = fock_.rows();
    std::vector<double> two_electron(n * n);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) two_electron[i * n + j] = 0.5 * (sum[i * n + j] + sum[j * n + i]);
    }
    field_->step(two_electron);
    write_density();
    done[0] = field_->converged() ? 1 : 0;
  }
  return gather(rt_, done)[0] == 0;
}

bool hartree_fock::right() {
  if (rt_.rank() != 0) return true;
  const double energy = field_->energy();
  const double reference = reference_energy(molecule_, field_->steps());
  const auto n = static_cast<double>(cut_.side);
  const double near = 1e-7 + asked_.threshold * n * n;
  if (!(std::fabs(energy - reference) <= near)) {
    fmt::print(stderr, "tobi-bench: hf {}: the energy is {:.9f} hartree, where a serial program has {:.9f}\n",
               describe(), energy, reference);
    return false;
  }
  if (!molecule_.published || !field_->converged()) return true;
  if (std::fabs(energy - *molecule_.published) <= 2e-6 + near) return true;
  fmt::print(stderr, "tobi-bench: hf {}: the energy is {:.9f} hartree, where {:.7f} is published\n", describe(), energy,
             *molecule_.published);
  return false;
}

}  // namespace

std::uint64_t hf_tasks(const hf_options& asked) { return tasks_of(cut_of(make_molecule(asked), asked)); }

std::uint64_t hf_reference_integrals(const hf_options& asked) { return reference_integrals(make_molecule(asked)); }

std::unique_ptr<collection_program> make_hf(tobi::runtime& rt, const arguments& a) {
  return std::make_unique<hartree_fock>(rt, a.hf);
}

}  // namespace tobi_bench
