// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/fmm/mpi/traversal.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <thread>
#include <vector>

#include "tools/bench/fmm/morton.hpp"

namespace tobi_bench::fmm_mpi {

namespace {

using laplace::coefficient;
using laplace::vec3;

vec3 difference(const vec3& a, const vec3& b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }

struct candidate {
  const cell* source;
  const source_tree* of;
};
/// Bodies in a row.
struct near_bodies {
  const laplace::body* first;
  const laplace::body* end;
};
/// A cell whose bodies are targets. It may be part of a leaf.
struct target {
  vec3 center;
  double radius;
  std::uint32_t first, bodies;
  std::uint8_t level;
  bool is_leaf;
};

/// What all tasks of a pass share.
struct shared {
  const method& how;
  pass which;
  tree& targets;
  particles& all;
  const std::function<void()>& meanwhile;
  std::thread::id caller;
  interactions sum;
};

constexpr std::uint32_t task_bodies = 1000;  // n_spawn of SC'23

/// The lists of one task.
class traversal {
 public:
  explicit traversal(shared& with) : with_(with), each_(laplace::coefficients(with.how.order)) {}
  ~traversal() {
#pragma omp atomic
    with_.sum.cells += done_.cells;
#pragma omp atomic
    with_.sum.bodies += done_.bodies;
  }
  traversal(const traversal&) = delete;
  traversal& operator=(const traversal&) = delete;

  void take(std::span<const candidate> list) { candidates_.assign(list.begin(), list.end()); }

  /// The fields of the bodies of a cell. Its candidates are those from FIRST to LAST, and those of its children come
  /// behind all that are there. WORK is what each body's share in the cells above was.
  void descend(std::uint32_t number, std::size_t first, std::size_t last, const cell* parent, double work);

 private:
  void decide(const target& at, const candidate& c);
  void add_far_cells(const target& at, coefficient* local, double& work);
  void finish_leaf(const target& at, std::size_t rest, const coefficient* local, double work);
  void divide(const target& leaf, std::size_t first, double work);
  void evaluate(const target& part, std::size_t first, double work);
  void descend_by_tasks(const cell& c, std::size_t rest, double work);

  shared& with_;
  const std::size_t each_;
  std::vector<candidate> candidates_, far_;
  std::vector<near_bodies> near_;
  interactions done_;
};

void traversal::decide(const target& at, const candidate& c) {
  const cell& source = *c.source;
  const vec3 d = difference(at.center, source.center);
  const double radii = at.radius + source.radius, theta = with_.how.theta;
  const bool is_body = at.radius == 0.0;  // the sender of a cut cell has counted with it
  if ((d.x * d.x + d.y * d.y + d.z * d.z) * (theta * theta) > radii * radii || (is_body && source.is_cut())) {
    far_.push_back(c);
  } else if (source.is_cut()) {
    candidates_.push_back(c);  // a part of this cell will be far enough
  } else if (source.is_leaf() && at.is_leaf) {
    const laplace::body *first = c.of->bodies + source.first, *end = first + source.bodies;
    if (!near_.empty() && near_.back().end == first) {
      near_.back().end = end;
    } else {
      near_.push_back({first, end});
    }
  } else if (at.is_leaf || (!source.is_leaf() && source.radius > at.radius)) {
    for (unsigned i = 0; i < source.child_count; ++i) decide(at, {&c.of->cells[source.children + i], c.of});
  } else {
    candidates_.push_back(c);
  }
}

void traversal::add_far_cells(const target& at, coefficient* local, double& work) {
  for (const candidate& c : far_) {
    const std::size_t number = static_cast<std::size_t>(c.source - c.of->cells.data());
    laplace::m2l(with_.how.order, local, c.of->multipoles + number * each_, difference(at.center, c.source->center));
  }
  done_.cells += far_.size();
  work += pairs_of_m2l(with_.how.order) * static_cast<double>(far_.size()) / at.bodies;
  far_.clear();
}

void traversal::descend(std::uint32_t number, std::size_t first, std::size_t last, const cell* parent, double work) {
  const cell& c = with_.targets.cells()[number];
  const target at{c.center, c.radius, c.first, c.bodies, c.level, c.is_leaf()};
  coefficient* const local = with_.targets.locals().data() + number * each_;
  const std::size_t rest = candidates_.size();
  near_.clear();
  for (std::size_t i = first; i < last; ++i) decide(at, candidate(candidates_[i]));
  if (with_.which == pass::last && parent != nullptr) {
    const auto above = static_cast<std::size_t>(parent - with_.targets.cells().data());
    laplace::l2l(with_.how.order, local, with_.targets.locals().data() + above * each_,
                 difference(c.center, parent->center));
  }
  add_far_cells(at, local, work);
  if (c.is_leaf()) {
    finish_leaf(at, rest, local, work);
  } else if (with_.how.threads > 1 && c.bodies > task_bodies) {
    descend_by_tasks(c, rest, work);
  } else {
    const std::size_t end = candidates_.size();
    for (std::uint32_t i = 0; i < c.child_count; ++i) descend(c.children + i, rest, end, &c, work);
  }
  candidates_.resize(rest);
}

void traversal::descend_by_tasks(const cell& c, std::size_t rest, double work) {
  const std::span<const candidate> list(candidates_.data() + rest, candidates_.size() - rest);
  for (std::uint32_t i = 0; i < c.child_count; ++i) {
#pragma omp task default(shared) firstprivate(i)
    {
      traversal child(with_);
      child.take(list);
      child.descend(c.children + i, 0, list.size(), &c, work);
    }
  }
#pragma omp taskwait
}

// A leaf of a tree is larger than what the sender of a cut cell counted with, or lies at the border of the process. Its
// octants with bodies, and theirs, are then targets of their own. For a body alone every cut cell is far enough.
void traversal::divide(const target& leaf, std::size_t first, double work) {
  const auto& keys = with_.targets.keys();
  for (std::uint32_t from = leaf.first, to; from < leaf.first + leaf.bodies; from = to) {
    to = from + 1;
    target part{with_.all.bodies[from].at, 0.0, from, 1, octree_levels, true};
    if (leaf.bodies > 1 && leaf.level < octree_levels) {
      const unsigned octant = octant_of(keys[from], leaf.level);
      while (to < leaf.first + leaf.bodies && octant_of(keys[to], leaf.level) == octant) ++to;
      part = {center_of(octant, leaf.center, leaf.radius / 2),
              leaf.radius / 2,
              from,
              to - from,
              static_cast<std::uint8_t>(leaf.level + 1),
              true};
    }
    evaluate(part, first, work);
  }
}

void traversal::evaluate(const target& part, std::size_t first, double work) {
  const std::size_t rest = candidates_.size();
  for (std::size_t i = first; i < rest; ++i) decide(part, candidate(candidates_[i]));
  std::array<coefficient, laplace::coefficients(laplace::max_order)> local{};
  add_far_cells(part, local.data(), work);
  laplace::l2p(with_.how.order, local.data(), part.center, {with_.all.bodies.data() + part.first, part.bodies},
               {with_.all.fields.data() + part.first, part.bodies});
  for (std::uint32_t i = part.first; i < part.first + part.bodies; ++i) with_.all.work[i] += work;
  if (candidates_.size() > rest) divide(part, rest, 0.0);
  candidates_.resize(rest);
}

void traversal::finish_leaf(const target& at, std::size_t rest, const coefficient* local, double work) {
  constexpr std::uint32_t most = laplace::near_field::capacity;
  for (std::uint32_t done = 0; done < at.bodies; done += most) {
    const std::uint32_t first = at.first + done, count = std::min(most, at.bodies - done);
    const std::span<const laplace::body> bodies(with_.all.bodies.data() + first, count);
    const std::span<laplace::field> fields(with_.all.fields.data() + first, count);
    if (!near_.empty()) {
      laplace::near_field near;
      near.begin(bodies);
      for (const near_bodies& row : near_) near.add({row.first, row.end});
      near.end(fields);
    }
    if (with_.which == pass::last) laplace::l2p(with_.how.order, local, at.center, bodies, fields);
  }
  std::uint64_t pairs = 0;
  for (const near_bodies& row : near_) pairs += static_cast<std::uint64_t>(row.end - row.first);
  for (std::uint32_t i = at.first; i < at.first + at.bodies; ++i)
    with_.all.work[i] += work + static_cast<double>(pairs);
  done_.bodies += pairs * at.bodies;
  if (candidates_.size() > rest) divide(at, rest, 0.0);
  if (std::this_thread::get_id() == with_.caller) with_.meanwhile();
}

}  // namespace

double pairs_of_m2l(unsigned order) { return 83.0 * std::pow(order / 4.0, 2.75); }

interactions interact(const method& how, pass which, tree& targets, particles& all,
                      std::span<const source_tree> sources, const std::function<void()>& meanwhile) {
  if (targets.cells().empty()) return {};
  shared with{how, which, targets, all, meanwhile, std::this_thread::get_id(), {}};
  std::vector<candidate> roots;
  for (const source_tree& s : sources) {
    if (!s.cells.empty()) roots.push_back({s.cells.data(), &s});
  }
#pragma omp parallel num_threads(how.threads) if (how.threads > 1)
#pragma omp single
  {
    traversal whole(with);
    whole.take(roots);
    whole.descend(0, 0, roots.size(), nullptr, 0.0);
  }
  return with.sum;
}

}  // namespace tobi_bench::fmm_mpi
