// SPDX-License-Identifier: Apache-2.0
// The set of bytes of a block, against one that holds each byte by itself.
#include "libcore/pgas/interval_set.hpp"

#include <gtest/gtest.h>

#include <bitset>

#include "libcore/base/rng.hpp"

namespace {

using tobi::pgas::interval;
using tobi::pgas::interval_set;

constexpr std::uint32_t bytes = 96;

struct oracle {
  std::bitset<bytes> in;
  void set(interval i, bool value) {
    for (std::uint32_t b = i.begin; b < i.end; ++b) in[b] = value;
  }
  [[nodiscard]] bool contains(interval i) const {
    for (std::uint32_t b = i.begin; b < i.end; ++b) {
      if (!in[b]) return false;
    }
    return true;
  }
};

void expect_same(const interval_set& set, const oracle& o) {
  std::bitset<bytes> found;
  std::uint32_t last = 0;
  bool first = true;
  for (const interval& i : set) {
    EXPECT_LT(i.begin, i.end);
    EXPECT_TRUE(first || last < i.begin) << "intervals are sorted and do not touch";
    first = false;
    last = i.end;
    for (std::uint32_t b = i.begin; b < i.end; ++b) found[b] = true;
  }
  EXPECT_EQ(found, o.in);
}

TEST(interval_set, is_what_its_bytes_are) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    tobi::base::rng random(seed);
    interval_set set;
    oracle o;
    for (int step = 0; step < 60; ++step) {
      const auto begin = static_cast<std::uint32_t>(random.uniform(bytes));
      const interval i{begin, begin + static_cast<std::uint32_t>(random.uniform(bytes - begin + 1))};
      switch (random.uniform(4)) {
        case 0:
          set.remove(i);
          o.set(i, false);
          break;
        case 1: {
          EXPECT_EQ(set.contains(i), o.contains(i));
          oracle gaps;
          set.for_each_gap(i, [&](interval gap) {
            EXPECT_LT(gap.begin, gap.end);
            gaps.set(gap, true);
          });
          oracle missing;
          missing.set(i, true);
          missing.in &= ~o.in;
          EXPECT_EQ(gaps.in, missing.in);
          break;
        }
        default:
          set.add(i);
          o.set(i, true);
      }
      expect_same(set, o);
    }
  }
}

TEST(interval_set, neighbours_become_one) {
  interval_set set;
  set.add({0, 8});
  set.add({16, 24});
  EXPECT_EQ(set.size(), 2u);
  set.add({8, 16});
  EXPECT_EQ(set.size(), 1u);
  EXPECT_TRUE(set.contains({0, 24}));
  set.remove({4, 5});
  EXPECT_EQ(set.size(), 2u);
  EXPECT_FALSE(set.contains({0, 24}));
  EXPECT_TRUE(set.contains({5, 24}));
}

TEST(interval_set, an_empty_interval_is_always_in) {
  interval_set set;
  EXPECT_TRUE(set.contains({5, 5}));
  set.add({5, 5});
  EXPECT_TRUE(set.empty());
}

}  // namespace
