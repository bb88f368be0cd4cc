// SPDX-License-Identifier: Apache-2.0
// What ranks make together along trees: sums of statistics, and allocations of which each rank knows its own part
// alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "in_job.hpp"

namespace {

constexpr int workers = 11;

using settings = std::vector<std::pair<const char*, const char*>>;

// Nodes of one rank, of several, and of different sizes: trees that are whole, and trees that are not.
template <class Body>
void with_any_nodes(Body body, std::initializer_list<const char*> numbers = {"2", "3", "5", "8", "11"}) {
  const std::pair<const char*, const char*> sim{"TOBI_TRANSPORT", "sim"}, heap{"TOBI_HEAP_SIZE", "64M"},
      block{"TOBI_BLOCK_SIZE", "4K"}, cache{"TOBI_CACHE_SIZE", "1M"};
  std::vector<settings> all{{}, {sim}, {sim, {"TOBI_SIM", "nochain,depth1"}}};
  for (const char* nodes : numbers) all.push_back({sim, {"TOBI_NODES", nodes}});
  all.push_back({{"TOBI_TRANSPORT", "ofi"}, {"TOBI_OFI_PROVIDER", "tcp;ofi_rxm"}, {"TOBI_NODES", "4"}});
  for (settings& s : all) {
    s.insert(s.end(), {heap, block, cache});
    std::string trace;
    for (const auto& [name, value] : s) trace.append(name).append("=").append(value).append(" ");
    SCOPED_TRACE(trace);
    const outcome o = in_job(workers, std::span<const std::pair<const char*, const char*>>(s), body);
    EXPECT_EQ(o.status, 0) << o.said;
  }
}

long fib(long n) {
  if (n < 2) return n;
  auto x = tobi::spawn([=] { return fib(n - 1); });
  const long y = fib(n - 2);
  return x.join() + y;
}

// Some want each rank's, all get the sum.
TEST(combined, statistics_are_the_sum_of_each_rank_s) {
  with_any_nodes([](tobi::runtime& rt) {
    for (int i = 0; i < 3; ++i) {
      if (tobi::run([] { return fib(16); }) != 987) return 1;
      std::vector<tobi::statistics> each(rt.rank() % 3 == 2 ? workers : 0);
      const tobi::statistics all = rt.stats(each.empty() ? nullptr : each.data());
      if (each.empty()) continue;
      std::uint64_t ok = 0;
      std::uint64_t failed = 0;
      std::uint64_t peak = 0;
      for (const tobi::statistics& s : each) {
        ok += s.steals_ok;
        failed += s.steals_failed;
        peak = std::max(peak, s.peak_stack_bytes);
      }
      if (all.steals_ok != ok || all.steals_failed != failed || all.peak_stack_bytes != peak) return 2;
    }
    const tobi::statistics nobody_asks = rt.stats();
    return nobody_asks.peak_stack_bytes > 0 ? 0 : 3;
  });
}

// Each rank has another number of objects in its heap first, so that the parts lie elsewhere in each; and there are
// more allocations alive than the first table of their places holds.
std::vector<tobi::global_span<long>> arrays;  // each rank's own, and all have the same in it

constexpr std::size_t step = 512;  // a block of longs, so that neighbours in an array have other homes
long value_of(std::size_t array, std::size_t k) { return static_cast<long>(1000 * array + k); }
bool has_its_values(std::size_t array) {
  for (std::size_t k = 0; k < workers; ++k) {
    if (tobi::load(&arrays[array][k * step]) != value_of(array, k)) return false;
  }
  return true;
}

TEST(combined, allocations_whose_parts_lie_elsewhere_in_each_rank_are_found) {
  with_any_nodes(
      [](tobi::runtime& rt) {
        const auto more = [](int distribution) {
          constexpr std::size_t n = workers * step;
          arrays.push_back(distribution == 0 ? tobi::allocate_all<long>(n)
                                             : tobi::allocate_all<long>(n, tobi::block_cyclic(4096)));
        };
        for (int i = 0; i < 80; ++i) {
          // Of another size in each rank, and large, so that it moves what comes behind it.
          if (i % 35 == 0) (void)tobi::allocate_global<char>(static_cast<std::size_t>(rt.rank() + 1) * 100'000);
          more(i % 2);
          if (i % 7 == 3) {
            tobi::free_all(arrays[arrays.size() - 2]);
            arrays.erase(arrays.end() - 2);
          }
        }
        const bool right = tobi::run([] {
          for (std::size_t i = 0; i < arrays.size(); ++i) {
            for (std::size_t k = 0; k < workers; ++k) tobi::store(&arrays[i][k * step], value_of(i, k));
          }
          for (std::size_t i = 0; i < arrays.size(); ++i) {
            if (!has_its_values(i)) return false;
          }
          return true;
        });
        if (!right) return 1;
        rt.barrier();
        if (!has_its_values(static_cast<std::size_t>(rt.rank()))) return 2;
        rt.barrier();
        for (const auto& a : arrays) tobi::free_all(a);
        return 0;
      },
      {"3", "11"});
}

}  // namespace
