// SPDX-License-Identifier: Apache-2.0
// Unbalanced tree search: visits every node of a tree whose shape nobody knows before. A task for each node but the
// last of its siblings; many siblings are split in halves first, so that a thief gets half of what is left.
#include <tobi/task.hpp>

#include "tools/bench/apps/tree.hpp"
#include "tools/bench/apps/variant.hpp"

namespace tobi_bench::TOBI_BENCH_VARIANT {

namespace {

// Set before the run, in every process alike, and only read by tasks.
tree shape;

// A node as three words, as it travels to the child's task: packed in registers, it is never stored in pieces and
// loaded as a whole. Only closures hold it: packing on every call made the serial elision a twentieth slower, which
// would flatter whatever is compared with it.
struct packed_node {
  std::uint64_t a, b, c;
  explicit packed_node(const tree_node& n) noexcept
      : a(n.state[0] | std::uint64_t{n.state[1]} << 32),
        b(n.state[2] | std::uint64_t{n.state[3]} << 32),
        c(n.state[4] | static_cast<std::uint64_t>(n.height) << 32) {}
  [[nodiscard]] tree_node unpack() const noexcept {
    const auto low = [](std::uint64_t w) { return static_cast<std::uint32_t>(w); };
    return {{low(a), low(a >> 32), low(b), low(b >> 32), low(c)}, static_cast<std::int32_t>(c >> 32)};
  }
};

constexpr std::uint32_t one_by_one = 16;

tree_count visit(const tree_node& n);

tree_count visit_children(const tree_node& parent, std::uint32_t first, std::uint32_t last) {
  if (last - first > one_by_one) {
    const std::uint32_t middle = first + (last - first) / 2;
    auto left = tobi::spawn([=] { return visit_children(parent, first, middle); });
    const tree_count right = visit_children(parent, middle, last);
    return tree_count::sum(left.join(), right);
  }
  const tree_node node = tree_child(shape, parent, first);
  if (last - first == 1) return visit(node);
  const packed_node child(node);
  auto here = tobi::spawn([=] { return visit(child.unpack()); });
  const tree_count others = visit_children(parent, first + 1, last);
  return tree_count::sum(here.join(), others);
}

tree_count visit(const tree_node& n) {
  const auto children = static_cast<std::uint32_t>(tree_children(shape, n));
  if (children == 0) return tree_count::leaf(static_cast<std::uint64_t>(n.height));
  if (progress_word != nullptr) *progress_word += children;
  tree_count below = visit_children(n, 0, children);
  ++below.nodes;
  return below;
}

}  // namespace

void uts_prepare(const tree& t) { shape = t; }

tree_count uts() { return visit(tree_root(shape)); }

}  // namespace tobi_bench::TOBI_BENCH_VARIANT
