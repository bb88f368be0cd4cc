// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/trees.hpp"

#include <algorithm>

namespace tobi_bench {

namespace {

constexpr tree geometric(tree_shape shape, std::int32_t d, double b, std::int32_t r) {
  tree t;
  t.type = tree_type::geometric;
  t.shape = shape;
  t.gen_max = d;
  t.b0 = b;
  t.root_seed = r;
  return t;
}

constexpr tree binomial(double b, double q, std::int32_t m, std::int32_t r) {
  tree t;
  t.type = tree_type::binomial;
  t.b0 = b;
  t.non_leaf_prob = q;
  t.non_leaf_children = m;
  t.root_seed = r;
  return t;
}

constexpr tree hybrid(tree_shape shape, std::int32_t d, double b, double q, std::int32_t m, std::int32_t r) {
  tree t = binomial(b, q, m, r);
  t.type = tree_type::hybrid;
  t.shape = shape;
  t.gen_max = d;
  return t;
}

// The parameter sets that the benchmark's authors publish, with nodes, depth and leaves.
constexpr named_tree trees[] = {
    {"T1", geometric(tree_shape::fixed, 10, 4, 19), 4130071, 10, 3305118},
    {"T2", geometric(tree_shape::cyclic, 16, 6, 502), 4117769, 81, 2342762},
    {"T3", binomial(2000, 0.124875, 8, 42), 4112897, 1572, 3599034},
    {"T4", hybrid(tree_shape::linear, 16, 6, 0.234375, 4, 1), 4132453, 134, 3108986},
    {"T5", geometric(tree_shape::linear, 20, 4, 34), 4147582, 20, 2181318},
    {"T1L", geometric(tree_shape::fixed, 13, 4, 29), 102181082, 13, 81746377},
    {"T2L", geometric(tree_shape::cyclic, 23, 7, 220), 96793510, 67, 53791152},
    {"T3L", binomial(2000, 0.200014, 5, 7), 111345631, 17844, 89076904},
    {"T1XL", geometric(tree_shape::fixed, 15, 4, 29), 1635119272, 15, 1308100063},
    {"T1XXL", geometric(tree_shape::fixed, 15, 4, 19), 4230646601, 15, 0},
    {"T1WL", geometric(tree_shape::fixed, 18, 4, 19), 270751679750, 18, 216601257283},
};

}  // namespace

std::span<const named_tree> named_trees() { return trees; }

const named_tree* find_tree(std::string_view name) {
  const auto* found = std::ranges::find(trees, name, &named_tree::name);
  return found == std::end(trees) ? nullptr : found;
}

}  // namespace tobi_bench
