// SPDX-License-Identifier: Apache-2.0
// The fields of all bodies, in one pass from the root down. A cell has a list of candidates: cells whose bodies act on
// its own and are in no expansion yet. ExaFMM's criterion decides about each: far enough, its multipole expansion is
// added to the cell's local one (M2L). Of two leaves each pair of bodies is computed (P2P). Else the larger of the two
// is split: a candidate into its children, and a cell by leaving the candidate to its children. These begin with the
// cell's local expansion, shifted (L2L), and at a leaf it is evaluated (L2P).
//
// Siblings are targets together, since their candidates are nearly the same: they have one list, in which a candidate
// has a bit for each of them, and children and expansions of a candidate are checked out once for all of them.
//
// Every local expansion and every field is made by one task, and no two write the same. Lists and local expansions go
// down in global memory, for a stolen task to find them. Cells with few bodies are the roots of subtrees that one task
// computes serially, with lists in ordinary memory.
#include <bit>
#include <functional>
#include <tobi/parallel.hpp>
#include <vector>

#include "tools/bench/fmm/morton.hpp"
#include "tools/bench/fmm/octree.hpp"

namespace tobi_bench::TOBI_BENCH_VARIANT {

namespace {

using laplace::coefficient;
using laplace::vec3;

/// Of siblings, a bit each.
using sibling_set = std::uint32_t;

struct candidate {
  octree_cell source;
  sibling_set targets;
};

vec3 difference(const vec3& a, const vec3& b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }

/// What siblings begin with.
struct above_them {
  vec3 center;               // of their parent
  const coefficient* local;  // its expansion
  sibling_set parent;        // what candidates of the parent have
};

/// The local expansions of siblings.
using local_family = std::array<expansion, 8>;

/// The lists of one task, which are gone before it forks.
class traversal {
 public:
  explicit traversal(const fmm_method& method) : method_(method) {}

  void take(tobi::global_span<const candidate> list) {
    read_in_parts(
        list, [&](std::span<const candidate> part) { lists_[0].insert(lists_[0].end(), part.begin(), part.end()); });
  }
  /// Makes the local expansions of TARGETS, and the fields of those that are leaves. The others' children have the
  /// candidates that are left.
  void meet(const octree_family& targets, const above_them& above, local_family& own) { meet(targets, above, own, 0); }
  /// Makes the fields of all bodies of TARGETS.
  void finish(const octree_family& targets, const above_them& above) { finish(targets, above, 0); }

  /// A copy of the candidates that are left in global memory, for the caller to free.
  [[nodiscard]] tobi::global_span<candidate> left() const {
    const std::vector<candidate>& all = lists_[1];
    const tobi::global_span<candidate> list(tobi::allocate_global<candidate>(all.size()), all.size());
    const std::size_t most = std::max<std::size_t>(1, tobi::global_calls::chunk_bytes() / sizeof(candidate));
    for (std::size_t done = 0; done < all.size(); done += most) {
      const auto open = tobi::checkout(list.subspan(done, std::min(most, all.size() - done)), tobi::mode::write);
      std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(done), open.size(), open.begin());
    }
    return list;
  }
  [[nodiscard]] interactions computed() const noexcept { return computed_; }

 private:
  /// An expansion that is to be added to those of TARGETS.
  struct far_source {
    tobi::global_ptr<const coefficient> multipole;
    vec3 center;
    sibling_set targets;
  };
  /// Bodies in a row.
  struct near_source {
    std::uint32_t first;
    std::uint32_t end;
  };
  /// Siblings, as it is decided about them.
  struct sibling_targets {
    std::array<double, 8> x, y, z;  // of their centers
    double radius;                  // the same of all
    sibling_set leaves;

    explicit sibling_targets(const octree_family& family) : radius(family.cells[0].radius), leaves(0) {
      for (std::uint32_t i = 0; i < 8; ++i) {
        const octree_cell& cell = family.cells[i < family.count ? i : 0];
        x[i] = cell.center.x;
        y[i] = cell.center.y;
        z[i] = cell.center.z;
        if (i < family.count && cell.is_leaf()) leaves |= 1u << i;
      }
    }
    /// Those that are far enough from SOURCE.
    [[nodiscard]] sibling_set far_from(const octree_cell& source, double theta) const {
      const double least = (radius + source.radius) / theta;
      std::array<double, 8> square;
      for (std::size_t i = 0; i < 8; ++i) {
        const double dx = x[i] - source.center.x, dy = y[i] - source.center.y, dz = z[i] - source.center.z;
        square[i] = dx * dx + dy * dy + dz * dz;
      }
      sibling_set far = 0;
      for (std::size_t i = 0; i < 8; ++i) far |= (square[i] > least * least ? 1u : 0u) << i;
      return far;
    }
  };

  void meet(const octree_family& targets, const above_them& above, local_family& own, std::size_t depth) {
    far_.clear();
    for (std::vector<near_source>& near : near_) near.clear();
    std::vector<candidate>& rest = lists_[depth + 1];
    rest.clear();
    const sibling_targets siblings(targets);
    const sibling_set all = (1u << targets.count) - 1;
    for (const candidate& c : lists_[depth]) {
      if ((c.targets & above.parent) != 0) decide(siblings, all, c.source, rest);
    }
    prefetch_sources();
    for (std::uint32_t i = 0; i < targets.count; ++i) {
      own[i] = {};
      if (above.local == nullptr) continue;
      laplace::l2l(method_.order, own[i].data(), above.local, difference(targets.cells[i].center, above.center));
    }
    add_far_sources(targets, own);
    for (std::uint32_t i = 0; i < targets.count; ++i) {
      if (targets.cells[i].is_leaf()) evaluate(targets.cells[i], own[i], near_[i]);
    }
  }

  void finish(const octree_family& targets, const above_them& above, std::size_t depth) {
    local_family own;
    meet(targets, above, own, depth);
    for (std::uint32_t i = 0; i < targets.count; ++i) {
      const octree_cell& cell = targets.cells[i];
      if (!cell.is_leaf()) finish(children_of(cell), {cell.center, own[i].data(), 1u << i}, depth + 1);
    }
  }

  // SOURCE is a candidate of UNDECIDED.
  void decide(const sibling_targets& targets, sibling_set undecided, const octree_cell& source,
              std::vector<candidate>& rest) {
    const sibling_set far = undecided & targets.far_from(source, method_.theta);
    if (far != 0) far_.push_back({source.multipole, source.center, far});
    const sibling_set near = undecided & ~far;
    const sibling_set to_split = source.radius > targets.radius ? near : near & targets.leaves;
    if (source.is_leaf()) {
      for (sibling_set some = near & targets.leaves; some != 0; some &= some - 1) {
        add_near(near_[static_cast<std::size_t>(std::countr_zero(some))], source);
      }
      if ((near & ~targets.leaves) != 0) rest.push_back({source, near & ~targets.leaves});
      return;
    }
    if ((near & ~to_split) != 0) rest.push_back({source, near & ~to_split});
    if (to_split == 0) return;
    for (const octree_cell& child : children_of(source)) decide(targets, to_split, child, rest);
  }
  static void add_near(std::vector<near_source>& list, const octree_cell& source) {
    const std::uint32_t end = source.first + source.bodies;
    if (!list.empty() && list.back().end == source.first) {
      list.back().end = end;
    } else {
      list.push_back({source.first, end});
    }
  }

  // Expansions that lie in a row are checked out together: those from BEGIN to here.
  [[nodiscard]] std::size_t end_of_row(std::size_t begin) const {
    const auto each = static_cast<std::ptrdiff_t>(method_.coefficients());
    const std::size_t most = tobi::global_calls::chunk_bytes() / (method_.coefficients() * sizeof(coefficient));
    std::size_t end = begin + 1;
    while (end < far_.size() && end - begin < most && far_[end].multipole - far_[end - 1].multipole == each) ++end;
    return end;
  }
  // They come while the first of them are computed with.
  void prefetch_sources() const {
    for (std::size_t begin = 0, end; begin < far_.size(); begin = end) {
      end = end_of_row(begin);
      tobi::prefetch(far_[begin].multipole, (end - begin) * method_.coefficients());
    }
    for (const std::vector<near_source>& near : near_) {
      for (const near_source& row : near) tobi::prefetch(method_.bodies.subspan(row.first, row.end - row.first));
    }
  }
  void add_far_sources(const octree_family& targets, local_family& own) {
    const std::size_t each = method_.coefficients();
    for (std::size_t begin = 0, end; begin < far_.size(); begin = end) {
      end = end_of_row(begin);
      const auto open = tobi::checkout(far_[begin].multipole, (end - begin) * each, tobi::mode::read);
      for (std::size_t i = begin; i < end; ++i) {
        const coefficient* multipole = open.data() + (i - begin) * each;
        for (sibling_set some = far_[i].targets; some != 0; some &= some - 1) {
          const auto target = static_cast<std::size_t>(std::countr_zero(some));
          laplace::m2l(method_.order, own[target].data(), multipole,
                       difference(targets.cells[target].center, far_[i].center));
          ++computed_.cells;
        }
      }
    }
  }

  void evaluate(const octree_cell& leaf, const expansion& local, const std::vector<near_source>& near) {
    constexpr std::uint32_t most = laplace::near_field::capacity;
    for (std::uint32_t done = 0; done < leaf.bodies; done += most) {
      evaluate_some(leaf, leaf.first + done, std::min(most, leaf.bodies - done), local, near);
    }
  }
  void evaluate_some(const octree_cell& leaf, std::uint32_t first, std::uint32_t count, const expansion& local,
                     const std::vector<near_source>& near) {
    const auto some = method_.bodies.subspan(first, count);
    laplace::near_field sums;
    sums.begin(tobi::checkout(some, tobi::mode::read));
    for (const near_source& row : near) {
      read_in_parts(method_.bodies.subspan(row.first, row.end - row.first),
                    [&](std::span<const laplace::body> sources) { sums.add(sources); });
      computed_.bodies += std::uint64_t{count} * (row.end - row.first);
    }
    const auto bodies = tobi::checkout(some, tobi::mode::read);
    const auto fields = tobi::checkout(method_.fields.subspan(first, count), tobi::mode::write);
    std::fill(fields.begin(), fields.end(), laplace::field{});
    laplace::l2p(method_.order, local.data(), leaf.center, bodies, fields);
    sums.end(fields);
  }

  const fmm_method method_;
  std::array<std::vector<candidate>, octree_levels + 2> lists_;  // of the siblings at each depth
  std::vector<far_source> far_;
  std::array<std::vector<near_source>, 8> near_;
  interactions computed_;
};

/// The siblings of a task, in global memory.
struct sibling_work {
  tobi::global_ptr<octree_cell> targets;
  octree_cell parent;
  tobi::global_ptr<const coefficient> above;  // the parent's local expansion; null: there is none
  sibling_set parent_bit;
  tobi::global_span<const candidate> candidates;
};

interactions make_fields_of(const fmm_method& method, const sibling_work& work);

/// Of the children of those siblings that have some.
interactions make_fields_below(const fmm_method& method, const sibling_work& work,
                               tobi::global_ptr<const coefficient> locals,
                               tobi::global_span<const candidate> candidates) {
  return tobi::parallel_reduce(
      homes_of(method, work.parent.first, work.parent.bodies), 0u, work.parent.child_count, 1, interactions{},
      [=, targets = work.targets](std::uint32_t i) {
        const octree_cell cell = tobi::load(targets + i);
        if (cell.is_leaf()) return interactions{};
        return make_fields_of(
            method, {cell.children, cell, locals + static_cast<std::ptrdiff_t>(i * method.coefficients()), 1u << i,
                     candidates});
      },
      std::plus<>{});
}

interactions make_fields_of(const fmm_method& method, const sibling_work& work) {
  interactions here;
  tobi::global_span<candidate> left;
  tobi::global_span<coefficient> locals;
  {
    const octree_family targets = children_of(work.parent);
    expansion local;
    above_them above{work.parent.center, nullptr, work.parent_bit};
    if (work.above) {
      const auto open = tobi::checkout(work.above, method.coefficients(), tobi::mode::read);
      std::copy(open.begin(), open.end(), local.begin());
      above.local = local.data();
    }
    traversal lists(method);
    lists.take(work.candidates);
    if (work.parent.bodies <= method.task_bodies) {
      lists.finish(targets, above);
      return lists.computed();
    }
    local_family own;
    lists.meet(targets, above, own);
    here = lists.computed();
    left = lists.left();
    locals = {tobi::allocate_global<coefficient>(targets.count * method.coefficients()),
              targets.count * method.coefficients()};
    for (std::uint32_t i = 0; i < targets.count; ++i) {
      const auto open =
          tobi::checkout(locals.subspan(i * method.coefficients(), method.coefficients()), tobi::mode::write);
      std::copy_n(own[i].begin(), open.size(), open.begin());
    }
  }
  const interactions below = make_fields_below(method, work, locals.data(), left);
  tobi::free_global(locals.data(), locals.size());
  tobi::free_global(left.data(), left.size());
  return here + below;
}

}  // namespace

// The root is the only child of a cell that is not in the tree.
interactions make_fields(const fmm_method& method, const octree& tree) {
  const octree_cell root = tobi::load(tree.cells.data());
  octree_cell parent = root;
  parent.children = tree.cells.data();
  parent.child_count = 1;
  const tobi::global_ptr<candidate> all = tobi::allocate_global<candidate>(1);
  tobi::store(all, candidate{root, 1});
  const interactions computed = make_fields_of(method, {parent.children, parent, nullptr, 1, {all, 1}});
  tobi::free_global(all, 1);
  return computed;
}

}  // namespace tobi_bench::TOBI_BENCH_VARIANT
