// SPDX-License-Identifier: Apache-2.0
// lane: beside, 11 s
// The trees of the UTS benchmark. The small trees' counts come from a separate program in another language, written
// from the benchmark's description over a library's SHA-1; the large ones are those that its authors publish.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <ostream>
#include <vector>

#include "tools/bench/answers.hpp"
#include "tools/bench/apps/sha1.hpp"
#include "tools/bench/apps/tree.hpp"
#include "tools/bench/apps/variant.hpp"
#include "tools/bench/trees.hpp"

namespace tobi_bench {

namespace {

struct counted {
  std::uint64_t nodes = 0;
  std::uint64_t leaves = 0;
  std::uint64_t depth = 0;
  bool operator==(const counted&) const = default;
};

std::ostream& operator<<(std::ostream& out, const counted& c) {
  return out << c.nodes << " nodes, " << c.leaves << " leaves, depth " << c.depth;
}

// Without recursion, so that it has nothing in common with the traversal of tobi-bench but the tree.
counted search(const tree& t) {
  counted found;
  std::vector<tree_node> open{tree_root(t)};
  while (!open.empty()) {
    const tree_node n = open.back();
    open.pop_back();
    ++found.nodes;
    found.depth = std::max(found.depth, static_cast<std::uint64_t>(n.height));
    const auto children = static_cast<std::uint32_t>(tree_children(t, n));
    if (children == 0) ++found.leaves;
    for (std::uint32_t i = 0; i < children; ++i) open.push_back(tree_child(t, n, i));
  }
  return found;
}

}  // namespace

TEST(sha1, block_gives_the_digests_of_the_standard) {
  std::array<std::uint32_t, 16> abc{};
  abc[0] = 0x61626380;  // "abc" and the padding bit
  abc[15] = 24;
  EXPECT_EQ(sha1_block(abc), (sha1_digest{0xa9993e36, 0x4706816a, 0xba3e2571, 0x7850c26c, 0x9cd0d89d}));
}

TEST(sha1, words_are_padded_as_a_message_of_their_length) {
  EXPECT_EQ(sha1_words<0>({}), (sha1_digest{0xda39a3ee, 0x5e6b4b0d, 0x3255bfef, 0x95601890, 0xafd80709}));
  std::array<std::uint32_t, 6> abcd;
  abcd.fill(0x61626364);
  EXPECT_EQ(sha1_words(abcd), (sha1_digest{0xe8678945, 0xb41f8da4, 0xc3b0fd3d, 0xe9cf74ae, 0x884e4a1c}));
}

TEST(uts, root_is_the_digest_of_sixteen_zero_bytes_and_the_seed) {
  EXPECT_EQ(tree_root(tree{}).state, (sha1_digest{0x6768033e, 0x21646824, 0x7bd031a0, 0xa2d9876d, 0x79818f8f}));
}

TEST(uts, probability_uses_31_bits_of_the_last_word) {
  EXPECT_EQ(tree_probability({{0, 0, 0, 0, 0x80000000}, 0}), 0.0);
  EXPECT_EQ(tree_probability({{0, 0, 0, 0, 0xc0000000}, 0}), 0.5);
}

TEST(uts, binomial_tree) {
  tree t;
  t.type = tree_type::binomial;
  t.b0 = 200.5;
  t.non_leaf_prob = 0.2;
  t.root_seed = 3;
  EXPECT_EQ(search(t), (counted{933, 749, 11}));
}

TEST(uts, geometric_tree_of_each_shape) {
  tree t;
  t.gen_max = 8;
  t.root_seed = 1;
  EXPECT_EQ(search(t), (counted{1938, 1126, 8})) << "linear";
  t.shape = tree_shape::expdec;
  t.gen_max = 6;
  t.b0 = 3;
  t.root_seed = 0;
  EXPECT_EQ(search(t), (counted{2021, 1043, 21})) << "expdec";
  t.shape = tree_shape::cyclic;
  t.gen_max = 7;
  t.root_seed = 11;
  EXPECT_EQ(search(t), (counted{229, 128, 13})) << "cyclic";
  t.shape = tree_shape::fixed;
  t.gen_max = 6;
  t.b0 = 4;
  t.root_seed = 4;
  EXPECT_EQ(search(t), (counted{2788, 2276, 6})) << "fixed";
}

TEST(uts, no_geometric_node_has_more_than_100_children) {
  tree t;
  t.shape = tree_shape::fixed;
  t.gen_max = 3;
  t.b0 = 150;
  t.root_seed = 4;
  EXPECT_EQ(search(t), (counted{534565, 527302, 3}));
}

TEST(uts, hybrid_tree_is_geometric_down_to_the_shift_depth) {
  tree t;
  t.type = tree_type::hybrid;
  t.gen_max = 12;
  t.b0 = 5;
  t.root_seed = 6;
  EXPECT_EQ(search(t), (counted{13943, 10448, 70}));
  t.shape = tree_shape::fixed;
  t.gen_max = 10;
  t.b0 = 3;
  t.non_leaf_prob = 0.23;
  t.shift_depth = 0.3;
  t.root_seed = 0;
  EXPECT_EQ(search(t), (counted{1059, 799, 21}));
}

TEST(uts, only_a_binomial_tree_has_a_root_of_b_children) {
  tree t;
  t.type = tree_type::hybrid;
  t.shift_depth = 0;
  t.b0 = 7;
  t.non_leaf_prob = 0.4;
  t.non_leaf_children = 2;
  t.root_seed = 2;
  EXPECT_EQ(search(t), (counted{9, 5, 3}));
}

TEST(uts, balanced_tree_is_complete_and_has_no_limit_of_children) {
  tree t;
  t.type = tree_type::balanced;
  t.b0 = 3.7;
  t.gen_max = 7;
  EXPECT_EQ(search(t), (counted{3280, 2187, 7}));
  t.b0 = 120;
  t.gen_max = 2;
  EXPECT_EQ(search(t), (counted{14521, 14400, 2}));
}

TEST(uts, granularity_changes_the_work_and_not_the_tree) {
  tree t;
  t.gen_max = 8;
  t.root_seed = 1;
  t.granularity = 5;
  EXPECT_EQ(search(t), (counted{1938, 1126, 8}));
}

TEST(uts, named_trees_have_their_published_counts) {
  for (const char* name : {"T1", "T2", "T3", "T4", "T5"}) {
    const named_tree* t = find_tree(name);
    ASSERT_NE(t, nullptr) << name;
    EXPECT_EQ(search(t->shape), (counted{t->nodes, t->leaves, t->depth})) << name;
  }
}

TEST(uts, table_holds_the_large_trees_and_nothing_under_another_name) {
  EXPECT_EQ(named_trees().size(), 11u);
  EXPECT_EQ(find_tree("T1L")->nodes, 102181082u);
  EXPECT_EQ(find_tree("T2L")->nodes, 96793510u);
  EXPECT_EQ(find_tree("T3L")->nodes, 111345631u);
  EXPECT_EQ(find_tree("T3L")->depth, 17844u);
  EXPECT_EQ(find_tree("T1XL")->nodes, 1635119272u);
  EXPECT_EQ(find_tree("T1XXL")->nodes, 4230646601u);
  EXPECT_EQ(find_tree("T1WL")->nodes, 270751679750u);
  EXPECT_EQ(find_tree("T9"), nullptr);
  EXPECT_EQ(find_tree(""), nullptr);
}

TEST(uts, count_of_two_words_keeps_leaves_and_depth_apart) {
  const tree_count deep = tree_count::leaf((1u << tree_count::depth_bits) - 1);
  EXPECT_EQ(deep.leaves(), 1u);
  EXPECT_EQ(deep.depth(), (1u << tree_count::depth_bits) - 1);
  const tree_count many{270751679750, std::uint64_t{216601257283} << tree_count::depth_bits | 18};
  const tree_count both = tree_count::sum(many, tree_count::leaf(100'000));
  EXPECT_EQ(both.nodes, 270751679751u);
  EXPECT_EQ(both.leaves(), 216601257284u);
  EXPECT_EQ(both.depth(), 100'000u);
  EXPECT_EQ(tree_count::sum(tree_count::leaf(100'000), many).depth(), 100'000u);
}

TEST(verify, tells_a_wrong_count_of_nodes_leaves_or_depth) {
  arguments a;
  a.tree.name = "T1";
  const auto found = [&](std::uint64_t nodes, std::uint64_t leaves, std::uint64_t depth) {
    return known_answer(nullptr, a, nodes, {nodes, leaves << tree_count::depth_bits | depth});
  };
  EXPECT_EQ(found(4130071, 3305118, 10), true);
  EXPECT_EQ(found(4130070, 3305118, 10), false);
  EXPECT_EQ(found(4130071, 3305117, 10), false);
  EXPECT_EQ(found(4130071, 3305118, 11), false);
  a.tree.name.clear();
  EXPECT_EQ(found(4130071, 3305118, 10), std::nullopt);
}

TEST(verify, knows_the_answers_of_the_other_programs) {
  arguments a;
  a.fib.n = 40;
  EXPECT_EQ(known_answer(right_fib, a, 102334155, {}), true);
  EXPECT_EQ(known_answer(right_fib, a, 102334156, {}), false);
  EXPECT_EQ(fib_forks(0), 0);
  EXPECT_EQ(fib_forks(2), 1);
  EXPECT_EQ(fib_forks(10), 88);
  a.nqueens.n = 18;
  EXPECT_EQ(known_answer(right_nqueens, a, 666090624, {}), true);
  EXPECT_EQ(known_answer(right_nqueens, a, 666090623, {}), false);
  a.btc.depth = 3;
  a.btc.iter = 2;
  EXPECT_EQ(known_answer(right_btc, a, 85, {}), true);  // (4^4 - 1) / 3
  EXPECT_EQ(known_answer(right_btc, a, 84, {}), false);
}

}  // namespace tobi_bench
