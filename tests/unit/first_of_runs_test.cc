// SPDX-License-Identifier: Apache-2.0
// How much of each of several sorted runs is among their first elements: the selection that a sort of distributed parts
// divides them by. Whatever the runs are, it is what merging them stably says.
#define TOBI_ELIDE
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "tobi/algorithm.hpp"

namespace {

// No default constructor: the elements of a sort need none.
struct record {
  explicit record(std::uint32_t k) : key(k) {}
  std::uint32_t key;
};
constexpr auto earlier = [](const record& a, const record& b) { return a.key < b.key; };

using tobi::global_span;

class some_runs {
 public:
  explicit some_runs(const std::vector<std::vector<record>>& all) {
    for (const std::vector<record>& one : all) {
      const global_span<record> run(tobi::allocate_global<record>(one.size()), one.size());
      for (std::size_t i = 0; i < one.size(); ++i) tobi::store(&run[i], one[i]);
      spans.push_back(run);
    }
  }
  some_runs(const some_runs&) = delete;
  some_runs& operator=(const some_runs&) = delete;
  ~some_runs() {
    for (const global_span<record>& run : spans) tobi::free_global(run.data(), run.size());
  }
  std::vector<global_span<record>> spans;
};

// Of each run, what the first K elements have of it, by merging one element after the other.
std::vector<std::size_t> merged(const std::vector<std::vector<record>>& all, std::size_t k) {
  std::vector<std::size_t> taken(all.size());
  for (std::size_t i = 0; i < k; ++i) {
    std::size_t least = all.size();
    for (std::size_t r = 0; r < all.size(); ++r) {
      if (taken[r] == all[r].size()) continue;
      if (least == all.size() || earlier(all[r][taken[r]], all[least][taken[least]])) least = r;
    }
    ++taken[least];
  }
  return taken;
}

void expect_right_shares(const std::vector<std::vector<record>>& all, std::mt19937_64& random) {
  const some_runs runs(all);
  std::size_t size = 0;
  for (const std::vector<record>& one : all) size += one.size();
  auto less = earlier;
  for (int i = 0; i < 12; ++i) {
    const std::size_t k = i < 2 ? size * static_cast<std::size_t>(i) : random() % (size + 1);
    const auto found = tobi::pieces::first_of_runs<record, decltype(less)>(runs.spans, k, less).shares();
    ASSERT_EQ(found, merged(all, k)) << k << " of " << size;
  }
}

TEST(first_of_runs, are_what_a_stable_merge_takes) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 300; ++i) {
    SCOPED_TRACE(i);
    std::vector<std::vector<record>> all(1 + random() % 9);
    const std::uint64_t keys = std::uint64_t{1} << random() % 20;  // few keys: most elements are equal
    const std::size_t longest = std::size_t{1} << random() % 12;
    for (std::vector<record>& one : all) {
      for (std::size_t n = random() % longest; n > 0; --n)
        one.emplace_back(static_cast<std::uint32_t>(random() % keys));
      std::stable_sort(one.begin(), one.end(), earlier);
    }
    expect_right_shares(all, random);
  }
}

TEST(first_of_runs, that_lie_behind_each_other) {
  std::mt19937_64 random(2);
  for (const bool down : {false, true}) {
    std::vector<std::vector<record>> all(7);
    for (std::uint32_t r = 0; r < 7; ++r) {
      for (std::uint32_t i = 0; i < 500 * r; ++i) all[down ? 6 - r : r].emplace_back(10000 * r + i);
    }
    expect_right_shares(all, random);
  }
}

template <class Less>
void expect_an_end(const some_runs& runs, Less less) {
  for (std::size_t k = 0; k <= 5000; k += 250) {
    const auto found = tobi::pieces::first_of_runs<record, Less>(runs.spans, k, less).shares();
    ASSERT_EQ(found.size(), runs.spans.size());
    for (std::size_t r = 0; r < found.size(); ++r) EXPECT_LE(found[r], runs.spans[r].size());
  }
}

TEST(first_of_runs, end_where_the_comparison_contradicts_itself) {
  std::vector<std::vector<record>> all(3);
  for (std::uint32_t i = 0; i < 5000; ++i) all[i % 3].emplace_back(i);
  const some_runs runs(all);
  expect_an_end(runs, [](const record&, const record&) { return true; });
  expect_an_end(runs, [](const record& a, const record& b) { return (a.key + 3 - b.key % 3) % 3 == 1; });
  expect_an_end(runs, [](const record& a, const record& b) { return (a.key * 2654435761u ^ b.key * 40503u) % 2 == 0; });
}

}  // namespace
