// SPDX-License-Identifier: Apache-2.0
// The fields of all bodies, in one pass from the root down. Each cell has a list of candidates: cells whose bodies act
// on its own and are in no expansion yet. ExaFMM's criterion decides about each: far enough, its multipole expansion is
// added to the cell's local one (M2L). Of two leaves each pair of bodies is computed (P2P). Else the larger of the two
// is split: a candidate into its children, and a cell by leaving the candidate to its children. These begin with the
// cell's local expansion, shifted (L2L), and at a leaf it is evaluated (L2P).
//
// So every local expansion and every field is made by one task, and no two write the same. A local expansion is never
// in global memory: it goes down in a task's closure. A list goes down in global memory, because no closure has room
// for it, and a stolen task must find it. A cell with few bodies is the root of a subtree that one task computes
// serially: its lists lie one behind the other in a vector.
#include <tobi/parallel.hpp>
#include <vector>

#include "tools/bench/fmm/octree.hpp"

namespace tobi_bench::TOBI_BENCH_VARIANT {

namespace {

/// What far bodies do in a cell.
struct local_field {
  laplace::vec3 center;
  expansion local;
};

laplace::vec3 difference(const laplace::vec3& a, const laplace::vec3& b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }

/// The lists of one task, which are gone before it forks.
class traversal {
 public:
  explicit traversal(const fmm_method& method) : method_(method) {}

  void take(tobi::global_span<const octree_cell> list) {
    read_in_parts(list, [&](std::span<const octree_cell> part) {
      candidates_.insert(candidates_.end(), part.begin(), part.end());
    });
  }

  /// The field in CELL of what is far from it and was taken; the field ABOVE is that of its parent. What is left are
  /// candidates of the children.
  local_field meet(const octree_cell& cell, const local_field& above) {
    const std::size_t taken = candidates_.size();
    local_field own = meet(cell, above, 0, taken);
    candidates_.erase(candidates_.begin(), candidates_.begin() + static_cast<std::ptrdiff_t>(taken));
    return own;
  }
  /// Makes the fields of all bodies of CELL.
  void finish(const octree_cell& cell, const local_field& above) { finish(cell, above, 0, candidates_.size()); }

  /// A copy of the candidates in global memory, for the caller to free.
  [[nodiscard]] tobi::global_span<octree_cell> candidates() const {
    const std::size_t all = candidates_.size();
    const tobi::global_span<octree_cell> list(tobi::allocate_global<octree_cell>(all), all);
    const std::size_t most = std::max<std::size_t>(1, tobi::global_calls::chunk_bytes() / sizeof(octree_cell));
    for (std::size_t done = 0; done < all; done += most) {
      const auto open = tobi::checkout(list.subspan(done, std::min(most, all - done)), tobi::mode::write);
      std::copy_n(candidates_.begin() + static_cast<std::ptrdiff_t>(done), open.size(), open.begin());
    }
    return list;
  }
  [[nodiscard]] interactions computed() const noexcept { return computed_; }

 private:
  /// A cell whose expansion is to be added.
  struct far_cell {
    tobi::global_ptr<const laplace::coefficient> multipole;
    laplace::vec3 shift;
  };
  /// Bodies in a row.
  struct near_bodies {
    std::uint32_t first;
    std::uint32_t end;
  };

  // Candidates are those from FIRST to LAST. Those of the children come behind all that are there.
  local_field meet(const octree_cell& cell, const local_field& above, std::size_t first, std::size_t last) {
    far_.clear();
    near_.clear();
    for (std::size_t i = first; i < last; ++i) decide(cell, octree_cell(candidates_[i]));
    local_field own{cell.center, {}};
    laplace::l2l(method_.order, own.local.data(), above.local.data(), difference(cell.center, above.center));
    add_far_cells(own);
    return own;
  }

  void finish(const octree_cell& cell, const local_field& above, std::size_t first, std::size_t last) {
    const std::size_t rest = candidates_.size();
    const local_field own = meet(cell, above, first, last);
    if (cell.is_leaf()) {
      evaluate(cell, own);
    } else {
      const std::size_t end = candidates_.size();
      for (const octree_cell& child : children_of(cell)) finish(child, own, rest, end);
    }
    candidates_.resize(rest);
  }

  void decide(const octree_cell& cell, const octree_cell& source) {
    const laplace::vec3 shift = difference(cell.center, source.center);
    const double square = shift.x * shift.x + shift.y * shift.y + shift.z * shift.z;
    const double radii = cell.radius + source.radius;
    if (square * method_.theta * method_.theta > radii * radii) {
      far_.push_back({source.multipole, shift});
    } else if (source.is_leaf() && cell.is_leaf()) {
      const std::uint32_t end = source.first + source.bodies;
      if (!near_.empty() && near_.back().end == source.first) {
        near_.back().end = end;
      } else {
        near_.push_back({source.first, end});
      }
    } else if (cell.is_leaf() || (!source.is_leaf() && source.radius > cell.radius)) {
      for (const octree_cell& child : children_of(source)) decide(cell, child);
    } else {
      candidates_.push_back(source);
    }
  }

  // Expansions that lie in a row are checked out together.
  void add_far_cells(local_field& own) {
    const std::size_t each = method_.coefficients();
    const std::size_t most =
        std::max<std::size_t>(1, tobi::global_calls::chunk_bytes() / (each * sizeof(laplace::coefficient)));
    for (std::size_t begin = 0, end; begin < far_.size(); begin = end) {
      end = begin + 1;
      while (end < far_.size() && end - begin < most &&
             far_[end].multipole - far_[end - 1].multipole == static_cast<std::ptrdiff_t>(each)) {
        ++end;
      }
      const auto open = tobi::checkout(far_[begin].multipole, (end - begin) * each, tobi::mode::read);
      for (std::size_t i = begin; i < end; ++i) {
        laplace::m2l(method_.order, own.local.data(), open.data() + (i - begin) * each, far_[i].shift);
      }
    }
    computed_.cells += far_.size();
  }

  void evaluate(const octree_cell& leaf, const local_field& own) {
    constexpr std::uint32_t most = laplace::near_field::capacity;
    for (std::uint32_t done = 0; done < leaf.bodies; done += most) {
      evaluate_some(leaf.first + done, std::min(most, leaf.bodies - done), own);
    }
  }
  void evaluate_some(std::uint32_t first, std::uint32_t count, const local_field& own) {
    const auto some = method_.bodies.subspan(first, count);
    laplace::near_field near;
    near.begin(tobi::checkout(some, tobi::mode::read));
    for (const near_bodies& row : near_) {
      read_in_parts(method_.bodies.subspan(row.first, row.end - row.first),
                    [&](std::span<const laplace::body> sources) { near.add(sources); });
      computed_.bodies += std::uint64_t{count} * (row.end - row.first);
    }
    const auto bodies = tobi::checkout(some, tobi::mode::read);
    const auto fields = tobi::checkout(method_.fields.subspan(first, count), tobi::mode::write);
    std::fill(fields.begin(), fields.end(), laplace::field{});
    laplace::l2p(method_.order, own.local.data(), own.center, bodies, fields);
    near.end(fields);
  }

  const fmm_method method_;
  std::vector<octree_cell> candidates_;
  std::vector<far_cell> far_;
  std::vector<near_bodies> near_;
  interactions computed_;
};

interactions descend(const fmm_method& method, const octree_cell& cell, const local_field& above,
                     tobi::global_span<const octree_cell> candidates) {
  if (cell.is_leaf() || cell.bodies <= method.task_bodies) {
    traversal serially(method);
    serially.take(candidates);
    serially.finish(cell, above);
    return serially.computed();
  }
  local_field own;
  tobi::global_span<octree_cell> rest;
  interactions here;
  {
    traversal lists(method);
    lists.take(candidates);
    own = lists.meet(cell, above);
    rest = lists.candidates();
    here = lists.computed();
  }
  const interactions below = tobi::parallel_reduce(
      homes_of(method, cell), 0u, cell.child_count, 1, interactions{},
      [=, children = cell.children](std::uint32_t i) { return descend(method, tobi::load(children + i), own, rest); },
      std::plus<>{});
  tobi::free_global(rest.data(), rest.size());
  return here + below;
}

}  // namespace

interactions make_fields(const fmm_method& method, const octree_cell& root) {
  const tobi::global_span<octree_cell> all(tobi::allocate_global<octree_cell>(1), 1);
  tobi::store(all.data(), root);
  const interactions computed = descend(method, root, {root.center, {}}, all);
  tobi::free_global(all.data(), all.size());
  return computed;
}

}  // namespace tobi_bench::TOBI_BENCH_VARIANT
