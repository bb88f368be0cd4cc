// SPDX-License-Identifier: Apache-2.0
// Global references: what is read and written by *p and p[i], and what the standard library makes of pointers to global
// memory as iterators, where the bytes are on this node and where they are not.
#include <algorithm>
#include <functional>
#include <iterator>
#include <numeric>
#include <ranges>
#include <utility>

#include "global_places.hpp"

namespace {

using tobi::global_ptr;
using tobi::global_span;

using element = std::pair<int, long>;
static_assert(std::random_access_iterator<global_ptr<long>> && std::random_access_iterator<global_ptr<const long>>);
static_assert(std::random_access_iterator<global_ptr<element>> && std::sortable<global_ptr<long>>);
static_assert(std::ranges::random_access_range<global_span<long>> &&
              std::ranges::random_access_range<tobi::global_vector<long>>);
static_assert(std::indirectly_writable<global_ptr<long>, long>);
// Of const elements references only read.
static_assert(!std::indirectly_writable<global_ptr<const long>, long> &&
              !std::is_assignable_v<tobi::global_ref<const long>, long>);
static_assert(std::is_convertible_v<tobi::global_ref<const long>, long>);

bool reads_and_writes(global_span<long> all) {
  const global_ptr<long> p = all.data();
  tobi::iota(all, 0);
  *p = 5;
  p[1] = *p;       // an element, not the reference
  p[2] += p[1];    // 7
  p[3] -= 1;       // 2
  p[4] *= 3;       // 12
  p[5] /= 2;       // 2
  p[6] %= 4;       // 2
  p[7] &= 3;       // 3
  p[8] |= 1;       // 9
  p[9] ^= 1;       // 8
  p[10] <<= 2;     // 40
  p[11] >>= 1;     // 5
  ++p[12];         // 13
  --p[13];         // 12
  p[14] += p[14];  // 28
  const long was = p[15]++ + p[16]--;
  const std::array<long, 17> wanted{5, 5, 7, 2, 12, 2, 2, 3, 9, 8, 40, 5, 13, 12, 28, 16, 15};
  bool right = was == 31 && std::equal(wanted.begin(), wanted.end(), all.begin());

  long mine = 77;
  swap(p[0], p[2]);
  swap(mine, p[1]);
  std::iter_swap(p + 3, p + 4);
  right = right && p[0] == 7 && p[2] == 5 && mine == 5 && p[1] == 77 && p[3] == 12 && p[4] == 2;

  const auto again = p[3];  // another reference
  p[3] = 1000;
  const long value = again;
  return right && value == 1000 && &again == p + 3 && again.get() == 1000;
}

// a[i] of a span is the element, wherever a program takes it for one; &a[i] is its address.
bool spans_have_elements(global_span<long> all) {
  tobi::iota(all, 0);
  if (all[0] || !all[1] || !(all[2] < all[3]) || all[4] == all[5]) return false;
  if (std::max<long>(all[6], all[7]) != 7 || all[8] * 2 != 16 || -all[9] != -9) return false;
  all[0] = all[1] = 40;
  all[2] += all[0]++;
  if (all[0] != 41 || all[1] != 40 || all[2] != 42) return false;
  const global_span<const long> only_read = all;
  if (only_read[2] != 42 || &only_read[2] != &all[2] || &all[2] != all.begin() + 2) return false;
  tobi::store(&all[3], 50L);
  auto part = tobi::checkout(&all[2], 2, tobi::mode::read);
  return part[0] + part[1] == 92 && load(&all[3]) == 50;
}

bool is_a_range(global_span<long> all) {
  tobi::iota(all, 0);
  long sum = 0;
  for (const long x : all) sum += x;
  for (const long x : global_span<const long>(all)) sum -= 2 * x;
  for (auto x : all.first(10)) x = 3;
  const auto n = static_cast<long>(all.size());
  if (-sum != n * (n - 1) / 2) return false;
  if (tobi::reduce(all.first(10)) != 30) return false;
  const auto half = std::lower_bound(all.begin(), all.end(), n / 2);
  if (half - all.begin() != n / 2 || std::ranges::lower_bound(all, n / 2) != half) return false;
  std::reverse(all.begin(), all.end());
  std::sort(all.begin(), all.begin() + 50);
  std::ranges::sort(all.begin(), all.begin() + 60, std::greater<>());
  std::rotate(all.begin(), 5 + all.begin(), all.begin() + 60);
  std::ranges::sort(all.begin(), all.begin() + 60);
  return std::is_sorted(all.begin(), all.begin() + 60) &&
         std::accumulate(all.begin(), all.end(), 0L) == tobi::reduce(all);
}

bool holds_structures() {
  tobi::global_vector<element> v;
  for (int i = 0; i < 101; ++i) v.emplace_back(i * 37 % 101, 37L);
  std::sort(v.begin(), v.end());
  bool right = std::lower_bound(v.begin(), v.end(), element(50, 0)) - v.begin() == 50;
  std::ranges::sort(v, std::greater<>());
  right = right && v[0] == element(100, 37) && v[0] != v[1] && element(99, 0) < v[1] && v[2].get().first == 98;
  v[0] = v[1];
  v[1] = {5, 6};
  return right && v[0].get().first == 99 && v[1] == element(5, 6);
}

TEST(global_references, load_store_and_are_ranges) {
  in_each({{"shm", 1, {}},
           {"shm", 3, {}},
           {"shm", 1, {{"TOBI_DEBUG_GLOBAL", "1"}}},
           {"sim", 2, {{"TOBI_NODES", "2"}, {"TOBI_TRANSPORT", "sim"}}},
           {"uncached", 2, {{"TOBI_NODES", "2"}, {"TOBI_TRANSPORT", "sim"}, {"TOBI_CACHE_POLICY", "none"}}}},
          [](tobi::runtime&) {
            const auto near = tobi::allocate_all<long>(200);
            const auto dealt = tobi::allocate_all<long>(40000, tobi::block_cyclic(1 << 16));
            if (!tobi::run([=] { return reads_and_writes(near) && reads_and_writes(dealt.subspan(8190)); })) return 3;
            if (!tobi::run([=] { return spans_have_elements(near) && spans_have_elements(dealt.subspan(8190)); }))
              return 8;
            if (!tobi::run([=] { return is_a_range(near); })) return 4;
            if (!tobi::run([=] { return is_a_range(dealt.subspan(8100, 300)); })) return 5;
            // A reference is a value that tasks take with them.
            const long got = tobi::run([=] {
              const auto place = near[7];
              auto child = tobi::spawn([at = place] { return at = 70; });
              child.join();
              return near[7].get();
            });
            if (got != 70) return 6;
            return tobi::run([] { return holds_structures(); }) ? 0 : 7;
          });
}

}  // namespace
