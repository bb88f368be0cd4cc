// Unbalanced tree search: visits every node of a tree whose shape nobody knows before. A task for each node but the
// last of its siblings; the children of a node are split in halves, so that a thief gets half of what is left.
#include <tobi/task.hpp>

#include "tools/bench/apps/tree.hpp"
#include "tools/bench/apps/variant.hpp"

namespace tobi_bench::TOBI_BENCH_VARIANT {

namespace {

// Set before the run, in every process alike, and only read by tasks.
tree shape;

tree_count sum(tree_count a, tree_count b) noexcept {
  const std::uint64_t depth = a.depth() > b.depth() ? a.depth() : b.depth();
  return {a.nodes + b.nodes, (a.leaves() + b.leaves()) << 16 | depth};
}

tree_count visit(const tree_node& n);

tree_count visit_children(const tree_node& parent, std::uint32_t first, std::uint32_t last) {
  if (last - first == 1) return visit(tree_child(shape, parent, first));
  const std::uint32_t middle = first + (last - first) / 2;
  auto left = tobi::spawn([=] { return visit_children(parent, first, middle); });
  const tree_count right = visit_children(parent, middle, last);
  return sum(left.join(), right);
}

tree_count visit(const tree_node& n) {
  const auto children = static_cast<std::uint32_t>(tree_children(shape, n));
  const auto depth = static_cast<std::uint64_t>(n.height);
  if (children == 0) return {1, std::uint64_t{1} << 16 | depth};
  if (progress_word != nullptr) *progress_word += children;
  tree_count below = visit_children(n, 0, children);
  ++below.nodes;
  return below;
}

}  // namespace

void uts_prepare(const tree& t) { shape = t; }

tree_count uts() { return visit(tree_root(shape)); }

}  // namespace tobi_bench::TOBI_BENCH_VARIANT
