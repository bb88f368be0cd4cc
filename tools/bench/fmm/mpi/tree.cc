// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/fmm/mpi/tree.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "tools/bench/fmm/morton.hpp"

namespace tobi_bench::fmm_mpi {

namespace {

struct numbered_key {
  std::uint64_t key;
  std::uint32_t body;
};

/// By digits of eleven bits from the lowest on. A digit that all keys share is skipped.
void sort_keys(std::vector<numbered_key>& keys) {
  constexpr unsigned bits = 11, digits = 1u << bits;
  std::vector<numbered_key> sorted(keys.size());
  for (unsigned shift = 0; shift < 3 * octree_levels; shift += bits) {
    std::array<std::uint32_t, digits> begin{};
    const auto digit = [=](const numbered_key& k) { return k.key >> shift & (digits - 1); };
    for (const numbered_key& k : keys) ++begin[digit(k)];
    if (!keys.empty() && begin[digit(keys[0])] == keys.size()) continue;
    std::uint32_t sum = 0;
    for (std::uint32_t& b : begin) sum += std::exchange(b, sum);
    for (const numbered_key& k : keys) sorted[begin[digit(k)]++] = k;
    keys.swap(sorted);
  }
}

template <class T>
void reorder(std::vector<T>& what, const std::vector<numbered_key>& keys) {
  std::vector<T> ordered(what.size());
  for (std::size_t i = 0; i < ordered.size(); ++i) ordered[i] = what[keys[i].body];
  what.swap(ordered);
}

}  // namespace

void particles::resize(std::size_t n) {
  bodies.resize(n);
  velocities.resize(n);
  numbers.resize(n);
  work.resize(n);
  fields.resize(n);
}

void tree::build(particles& all, std::uint32_t ncrit) {
  const std::size_t n = all.size();
  std::vector<numbered_key> keys(n);
  for (std::size_t i = 0; i < n; ++i) keys[i] = {morton_key(all.bodies[i].at), static_cast<std::uint32_t>(i)};
  sort_keys(keys);
  reorder(all.bodies, keys);
  reorder(all.velocities, keys);
  reorder(all.numbers, keys);
  reorder(all.work, keys);
  keys_.resize(n);
  for (std::size_t i = 0; i < n; ++i) keys_[i] = keys[i].key;

  cells_.clear();
  if (n == 0) return;
  cells_.push_back({{0.5, 0.5, 0.5}, 0.5, 0, static_cast<std::uint32_t>(n), 0, 0, 0});
  for (std::uint32_t i = 0; i < cells_.size(); ++i) {
    if (cells_[i].bodies > ncrit && cells_[i].level < octree_levels) divide(i);
  }
}

void tree::divide(std::uint32_t parent) {
  const cell whole = cells_[parent];
  const auto begin = keys_.begin() + whole.first, end = begin + whole.bodies;
  cells_[parent].children = static_cast<std::uint32_t>(cells_.size());
  for (auto from = begin; from != end;) {
    const unsigned octant = octant_of(*from, whole.level);
    const auto to = std::partition_point(from, end, [&](auto key) { return octant_of(key, whole.level) == octant; });
    cells_.push_back({.center = center_of(octant, whole.center, whole.radius / 2),
                      .radius = whole.radius / 2,
                      .first = static_cast<std::uint32_t>(from - keys_.begin()),
                      .bodies = static_cast<std::uint32_t>(to - from),
                      .children = 0,
                      .child_count = 0,
                      .level = static_cast<std::uint8_t>(whole.level + 1)});
    ++cells_[parent].child_count;
    from = to;
  }
}

void tree::make_multipoles(const particles& all, unsigned order, [[maybe_unused]] int threads) {
  const std::size_t each = laplace::coefficients(order);
  multipoles_.assign(cells_.size() * each, {});
  locals_.assign(cells_.size() * each, {});
  const auto make = [&](std::size_t i) {
    const cell& c = cells_[i];
    laplace::coefficient* const multipole = multipoles_.data() + i * each;
    if (c.is_leaf()) laplace::p2m(order, multipole, c.center, {all.bodies.data() + c.first, c.bodies});
    for (std::size_t k = c.children; k < std::size_t{c.children} + c.child_count; ++k) {
      const laplace::vec3 &at = cells_[k].center, shift{at.x - c.center.x, at.y - c.center.y, at.z - c.center.z};
      laplace::m2m(order, multipole, multipoles_.data() + k * each, shift);
    }
  };
  // A level from the deepest one up.
  for (std::size_t end = cells_.size(), begin; end > 0; end = begin) {
    begin = end;
    while (begin > 0 && cells_[begin - 1].level == cells_[end - 1].level) --begin;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (std::size_t i = begin; i < end; ++i) make(i);
  }
}

}  // namespace tobi_bench::fmm_mpi
