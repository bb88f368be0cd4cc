// SPDX-License-Identifier: Apache-2.0
// Settings of processes that a launcher has started with environments of their own.
#include "libcore/base/agreement.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/no_settings.hpp"
#include "transports/verbs/settings.hpp"

namespace {

namespace base = tobi::base;

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// As said_settings() gives it.
std::string said(std::initializer_list<const char*> entries) {
  std::string text;
  for (const char* e : entries) text.append(e).push_back('\0');
  text.push_back('\0');
  return text;
}
std::string compared(const std::string& first, const std::string& theirs) {
  return base::contradiction(first, theirs, "rank 0 on a", "rank 1 on b");
}

class environment : public testing::Test {
 protected:
  void SetUp() override { unset_settings(); }
};

TEST(agreement, equal_ranks_agree) {
  const std::string both = said({"TOBI_STACK_SIZE=64M", "TOBI_STATS=1"});
  EXPECT_EQ(compared(both, both), "");
  EXPECT_EQ(compared(said({}), said({})), "");
}

TEST(agreement, a_rank_that_says_nothing_takes_what_it_is_given) {
  EXPECT_EQ(compared(said({"TOBI_STACK_SIZE=32M"}), said({})), "");
}

TEST(agreement, a_rank_that_says_otherwise_is_named_with_both_values) {
  const std::string what = compared(said({"TOBI_STACK_SIZE=64M"}), said({"TOBI_STACK_SIZE=32M"}));
  EXPECT_TRUE(has(what, "TOBI_STACK_SIZE is 32M on rank 1 on b, and on rank 0 on a it is 64M;")) << what;
  EXPECT_TRUE(has(what, "set it for rank 0 alone")) << what;
}

TEST(agreement, the_default_of_rank_0_is_its_value) {
  const std::string what = compared(said({}), said({"TOBI_STATS=1"}));
  EXPECT_TRUE(has(what, "TOBI_STATS is 1 on rank 1 on b, and on rank 0 on a it is 0, the default")) << what;
  EXPECT_EQ(compared(said({}), said({"TOBI_STATS=0"})), "");
}

TEST(agreement, values_are_compared_as_they_are_understood) {
  EXPECT_EQ(compared(said({"TOBI_HEAP_SIZE=64M"}), said({"TOBI_HEAP_SIZE=65536K"})), "");
  EXPECT_EQ(compared(said({"TOBI_STATS=on"}), said({"TOBI_STATS=true"})), "");
}

TEST(agreement, what_machines_may_differ_in_is_not_compared) {
  EXPECT_EQ(compared(said({"TOBI_VERBS_DEVICE=mlx5_0"}), said({"TOBI_VERBS_DEVICE=mlx5_1"})), "");
  EXPECT_EQ(compared(said({"TOBI_PIN=none"}), said({"TOBI_PIN=auto"})), "");
}

TEST(agreement, text_that_is_cut_off_is_no_trouble) {
  EXPECT_EQ(compared("", "TOBI_STATS=0"), "");
  EXPECT_EQ(compared("TOBI_STATS", "TOBI_STATS=0"), "");
}

TEST_F(environment, is_said_but_for_what_is_each_process_s_own) {
  setenv("TOBI_STATS", "1", 1);
  setenv("TOBI_LOG", "info", 1);
  setenv("TOBI_VERBS_PORT", "2", 1);
  EXPECT_EQ(base::said_settings(), said({"TOBI_STATS=1", "TOBI_VERBS_PORT=2"}));
}

TEST_F(environment, gives_way_to_rank_0_where_it_says_nothing) {
  setenv("TOBI_VERBS_PORT", "2", 1);
  base::settings mine = base::read_settings();
  EXPECT_EQ(base::take_settings(said({"TOBI_STACK_SIZE=8M", "TOBI_VERBS_PORT=1", "TOBI_VICTIMS=uniform"}), mine), "");
  EXPECT_EQ(mine.stack_bytes, 8u << 20);
  EXPECT_TRUE(mine.stack_given);
  EXPECT_FALSE(mine.heap_given);
  EXPECT_EQ(mine.of<tobi::transports::verbs::settings>().port, 2) << "offered, and said here";
  EXPECT_EQ(mine.victims, base::victim_policy::uniform);
  EXPECT_EQ(base::take_settings(said({"TOBI_STACK_SIZE=pigeon"}), mine),
            "rank 0 has said TOBI_STACK_SIZE=pigeon, which this rank does not understand");
}

}  // namespace
