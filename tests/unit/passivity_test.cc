// SPDX-License-Identifier: Apache-2.0
// What a transport claims of its progress from what was measured, and with whom it is measured.
#include <gtest/gtest.h>

#include <vector>

#include "transports/ofi/passive.hpp"
#include "transports/pairing.hpp"

namespace {

using tobi::transports::pair_up;
using tobi::transports::pairing;
using tobi::transports::ofi::claims_of;
using tobi::transports::ofi::progress_claims;
using tobi::transports::ofi::progress_facts;
using tobi::transports::ofi::progress_mode;

struct claimed {
  bool rma, amo, needs_progress;
  bool operator==(const claimed&) const = default;
};
claimed claims(const progress_facts& f) {
  const progress_claims c = claims_of(f);
  return {c.passive_rma, c.passive_amo, c.needs_progress};
}
progress_facts measured(bool rma, bool amo, bool moves) {
  return {.atomics = true, .measured = true, .rma_passive = rma, .amo_passive = amo, .moves = moves};
}

TEST(progress, manual_progress_with_rma_in_hardware_is_one_sided) {
  progress_facts f = measured(true, true, true);
  f.says_automatic = false;
  EXPECT_EQ(claims(f), (claimed{true, true, false}));
}

TEST(progress, a_provider_that_promises_to_move_and_does_not_is_found_out) {
  progress_facts f = measured(false, false, false);
  f.says_automatic = true;
  EXPECT_EQ(claims(f), (claimed{false, false, true})) << "what was posted may wait for its initiator, too";
  f.thread = true;
  EXPECT_EQ(claims(f), (claimed{false, false, false})) << "nor does a thread make it true by itself";
}

TEST(progress, atomics_are_claimed_apart_and_only_where_there_are_some) {
  EXPECT_EQ(claims(measured(true, false, true)), (claimed{true, false, false}));
  progress_facts without = measured(true, true, true);
  without.atomics = false;
  EXPECT_EQ(claims(without), (claimed{true, false, false}));
  EXPECT_EQ(claims(measured(false, true, true)), (claimed{false, false, true})) << "atomics rest on the rest";
}

TEST(progress, an_initiator_that_must_go_on_says_so) {
  EXPECT_EQ(claims(measured(true, true, false)), (claimed{true, true, true}));
}

TEST(progress, without_a_measurement_the_provider_is_believed) {
  progress_facts f{.says_automatic = true, .atomics = true};
  EXPECT_EQ(claims(f), (claimed{true, true, false}));
  f.atomics = false;
  EXPECT_EQ(claims(f), (claimed{true, false, false}));
  f.says_automatic = false;
  EXPECT_EQ(claims(f), (claimed{false, false, true}));
  f.thread = true;
  EXPECT_EQ(claims(f), (claimed{true, false, false}));
}

TEST(progress, manual_claims_nothing_whatever_is_known) {
  progress_facts f = measured(true, true, true);
  f.wanted = progress_mode::manual;
  f.says_automatic = true;
  EXPECT_EQ(claims(f), (claimed{false, false, true}));
}

TEST(progress, words_tell_what_was_measured_from_what_is_believed) {
  for (int bits = 0; bits < 8; ++bits) {
    EXPECT_NE(claims_of(measured(bits & 1, bits & 2, bits & 4)).words.find("as measured"), std::string_view::npos);
  }
  for (const bool automatic : {false, true}) {
    EXPECT_EQ(claims_of({.says_automatic = automatic}).words.find("says that it moves"), 0u);
  }
}

// Nobody works on the memory of a rank that is awake.
void expect_good(const tobi::base::per_rank<int>& nodes, int ranks) {
  for (int r = 0; r < ranks; ++r) {
    const pairing mine = pair_up(r, ranks, nodes);
    ASSERT_GE(mine.partner, 0);
    ASSERT_LT(mine.partner, ranks);
    EXPECT_NE(mine.partner, r);
    EXPECT_NE(pair_up(mine.partner, ranks, nodes).sleeps_first, mine.sleeps_first) << r << " of " << ranks;
  }
}

TEST(pairing, one_of_each_two_sleeps_on_one_node) {
  for (int ranks = 2; ranks < 12; ++ranks) {
    expect_good({}, ranks);
    expect_good(tobi::base::per_rank<int>(ranks, 0), ranks);
  }
}

TEST(pairing, partners_are_on_different_nodes_where_there_are_two) {
  const std::vector<tobi::base::per_rank<int>> jobs{
      {0, 1},          {0, 0, 1, 1},    {0, 0, 0, 1},       {0, 1, 1, 1},
      {0, 0, 1, 1, 2}, {0, 1, 0, 1, 0}, {0, 0, 1, 2, 2, 2}, {0, 1, 2, 3, 4, 5, 6}};
  for (const auto& nodes : jobs) {
    const int ranks = static_cast<int>(nodes.size());
    expect_good(nodes, ranks);
    for (int r = 0; r < ranks; ++r) {
      EXPECT_NE(nodes[pair_up(r, ranks, nodes).partner], nodes[r]) << r << " of " << ranks;
    }
  }
}

TEST(pairing, ranks_that_do_not_take_part_are_nobodys_partner) {
  const tobi::base::per_rank<int> doubled{0, 0, 1, 1, 0, 0, 1, 1};  // workers, then their threads
  expect_good(doubled, 4);
}

}  // namespace
