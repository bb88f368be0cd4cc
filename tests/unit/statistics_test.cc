// SPDX-License-Identifier: Apache-2.0
// The tables of what is counted: no number is in two rows, and each adds up as its comment says.
#include "libcore/base/statistics.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string_view>

namespace {

using namespace tobi::base;

// Each number of its own: 1, 2, 3, ...
tobi::statistics numbered() {
  tobi::statistics s;
  std::uint64_t n = 0;
  for (const counter& c : counters) c.of(s) = ++n;
  for (std::uint64_t& phase : s.steal_cycles) phase = ++n;
  for (std::uint64_t& phase : s.global.time_ns) phase = ++n;
  return s;
}

TEST(statistics, each_number_has_one_row) {
  tobi::statistics s = numbered();
  std::uint64_t n = 0;
  for (const counter& c : counters) EXPECT_EQ(c.of(s), ++n) << "two rows have the same number";
}

TEST(statistics, of_workers_are_those_of_the_job) {
  tobi::statistics sum = numbered();
  add(sum, numbered());
  const tobi::statistics one = numbered();
  EXPECT_EQ(sum.forks, 2 * one.forks);
  EXPECT_EQ(sum.run_ns, one.run_ns) << "the largest";
  EXPECT_EQ(sum.peak_stack_bytes, one.peak_stack_bytes) << "the largest";
  EXPECT_EQ(sum.suspend_cycles, 2 * one.suspend_cycles);
  EXPECT_EQ(sum.global.remaps, 2 * one.global.remaps);
  EXPECT_EQ(sum.steal_cycles.back(), 2 * one.steal_cycles.back());
  EXPECT_EQ(sum.global.time_ns.back(), 2 * one.global.time_ns.back());
}

template <class Of, std::size_t N>
void expect_sound(const figure<Of> (&table)[N]) {
  std::set<std::string_view> names;
  for (const figure<Of>& f : table) {
    EXPECT_TRUE(names.insert(f.name).second) << f.name;
    EXPECT_NE(f.count == nullptr, f.real == nullptr) << f.name << " is a count or else real";
  }
}

TEST(statistics, each_figure_has_a_name_and_one_value) {
  expect_sound(figures);
  expect_sound(global_figures);
}

}  // namespace
