// SPDX-License-Identifier: Apache-2.0
// The balancers of task collections, as functions: what a core gives away, the greedy assignment compared with one task
// after the other, the tree, and both balancers on virtual cores, where each task is counted. Random inputs have seeds.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <vector>

#include "libcore/pool/balance_node.hpp"
#include "libcore/pool/balance_tree.hpp"
#include "libcore/pool/binned_times.hpp"
#include "libcore/pool/greedy.hpp"
#include "tools/bench/virtual_cores.hpp"

namespace {

using namespace tobi::pool;
using tobi_bench::balance_outcome;
using tobi_bench::balance_rules;
using tobi_bench::core_times;

double sum_of(const std::vector<bin_count>& counts, const time_bins& bins) {
  return std::accumulate(counts.begin(), counts.end(), 0.0, [&](double sum, const bin_count& b) {
    return sum + bins.ns_of(b.bin) * static_cast<double>(b.count);
  });
}

TEST(time_codes, are_in_the_order_of_times_and_near_them) {
  for (std::uint64_t ns = 1; ns < 100'000; ++ns) ASSERT_LE(code_of(ns - 1), code_of(ns)) << ns;
  std::mt19937_64 random(7);
  for (int i = 0; i < 100'000; ++i) {
    const std::uint64_t ns = std::max<std::uint64_t>(random() >> random() % 64, 1);
    ASSERT_LT(code_of(ns), no_time);
    for (const unsigned per_doubling : {1u, 4u, 16u, 256u}) {
      const time_bins bins(per_doubling);
      const double middle = bins.ns_of(bins.bin_of(code_of(ns)));
      const double off = std::abs(middle - static_cast<double>(ns));
      // Half a bin, which below 256 ns is as wide as there.
      ASSERT_LE(off, std::max(0.51 * std::max(static_cast<double>(ns), 256.0) / per_doubling, 1.0))
          << ns << " in " << per_doubling;
    }
  }
}

TEST(binned_times, have_an_entry_for_each_bin_that_has_tasks) {
  std::mt19937_64 random(3);
  const time_bins bins(16);
  binned_times all(bins);
  std::map<std::uint32_t, std::uint64_t> expected;
  for (int i = 0; i < 10'000; ++i) {
    const time_code code = code_of(random() % 10'000'000);
    ++expected[bins.bin_of(code)];
    all.add(code);
  }
  ASSERT_EQ(all.entries().size(), expected.size());
  EXPECT_LT(all.entries().size(), 24u * 16u);
  EXPECT_EQ(all.tasks(), 10'000u);
  auto e = expected.begin();
  for (const bin_count& b : all.entries()) {
    EXPECT_EQ(b.bin, e->first);
    EXPECT_EQ(b.count, e->second);
    ++e;
  }
  EXPECT_NEAR(all.load_ns(), sum_of(all.entries(), bins), 1);
}

TEST(a_core, gives_away_its_shortest_tasks_until_it_has_little_enough) {
  const time_bins bins(256);
  binned_times own(bins);
  for (std::uint64_t ns = 1; ns <= 10; ++ns) own.add(code_of(ns * 1000));
  const standing s = donate(own, 30'000, true);
  // 55 - (1 + ... + 6) is 34, and without the 7 it is 27.
  ASSERT_EQ(s.surplus.size(), 7u);
  ASSERT_EQ(s.loads.size(), 1u);
  EXPECT_NEAR(s.loads[0].load_ns, 27'000, 200);
  EXPECT_NEAR(s.loads[0].load_ns + sum_of(s.surplus, bins), own.load_ns(), 1);
  EXPECT_TRUE(donate(own, own.load_ns(), true).surplus.empty());
  EXPECT_TRUE(donate(binned_times(bins), 0, true).surplus.empty());
}
TEST(a_core, keeps_its_longest_task) {
  binned_times own(time_bins(16));
  own.add(code_of(1'000'000));
  EXPECT_TRUE(donate(own, 10, true).surplus.empty());
  own.add(code_of(5), 1'000'000);
  std::uint64_t given = 0;
  for (const bin_count& b : donate(own, 10, true).surplus) given += b.count;
  EXPECT_EQ(given, 1'000'000u);
  binned_times twins(time_bins(16));
  twins.add(code_of(1'000'000), 2);
  const standing s = donate(twins, 10, true);
  ASSERT_EQ(s.surplus.size(), 1u);
  EXPECT_EQ(s.surplus[0].count, 1u);
}
TEST(a_core, that_only_serves_others_gives_away_all) {
  binned_times own(time_bins(16));
  own.add(code_of(1'000'000), 3);
  const standing s = donate(own, 1e12, false);
  ASSERT_EQ(s.surplus.size(), 1u);
  EXPECT_EQ(s.surplus[0].count, 3u);
  EXPECT_TRUE(s.loads.empty());
}

// Of random tasks and children whose cores are one each, the highest load is that of one task after the other.
TEST(the_assignment, is_the_greedy_one) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937_64 random(seed);
    const time_bins bins(16);
    std::vector<standing> children(1 + random() % 9);
    std::vector<double> naive;
    for (standing& c : children) {
      naive.push_back(static_cast<double>(random() % 1'000'000));
      c.loads.push_back({naive.back(), 1});
    }
    binned_times pool(bins);
    for (std::uint64_t i = random() % 200; i != 0; --i) pool.add(code_of(1 + random() % 300'000));
    std::uint64_t steps = 0;
    const std::vector<portion> got = assign(pool.entries(), children, {}, bins, steps);
    for (auto b = pool.entries().rbegin(); b != pool.entries().rend(); ++b) {
      for (std::uint64_t i = 0; i < b->count; ++i) *std::min_element(naive.begin(), naive.end()) += bins.ns_of(b->bin);
    }
    std::uint64_t tasks = 0;
    for (const portion& p : got) tasks += p.count;
    EXPECT_EQ(tasks, pool.tasks()) << "seed " << seed;
    std::vector<double> loads;
    for (const standing& c : children) {
      for (const load_group& g : c.loads) loads.push_back(g.load_ns);
    }
    std::sort(loads.begin(), loads.end());
    std::sort(naive.begin(), naive.end());
    ASSERT_EQ(loads.size(), naive.size());
    for (std::size_t i = 0; i < loads.size(); ++i) EXPECT_NEAR(loads[i], naive[i], 1) << "seed " << seed;
  }
}
TEST(the_assignment, lifts_no_core_above_the_limit) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937_64 random(seed);
    const time_bins bins(16);
    std::vector<standing> children(3);
    std::uint64_t cores = 0;
    for (standing& c : children) {
      for (std::uint64_t g = random() % 5; g != 0; --g) {
        c.loads.push_back({static_cast<double>(random() % 2'000'000), 1 + random() % 50});
        cores += c.loads.back().cores;
      }
    }
    const std::vector<standing> before = children;
    binned_times pool(bins);
    for (std::uint64_t i = random() % 50; i != 0; --i) pool.add(code_of(random() % 3'000'000), 1 + random() % 1000);
    std::uint64_t steps = 0;
    const double limit = 1'000'000;
    const std::vector<portion> got = assign(pool.entries(), children, {4000, limit, 3e6}, bins, steps);
    double added = 0;
    for (const portion& p : got) added += bins.ns_of(p.bin) * static_cast<double>(p.count);
    double more = 0;
    std::uint64_t cores_after = 0;
    for (std::size_t c = 0; c < children.size(); ++c) {
      for (const load_group& g : before[c].loads) more -= g.load_ns * static_cast<double>(g.cores);
      double highest = limit;
      for (const load_group& g : before[c].loads) highest = std::max(highest, g.load_ns);
      for (const load_group& g : children[c].loads) {
        EXPECT_LE(g.load_ns, highest + 1);
        more += g.load_ns * static_cast<double>(g.cores);
        cores_after += g.cores;
      }
    }
    EXPECT_NEAR(more, added, 1 + added * 1e-9) << "seed " << seed;
    EXPECT_EQ(cores, cores_after);
  }
}
TEST(the_assignment, of_very_many_tasks_is_short) {
  const time_bins bins(16);
  std::vector<standing> children(3);
  for (standing& c : children) c.loads.push_back({0, 10'000});
  std::uint64_t steps = 0;
  const std::vector<portion> got = assign({{100, 1'000'000'000}}, children, {1e6}, bins, steps);
  EXPECT_LT(steps, 100'000u);
  ASSERT_EQ(got.size(), 3u);
  EXPECT_EQ(got[0].count + got[1].count + got[2].count, 1'000'000'000u);
}

TEST(the_tree, has_each_rank_once_on_each_level) {
  for (const std::uint32_t branching : {2u, 3u, 5u, 1024u}) {
    for (const std::uint32_t size : {1u, 2u, 3u, 4u, 9u, 10u, 27u, 28u, 1000u}) {
      const balance_tree tree(size, branching);
      EXPECT_EQ(tree.nodes_of(tree.levels()), 1u);
      EXPECT_EQ(tree.levels() == 0, size == 1);
      for (unsigned l = 0; l <= tree.levels(); ++l) {
        std::uint32_t ranks = 0;
        for (std::uint32_t i = 0; i < tree.nodes_of(l); ++i) {
          EXPECT_EQ(tree.host_of(l, i), ranks);
          EXPECT_EQ(tree.node_with(l, ranks), i);
          EXPECT_GE(tree.top_of(ranks), l);
          ranks += tree.ranks_of(l, i);
          EXPECT_EQ(tree.node_with(l, ranks - 1), i);
          if (l == 0) continue;
          std::uint32_t below = 0;
          for (std::uint32_t k = 0; k < tree.children_of(l, i); ++k) below += tree.ranks_of(l - 1, i * branching + k);
          EXPECT_EQ(below, tree.ranks_of(l, i));
        }
        EXPECT_EQ(ranks, size);
      }
    }
  }
}

// --- on virtual cores -------------------------------------------------------------------------------------

std::uint64_t count_of(const core_times& times) {
  std::uint64_t all = 0;
  for (const auto& core : times) all += core.size();
  return all;
}

balance_outcome balanced(const core_times& times, const balance_rules& rules) {
  const balance_outcome o = tobi_bench::balance(times, rules, {}, 1);
  EXPECT_EQ(o.tasks, count_of(times));
  EXPECT_LE(o.moved, count_of(times));
  return o;
}

// As good as the other one, and not worse than before.
void expect_alike(const core_times& times, const char* what, double worse = 1.15) {
  const balance_outcome central = balanced(times, {.central = true});
  for (const std::uint32_t branching : {2u, 3u, 8u}) {
    const balance_outcome o = balanced(times, {.branching = branching});
    EXPECT_LE(o.after, central.after * worse) << what << ", branching " << branching;
  }
}

TEST(the_balancers, lose_nothing_of_what_is_hard) {
  const auto of = [](std::size_t cores) { return core_times(cores); };
  core_times none = of(10);
  EXPECT_EQ(balanced(none, {}).after, 1);
  EXPECT_EQ(balanced(of(1), {}).moved, 0u);
  core_times one = of(100);
  one[99] = {1'000'000};
  EXPECT_EQ(balanced(one, {}).moved, 0u);
  core_times on_the_last = of(100);
  on_the_last[99].assign(1000, 1'000'000);
  expect_alike(on_the_last, "all alike on the last core");
  EXPECT_LT(balanced(on_the_last, {}).after, 1.1);
  core_times shortest = of(50);
  shortest[7].assign(5000, 0);
  expect_alike(shortest, "tasks of no time");
  core_times a_giant = of(50);
  for (auto& core : a_giant) core.assign(100, 10);
  a_giant[20].push_back(1'000'000'000);
  expect_alike(a_giant, "a giant");
  core_times giants = of(81);
  for (std::size_t i = 0; i < 30; ++i) giants[i].assign(10, 1'000'000 << (i % 3));
  for (std::size_t i = 30; i < 40; ++i) giants[i].assign(1000, 1000);
  expect_alike(giants, "long ones on some and short ones on others");
  core_times halves = of(64);
  for (std::size_t i = 0; i < 32; ++i) halves[i].assign(100, 50'000 + i * 100);
  expect_alike(halves, "half of the cores have all");
  core_times alike = of(200);
  for (auto& core : alike) core.assign(20, 777'777);
  EXPECT_EQ(balanced(alike, {}).moved, 0u);
  EXPECT_EQ(balanced(alike, {.central = true}).moved, 0u);
}

TEST(the_balancers, lose_nothing_of_what_is_random) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937_64 random(seed);
    core_times times(1 + random() % 60);
    for (auto& core : times) {
      if (random() % 3 == 0) continue;
      for (std::uint64_t i = random() % (random() % 2 == 0 ? 5 : 200); i != 0; --i) {
        core.push_back(random() >> (34 + random() % 28));
      }
    }
    const balance_rules rules{random() % 4 == 0, 2 + static_cast<std::uint32_t>(random() % 8),
                              1 + static_cast<double>(random() % 100) / 100,
                              1 + static_cast<double>(random() % 100) / 100, 1u << random() % 9};
    const balance_outcome o = balanced(times, rules);
    // Times in a bin differ: one bin per doubling knows them within half.
    const double bins = 1 + 1.0 / rules.bins_per_doubling;
    EXPECT_LE(o.after, std::max(o.before, 2.0) * bins * rules.c * rules.d + 1) << "seed " << seed;
  }
}

struct pattern {
  std::uint32_t stride, favour;
};
class on_cores : public testing::TestWithParam<std::uint32_t> {};

TEST_P(on_cores, the_hierarchical_balancer_is_nearly_as_good) {
  const std::uint32_t cores = GetParam();
  std::vector<pattern> patterns{{4, 4}, {16, 16}, {16, 2}};
  if (cores < 5000) patterns.insert(patterns.end(), {{2, 2}, {2, 16}, {4, 2}, {8, 4}, {cores, 16}});
  for (const pattern p : patterns) {
    for (const std::uint64_t each : {10, 40}) {
      if (cores > 5000 && each > 10) continue;
      const core_times times = tobi_bench::deal({.cores = cores,
                                                 .stride = p.stride,
                                                 .favour = p.favour,
                                                 .tasks = each * cores,
                                                 .spread = 0.5,
                                                 .seed = cores + p.favour});
      const balance_outcome central = balanced(times, {.central = true});
      const balance_outcome tree = balanced(times, {});
      EXPECT_LE(tree.after, 1.15 * central.after)
          << cores << " cores, n " << p.stride << ", m " << p.favour << ", " << each << " tasks per core";
      EXPECT_LT(tree.after, tree.before);
    }
  }
}
INSTANTIATE_TEST_SUITE_P(from_few_to_many, on_cores, testing::Values(16u, 100u, 600u, 2400u, 9600u, 38400u));

// Steps are what is done one after the other, and no times.
TEST(the_balancers, take_a_time_that_grows_with_the_levels_and_with_the_cores) {
  std::vector<double> tree, central, messages;
  const std::vector<std::uint32_t> sizes{81, 729, 6561, 38400};
  for (const std::uint32_t cores : sizes) {
    const core_times times =
        tobi_bench::deal({.cores = cores, .stride = 4, .favour = 4, .tasks = 10ull * cores, .spread = 0.5});
    const balance_outcome t = balanced(times, {});
    tree.push_back(static_cast<double>(t.path.steps));
    messages.push_back(static_cast<double>(t.path.messages));
    central.push_back(static_cast<double>(balanced(times, {.central = true}).path.steps));
  }
  for (std::size_t i = 1; i < sizes.size(); ++i) {
    // From 81 cores there are four levels, then two more for each nine times as many.
    EXPECT_LE(tree[i], tree[0] * (1 + static_cast<double>(i))) << sizes[i] << " cores";
    EXPECT_LE(messages[i], messages[0] * (1 + static_cast<double>(i))) << sizes[i] << " cores";
    EXPECT_GE(central[i], central[i - 1] * 4) << sizes[i] << " cores";
  }
}

TEST(the_distribution, is_that_of_the_paper) {
  const core_times times = tobi_bench::deal({.cores = 10, .stride = 5, .favour = 3, .tasks = 28, .spread = 1});
  // Two favoured cores: 14 tasks per turn.
  for (std::size_t r = 0; r < times.size(); ++r) EXPECT_EQ(times[r].size(), r % 5 == 0 ? 6u : 2u) << r;
  std::vector<std::uint64_t> first_turn{times[0][0], times[0][1], times[0][2], times[1][0], times[9][0], times[0][3]};
  EXPECT_TRUE(std::is_sorted(first_turn.begin(), first_turn.end()));
  // The imbalance that the paper names is 252 % on 2400 cores, and 691 % on 38,400.
  const auto before = [](std::uint32_t cores) {
    return tobi_bench::balance(tobi_bench::deal({.cores = cores, .spread = 0.5}), {}, {}, 1).before;
  };
  EXPECT_NEAR(before(2400), 2.52, 0.1);
  EXPECT_NEAR(before(38400), 6.91, 0.5);
}

}  // namespace
