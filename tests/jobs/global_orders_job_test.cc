// SPDX-License-Identifier: Apache-2.0
// lane: computes, 5 s
// Algorithms that compare and reorder ranges, or count: next to those of the standard library, in each kind of job.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "global_shapes.hpp"

namespace {

using tobi::execution_policy;
using tobi::global_span;

record made(std::size_t i) { return {mixed(i) % 64, static_cast<std::uint32_t>(i)}; }
void make(const execution_policy& how, global_span<record> a) {
  tobi::for_each(how, a, tobi::mode::write, [](record& r, std::size_t i) { r = made(i); });
}
std::vector<record> made_here(std::size_t n) {
  std::vector<record> x(n);
  for (std::size_t i = 0; i < n; ++i) x[i] = made(i);
  return x;
}

// One element of B differs from A, the first, the last, one between, or none.
void comparisons(checker& c) {
  const std::size_t n = c.now.size;
  const execution_policy how = c.now.how;
  const auto a = tobi::allocate_all<std::uint32_t>(n, c.how);
  const auto b = tobi::allocate_all<std::uint64_t>(n, c.how);
  for (const std::size_t other : {std::size_t{0}, n / 2, n - 1, n}) {
    if (other > n || (other == n && n == 0)) continue;
    const auto found = tobi::run([=] {
      tobi::iota(how, a, 3);
      tobi::iota(how, b, 3);
      if (other < n) b[other] = 1;
      const auto apart = tobi::mismatch(how, a, global_span<const std::uint64_t>(b));
      const auto small = [](std::uint64_t e) { return e < 3; };
      return std::array<std::ptrdiff_t, 8>{
          apart.first - a.begin(),
          apart.second - b.begin(),
          tobi::equal(how, a, b) ? 1 : 0,
          tobi::is_sorted_until(how, b) - b.begin(),
          tobi::is_sorted(how, b) ? 1 : 0,
          tobi::any_of(how, b, small) ? 1 : 0,
          tobi::none_of(how, b, small) ? 1 : 0,
          tobi::all_of(how, b, [](std::uint64_t e) { return e >= 3; }) ? 1 : 0,
      };
    });
    const auto at = static_cast<std::ptrdiff_t>(other);
    const bool same = other == n;
    const bool sorted = same || other == 0;
    c.same("mismatch", found[0], at);
    c.same("mismatch, the second place", found[1], at);
    c.same("equal", found[2] == 1, same);
    c.same("is_sorted_until", found[3], sorted ? static_cast<std::ptrdiff_t>(n) : at);
    c.same("is_sorted", found[4] == 1, sorted);
    c.same("any_of", found[5] == 1, !same);
    c.same("none_of", found[6] == 1, same);
    c.same("all_of", found[7] == 1, same);
  }
  // Ranges of different lengths, one of which may be empty.
  const auto lengths = tobi::run([=] {
    tobi::iota(how, a, 3);
    tobi::iota(how, b, 3);
    return std::array{tobi::mismatch(how, a, b.first(n / 2)).first - a.begin(),
                      std::ptrdiff_t{tobi::equal(how, a.first(n / 2), b)}};
  });
  c.same("mismatch of a longer one", lengths[0], static_cast<std::ptrdiff_t>(n / 2));
  c.same("equal of a shorter one", lengths[1], std::ptrdiff_t{n / 2 == n});
  // Neighbours that are equal: in each leaf, on both sides of its end, none.
  std::vector<std::uint32_t> x(n);
  for (const std::uint32_t same : {3u, 100u, 20010u, 1u << 30}) {
    const auto value = [=](std::size_t i) { return static_cast<std::uint32_t>(i - (i % same == 0 && i > 0 ? 1 : 0)); };
    for (std::size_t i = 0; i < n; ++i) x[i] = value(i);
    const auto found = tobi::run([=] {
      tobi::for_each(how, a, tobi::mode::write, [=](std::uint32_t& e, std::size_t i) { e = value(i); });
      return tobi::adjacent_find(how, a) - a.begin();
    });
    c.same("adjacent_find", found, std::adjacent_find(x.begin(), x.end()) - x.begin());
  }
  tobi::free_all(a);
  tobi::free_all(b);
}

void orders(checker& c) {
  const std::size_t n = c.now.size;
  const execution_policy how = c.now.how;
  const auto a = tobi::allocate_all<record>(n, c.how);
  const auto b = tobi::allocate_all<record>(n, c.how);
  const std::vector<record> x = made_here(n);
  std::vector<record> wanted(n);

  tobi::run([=] {
    make(how, a);
    tobi::reverse_copy(how, global_span<const record>(a), b);
  });
  std::reverse_copy(x.begin(), x.end(), wanted.begin());
  c.same("reverse_copy", now_in(b), wanted);
  tobi::run([=] { tobi::reverse(how, a); });
  c.same("reverse", now_in(a), wanted);
  for (const std::size_t to_front : {std::size_t{0}, n / 3, n - n / 5, n}) {
    const auto middle = x.begin() + static_cast<std::ptrdiff_t>(to_front);
    tobi::run([=] {
      make(how, a);
      tobi::rotate_copy(how, a, to_front, b);
    });
    std::rotate_copy(x.begin(), middle, x.end(), wanted.begin());
    c.same("rotate_copy", now_in(b), wanted);
    tobi::run([=] { tobi::rotate(how, a, to_front); });
    c.same("rotate", now_in(a), wanted);

    // Sorted on both sides of the place.
    std::vector<record> merged = x;
    std::stable_sort(merged.begin(), merged.end(), earlier);
    tobi::run([=] {
      make(how, a);
      tobi::sort(how, a.first(to_front), b, earlier);
      tobi::sort(how, a.subspan(to_front), b, earlier);
      tobi::inplace_merge(how, a, to_front, b, earlier);
    });
    c.same("inplace_merge", now_in(a), merged);
  }
  tobi::free_all(a);
  tobi::free_all(b);
}

void scans_of_what_is_made(checker& c) {
  const std::size_t n = c.now.size;
  const execution_policy how = c.now.how;
  const auto a = tobi::allocate_all<record>(n, c.how);
  const auto b = tobi::allocate_all<std::uint64_t>(n, c.how);
  const auto d = tobi::allocate_all<std::uint64_t>(n, c.how);
  const std::vector<record> x = made_here(n);
  std::vector<std::uint64_t> y(n), z(n);
  const auto key = [](const record& r) { return std::uint64_t{r.key} << 20; };
  tobi::run([=] {
    make(how, a);
    tobi::transform_inclusive_scan(how, a, b, std::plus<>(), key);
  });
  std::transform_inclusive_scan(x.begin(), x.end(), y.begin(), std::plus<>(), key);
  c.same("transform_inclusive_scan", now_in(b), y);
  // The steps of sums are what was added up.
  tobi::run([=] { tobi::adjacent_difference(how, b, d); });
  std::adjacent_difference(y.begin(), y.end(), z.begin());
  c.same("adjacent_difference", now_in(d), z);
  tobi::run([=] { tobi::transform_inclusive_scan(how, a, b, std::plus<>(), key, 7); });
  std::transform_inclusive_scan(x.begin(), x.end(), y.begin(), std::plus<>(), key, std::uint64_t{7});
  c.same("transform_inclusive_scan with an initial value", now_in(b), y);
  tobi::run([=] { tobi::transform_exclusive_scan(how, a, b, 7, std::plus<>(), key); });
  std::transform_exclusive_scan(x.begin(), x.end(), y.begin(), std::uint64_t{7}, std::plus<>(), key);
  c.same("transform_exclusive_scan", now_in(b), y);
  tobi::free_all(a);
  tobi::free_all(b);
  tobi::free_all(d);
}

// Fewer bins than a leaf has elements, and more. What was there before counts.
void counts(checker& c) {
  const std::size_t n = c.now.size;
  const execution_policy how = c.now.how;
  const auto a = tobi::allocate_all<record>(n, c.how);
  for (const std::size_t bins : {std::size_t{1}, std::size_t{7}, std::size_t{5000}}) {
    const auto in_bins = tobi::allocate_all<std::int64_t>(bins, c.how);
    const auto bin = [bins](const record& r) { return mixed(r.place) % bins; };
    std::vector<std::int64_t> wanted(bins, 10);
    for (std::size_t i = 0; i < n; ++i) ++wanted[bin(made(i))];
    tobi::run([=] {
      make(how, a);
      tobi::fill(how, in_bins, 10);
      tobi::histogram(how, global_span<const record>(a), in_bins, bin);
    });
    c.same("histogram", now_in(in_bins), wanted);
    tobi::free_all(in_bins);
  }
  tobi::free_all(a);
}

// All elements are there, in an order that the seed and their number alone decide.
void shuffles(checker& c) {
  const std::size_t n = c.now.size;
  const execution_policy how = c.now.how;
  const auto a = tobi::allocate_all<record>(n, c.how);
  const auto b = tobi::allocate_all<record>(n, c.how);
  std::vector<record> x = made_here(n);
  tobi::run([=] {
    make(how, a);
    tobi::shuffle(how, a, b, 42);
    make(how, b);
    tobi::shuffle(tobi::seq, b, 43);
  });
  std::vector<record> one = now_in(a), other = now_in(b);
  tobi::run([=] {
    make(how, a);
    tobi::shuffle(how, a, 42);
  });
  c.same("shuffle with memory of its own", now_in(a), one);
  if (n > 2) c.same("two seeds", one == other, false);
  std::uint64_t places = 0;
  for (std::size_t i = 0; i < n; ++i) places = (places ^ one[i].place) * 0x100000001b3;
  // As jobs have had it: up to 8192 elements are small, so only the largest range is thrown into bins.
  const std::map<std::size_t, std::uint64_t> known{{2, 0x366000002e329},       {101, 0x5cc63d16331eeca2},
                                                   {1013, 0xe99cc57cd6220eea}, {4099, 0x4f3cbdc51cfd367f},
                                                   {7919, 0xbdb2fded949e12c1}, {20011, 0x6c727d6ee32a015f}};
  if (const auto at = known.find(n); at != known.end()) c.same("the order of shuffle", places, at->second);
  const auto by_place = [](const record& r, const record& s) { return r.place < s.place; };
  for (std::vector<record>* all : {&one, &other}) {
    std::sort(all->begin(), all->end(), by_place);
    c.same("what shuffle keeps", *all, x);
  }
  tobi::free_all(a);
  tobi::free_all(b);
}

TEST(global_orders, comparisons) { all_shapes(less_over_sockets(lazy), comparisons); }
TEST(global_orders, orders) { all_shapes(less_over_sockets(whole ? lazy : ""), orders); }
TEST(global_orders, scans_of_what_is_made) { all_shapes(less_over_sockets(whole ? lazy : ""), scans_of_what_is_made); }
TEST(global_orders, counts) { all_shapes(less_over_sockets(whole ? lazy : ""), counts); }
TEST(global_orders, shuffles) { all_shapes(less_over_sockets(whole ? lazy : ""), shuffles); }

TEST(global_orders, the_smallest_caches) {
  const std::pair<const char*, const char*> block{"TOBI_BLOCK_SIZE", "4K"}, sub{"TOBI_SUB_BLOCK_SIZE", "1K"},
      nodes{"TOBI_NODES", "2"}, sim{"TOBI_TRANSPORT", "sim"};
  const std::vector<place> small{{"4 blocks", 2, {nodes, sim, block, sub, {"TOBI_CACHE_SIZE", "16K"}}}};
  for (void (*const body)(checker&) : {comparisons, orders, scans_of_what_is_made, counts, shuffles}) {
    all_shapes(small, body, true);
  }
}

// Elements so large that four of them are small: five are thrown into bins first, and again where all of them come into
// one. All 120 orders come, and each about as often as the others: chi-square has 119 degrees of freedom, and is above
// 190 once in 26000 times. The seeds are the same in each run.
template <std::size_t Bytes>
struct padded {
  std::uint32_t value;
  std::array<std::byte, Bytes - sizeof(value)> air;
};
template <std::size_t Bytes>
int uniform() {
  constexpr std::size_t n = 5;
  constexpr int orders = 120, expected = 50;
  const auto a = tobi::allocate_all<padded<Bytes>>(n);
  const auto scratch = tobi::allocate_all<padded<Bytes>>(n);
  const double chi = tobi::run([=] {
    std::array<int, 3125> seen{};
    for (std::uint64_t seed = 0; seed < std::uint64_t{orders} * expected; ++seed) {
      tobi::for_each(tobi::seq, a, [](padded<Bytes>& p, std::size_t i) { p.value = static_cast<std::uint32_t>(i); });
      tobi::shuffle(tobi::seq, a, scratch, seed);
      std::size_t order = 0;
      tobi::for_each(tobi::seq, global_span<const padded<Bytes>>(a),
                     [&order](const padded<Bytes>& p) { order = order * n + p.value; });
      ++seen[order];
    }
    double sum = 0;
    int came = 0;
    for (const int times : seen) {
      if (times == 0) continue;
      ++came;
      sum += (times - expected) * static_cast<double>(times - expected) / expected;
    }
    return came == orders ? sum : 1e9;
  });
  if (chi >= 190) std::fprintf(stderr, "chi-square of elements of %zu bytes: %.1f\n", Bytes, chi);
  return chi < 190 ? 0 : 1;
}
TEST(global_orders, each_order_is_as_likely) {
  in_each({{"alone", 1, {}}}, [](tobi::runtime&) {
    CHECK(uniform<8>() == 0);
    CHECK(uniform<4096>() == 0);
    CHECK(uniform<20000>() == 0);
    return 0;
  });
}

// So many that they come into 256 bins, some of which are not small, from one leaf and from several, on one node and
// where each owner has its part. The order is the same, and each sixteenth of the elements goes to each sixteenth of
// the places about as often: chi-square has 225 degrees of freedom, and is above 320 once in 30000 times.
TEST(global_orders, many_elements_are_shuffled) {
  using large = padded<4096>;
  constexpr std::size_t n = 3001, parts = 16;
  in_each({{"alone", 1, {}}, {"shm", 3, {}}, {"sim", 4, {{"TOBI_TRANSPORT", "sim"}, {"TOBI_NODES", "2"}}}},
          [](tobi::runtime&) {
            std::vector<std::uint64_t> orders;
            for (const tobi::distribution how : {tobi::block(), tobi::block_cyclic(1 << 16)}) {
              const auto a = tobi::allocate_all<large>(n, how);
              for (const execution_policy policy : {tobi::par, tobi::seq, execution_policy{.cutoff = 50}}) {
                tobi::run([=] {
                  tobi::for_each(policy, a, tobi::mode::write,
                                 [](large& x, std::size_t i) { x.value = static_cast<std::uint32_t>(i); });
                  tobi::shuffle(policy, a, 6);
                });
                std::vector<bool> came(n);
                std::array<double, parts * parts> often{};
                std::uint64_t order = 0;
                tobi::for_each(tobi::seq, a, tobi::mode::read, [&](const large& x, std::size_t i) {
                  came[x.value] = true;
                  ++often[x.value * parts / n * parts + i * parts / n];
                  order = (order ^ x.value) * 0x100000001b3;
                });
                CHECK(std::find(came.begin(), came.end(), false) == came.end());
                const double expected = double{n} / (parts * parts);
                double chi = 0;
                for (const double times : often) chi += (times - expected) * (times - expected) / expected;
                CHECK(chi < 320);
                orders.push_back(order);
              }
              tobi::free_all(a);
            }
            CHECK(std::count(orders.begin(), orders.end(), std::uint64_t{0x30dec48da0434a02}) == 6);
            return 0;
          });
}

// A std::vector of bool is another one than of any other type.
TEST(global_orders, flags_are_shuffled) {
  in_each({{"shm", 2, {}}}, [](tobi::runtime&) {
    const auto a = tobi::allocate_all<bool>(40000);
    CHECK(tobi::run([=] {
            tobi::for_each(a, tobi::mode::write, [](bool& b, std::size_t i) { b = i < 777; });
            tobi::shuffle(a, 5);
            return tobi::count_if(a, [](bool b) { return b; });
          }) == 777);
    return 0;
  });
}

// What owns memory is swapped.
TEST(global_orders, elements_that_own_something) {
  in_each(small_caches(), [](tobi::runtime&) {
    CHECK(tobi::run([] {
            constexpr std::size_t n = 301;
            const execution_policy how{.cutoff = 10};
            tobi::global_vector<tobi::global_vector<long>> rows(n);
            const auto all = rows.span();
            tobi::for_each(how, all, [](tobi::global_vector<long>& row, std::size_t i) { row.resize(i % 7 + 1, 3L); });
            tobi::rotate(how, all, 100);
            long wrong = 0;
            tobi::for_each(tobi::seq, all, [&wrong](const tobi::global_vector<long>& row, std::size_t i) {
              if (row.size() != (i + 100) % n % 7 + 1) ++wrong;
            });
            return wrong;
          }) == 0);
    return 0;
  });
}

TEST(global_orders, what_does_not_fit_is_refused) {
  in_each({{"shm", 2, {}}}, [](tobi::runtime&) {
    const auto a = tobi::allocate_all<int>(10);
    const auto b = tobi::allocate_all<int>(9);
    const auto bins = tobi::allocate_all<long>(3);
    const auto says = [](auto call, std::string_view text) {
      try {
        tobi::run(call);
      } catch (const tobi::task_error& e) {
        return e.message().find(text) != std::string::npos;
      }
      return false;
    };
    constexpr std::string_view short_by_one = "a range of 9 elements is given for 10";
    CHECK(says([=] { tobi::reverse_copy(a, b); }, short_by_one));
    CHECK(says([=] { tobi::rotate_copy(a, 3, b); }, short_by_one));
    CHECK(says([=] { tobi::adjacent_difference(a, b); }, short_by_one));
    CHECK(says([=] { tobi::shuffle(a, b, 1); }, short_by_one));
    CHECK(says([=] { tobi::inplace_merge(a, 3, b); }, short_by_one));
    CHECK(says([=] { tobi::transform_inclusive_scan(a, b, std::plus<>(), std::negate<>()); }, short_by_one));
    CHECK(says([=] { tobi::rotate(a, 11); }, "tobi::rotate: place 11 of a range of 10 elements"));
    CHECK(says([=] { tobi::inplace_merge(a, 11); }, "tobi::inplace_merge: place 11 of a range of 10 elements"));
    const auto bin = [](int x) { return static_cast<std::size_t>(x) / 3; };
    CHECK(says(
        [=] {
          tobi::iota(a, 0);
          tobi::histogram(a, bins, bin);
        },
        "tobi::histogram: element 9 falls into bin 3 of 3"));
    return 0;
  });
}

}  // namespace
