// SPDX-License-Identifier: Apache-2.0
// UTS-Mem (SC'23, section 6.3): the tree of uts in global memory. It is built by tasks, each node by the worker that
// runs the task, in that worker's memory; then traversed by chasing addresses; then freed, by the worker that comes by.
// A node is its number of children and their addresses: all that a traversal knows of it.
//
// Siblings are built from the last to the first, and visited from the first to the last. In the same order a few
// workers would share the traversal as they shared the building, each would find what it had built itself in its own
// memory, and a run of two nodes would measure no access to the other one. On many workers the order does not matter.
#include <algorithm>
#include <array>
#include <tobi/checkout.hpp>
#include <tobi/global_memory.hpp>
#include <tobi/parallel.hpp>

#include "tools/bench/apps/memory_program.hpp"
#include "tools/bench/apps/variant.hpp"

namespace tobi_bench::TOBI_BENCH_VARIANT {

namespace {

using word = std::uint64_t;
using node = tobi::global_ptr<word>;  // word 0: how many children; then their addresses

// Set before the run, in every process alike. Where the root is changes with each build, so it is in global memory.
tree shape;
node the_root;

// So many siblings are a task each; of more, the halves are.
constexpr std::uint32_t one_by_one = 16;

word address(node n) { return reinterpret_cast<word>(n.raw()); }
node node_at(word w) { return node(reinterpret_cast<word*>(w)); }

node build(const tree_node& n);

void build_children(const tree_node& parent, node into, std::uint32_t first, std::uint32_t last) {
  if (last - first > one_by_one) {
    const std::uint32_t middle = first + (last - first) / 2;
    auto right = tobi::spawn([=] { build_children(parent, into, middle, last); });
    build_children(parent, into, first, middle);
    right.join();
    return;
  }
  const std::uint32_t index = last - 1;
  const tree_node child = tree_child(shape, parent, index);
  const auto build_this = [=] { tobi::store(into + 1 + index, address(build(child))); };
  if (last - first == 1) {
    build_this();
    return;
  }
  auto here = tobi::spawn(build_this);
  build_children(parent, into, first, index);
  here.join();
}

node build(const tree_node& n) {
  const auto children = static_cast<std::uint32_t>(tree_children(shape, n));
  const node made = tobi::allocate_global<word>(1 + children);
  tobi::store(made, word{children});
  if (children != 0) build_children(n, made, 0, children);
  return made;
}

tree_count visit(node n, std::uint64_t height);

tree_count visit_each(const word* children, std::uint32_t count, std::uint64_t height) {
  const word first = children[0];
  if (count == 1) return visit(node_at(first), height);
  auto here = tobi::spawn([=] { return visit(node_at(first), height); });
  const tree_count others = visit_each(children + 1, count - 1, height);
  return tree_count::sum(here.join(), others);
}

tree_count visit_children(node parent, std::uint32_t first, std::uint32_t last, std::uint64_t height) {
  if (last - first > one_by_one) {
    const std::uint32_t middle = first + (last - first) / 2;
    auto left = tobi::spawn([=] { return visit_children(parent, first, middle, height); });
    const tree_count right = visit_children(parent, middle, last, height);
    return tree_count::sum(left.join(), right);
  }
  std::array<word, one_by_one> children;
  {
    auto open = tobi::checkout(parent + 1 + first, last - first, tobi::mode::read);
    std::copy(open.begin(), open.end(), children.begin());
  }
  return visit_each(children.data(), last - first, height);
}

tree_count visit(node n, std::uint64_t height) {
  const auto children = static_cast<std::uint32_t>(tobi::load(n));
  if (children == 0) return tree_count::leaf(height);
  if (progress_word != nullptr) *progress_word += children;
  tree_count below = visit_children(n, 0, children, height + 1);
  ++below.nodes;
  return below;
}

void take_down(node n) {
  const auto children = static_cast<std::uint32_t>(tobi::load(n));
  tobi::parallel_for(std::uint32_t{0}, children, 1,
                     [=](std::uint32_t i) { take_down(node_at(tobi::load(n + 1 + i))); });
  tobi::free_global(n, 1 + children);
}

const memory_phase phases[] = {
    {"build", false,
     [] {
       tobi::store(the_root, address(build(tree_root(shape))));
       return phase_result{};
     }},
    {"traverse", true,
     [] {
       const tree_count found = visit(node_at(tobi::load(the_root)), 0);
       return phase_result{found.nodes, found.leaves_and_depth};
     }},
    {"free", false,
     [] {
       take_down(node_at(tobi::load(the_root)));
       return phase_result{};
     }},
};

}  // namespace

void uts_mem_prepare(const tree& asked) {
  shape = asked;
  the_root = tobi::allocate_all<word>(1).data();
}

const memory_program uts_mem_program{phases, nullptr};

}  // namespace tobi_bench::TOBI_BENCH_VARIANT
