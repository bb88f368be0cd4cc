// SPDX-License-Identifier: Apache-2.0
// lane: computes, 13 s
// The algorithms on global ranges beside those of the standard library: sizes 0 and 1, around the cutoffs, primes; over
// block and block-cyclic arrays, in each kind of job.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "global_shapes.hpp"

namespace {

using tobi::execution_policy;
using tobi::global_span;

// Associative and not commutative, without a neutral element that anybody uses: x -> a x + b, applied from left to
// right.
struct affine {
  std::uint32_t a = 0, b = 0;
  bool operator==(const affine&) const = default;
};
affine then(affine f, affine g) { return {f.a * g.a, f.b * g.a + g.b}; }

void elementwise(checker& c) {
  const std::size_t n = c.now.size;
  const execution_policy how = c.now.how;
  const auto a = tobi::allocate_all<std::uint32_t>(n, c.how);
  const auto b = tobi::allocate_all<std::uint64_t>(n, c.how);
  std::vector<std::uint32_t> x(n);
  std::vector<std::uint64_t> y(n);

  tobi::run([=] { tobi::fill(how, a, 7); });
  std::fill(x.begin(), x.end(), 7);
  c.same("fill", now_in(a), x);
  tobi::run([=] { tobi::iota(how, a, 5); });
  std::iota(x.begin(), x.end(), 5);
  c.same("iota", now_in(a), x);
  tobi::run([=] { tobi::for_each(how, a, [](std::uint32_t& e) { e *= 3; }); });
  for (std::uint32_t& e : x) e *= 3;
  c.same("for_each", now_in(a), x);
  tobi::run([=] { tobi::for_each(a, tobi::mode::read_write, [](std::uint32_t& e, std::size_t i) { e += i % 2; }); });
  for (std::size_t i = 0; i < n; ++i) x[i] += i % 2;
  c.same("for_each with an access and without a policy", now_in(a), x);
  tobi::run([=] { tobi::for_each(how, b, tobi::mode::write, [](std::uint64_t& e, std::size_t i) { e = mixed(i); }); });
  for (std::size_t i = 0; i < n; ++i) y[i] = mixed(i);
  c.same("for_each by index", now_in(b), y);
  tobi::run([=] { tobi::transform(how, a, b, b, [](std::uint32_t e, std::uint64_t f) { return e + 2 * f; }); });
  for (std::size_t i = 0; i < n; ++i) y[i] = x[i] + 2 * y[i];
  c.same("transform of two, in place", now_in(b), y);
  tobi::run([=] { tobi::transform(how, b, a, [](std::uint64_t e) { return static_cast<std::uint32_t>(e / 2); }); });
  for (std::size_t i = 0; i < n; ++i) x[i] = static_cast<std::uint32_t>(y[i] / 2);
  c.same("transform", now_in(a), x);
  tobi::run([=] { tobi::copy(how, a, b); });
  c.same("copy", now_in(b), std::vector<std::uint64_t>(x.begin(), x.end()));
  tobi::free_all(a);
  tobi::free_all(b);
}

void reductions(checker& c) {
  const std::size_t n = c.now.size;
  const execution_policy how = c.now.how;
  const auto a = tobi::allocate_all<affine>(n, c.how);
  const auto k = tobi::allocate_all<std::uint32_t>(n, c.how);
  std::vector<affine> x(n);
  std::vector<std::uint32_t> y(n);
  for (std::size_t i = 0; i < n; ++i) {
    x[i] = {mixed(i) | 1, mixed(i + n)};
    y[i] = mixed(i) % 1000;
  }
  tobi::run([=] {
    tobi::for_each(how, a, tobi::mode::write, [n](affine& e, std::size_t i) { e = {mixed(i) | 1, mixed(i + n)}; });
    tobi::for_each(how, k, tobi::mode::write, [](std::uint32_t& e, std::size_t i) { e = mixed(i) % 1000; });
  });
  const affine first{3, 5};
  c.same("reduce", tobi::run([=] { return tobi::reduce(how, a, first, then); }),
         std::accumulate(x.begin(), x.end(), first, then));
  c.same("the sum", tobi::run([=] { return tobi::reduce(how, k); }), std::reduce(y.begin(), y.end()));
  const auto wide = [](std::uint32_t e) { return std::uint64_t{e} * e; };
  c.same("transform_reduce",
         tobi::run([=] { return tobi::transform_reduce(how, k, std::uint64_t{9}, std::plus<>(), wide); }),
         std::transform_reduce(y.begin(), y.end(), std::uint64_t{9}, std::plus<>(), wide));
  const auto product = [](const affine& e, std::uint32_t f) { return std::uint64_t{e.b} * f; };
  c.same("transform_reduce of two",
         tobi::run([=] { return tobi::transform_reduce(how, a, k, std::uint64_t{1}, std::plus<>(), product); }),
         std::transform_reduce(x.begin(), x.end(), y.begin(), std::uint64_t{1}, std::plus<>(), product));
  const auto odd = [](std::uint32_t e) { return e % 2 == 1; };
  c.same("count_if", tobi::run([=] { return tobi::count_if(how, k, odd); }),
         static_cast<std::size_t>(std::count_if(y.begin(), y.end(), odd)));
  // Every match is a first one of some range; also what is not there, and the very first and last.
  for (const std::uint32_t wanted : {y.empty() ? 0u : y.front(), y.empty() ? 0u : y.back(), 500u, 1u, 1000u}) {
    c.same("find", tobi::run([=] { return tobi::find(how, k, wanted) - k.data(); }),
           std::find(y.begin(), y.end(), wanted) - y.begin());
  }
  const auto above = [](std::uint32_t e) { return e > 990; };
  c.same("find_if", tobi::run([=] { return tobi::find_if(how, k, above) - k.data(); }),
         std::find_if(y.begin(), y.end(), above) - y.begin());
  tobi::free_all(a);
  tobi::free_all(k);
}

// Of many equal elements the first, or the last one.
void extremes(checker& c) {
  const std::size_t n = c.now.size;
  const execution_policy how = c.now.how;
  const auto a = tobi::allocate_all<record>(n, c.how);
  std::vector<record> x(n);
  for (const std::uint32_t keys : {1u << 30, 50u, 1u}) {
    const auto make = [=](std::size_t i) { return record{mixed(i + keys) % keys, static_cast<std::uint32_t>(i)}; };
    for (std::size_t i = 0; i < n; ++i) x[i] = make(i);
    const auto found = tobi::run([=] {
      const global_span<const record> read = a;
      tobi::for_each(how, a, tobi::mode::write, [=](record& r, std::size_t i) { r = make(i); });
      const auto both = tobi::minmax_element(how, read, earlier);
      return std::array{tobi::min_element(how, a, earlier) - a.begin(),
                        tobi::max_element(how, read, earlier) - read.begin(), both.first - read.begin(),
                        both.second - read.begin()};
    });
    const auto both = std::minmax_element(x.begin(), x.end(), earlier);
    c.same("min_element", found[0], std::min_element(x.begin(), x.end(), earlier) - x.begin());
    c.same("max_element", found[1], std::max_element(x.begin(), x.end(), earlier) - x.begin());
    c.same("minmax_element, the first", found[2], both.first - x.begin());
    c.same("minmax_element, the last", found[3], both.second - x.begin());
  }
  tobi::free_all(a);
}

// The place is right, what is on either side belongs there, and all elements are there. A second time the order is the
// same.
void places(checker& c) {
  const std::size_t n = c.now.size;
  const execution_policy how = c.now.how;
  const auto a = tobi::allocate_all<record>(n, c.how);
  const auto before = [](const record& x, const record& y) {
    return std::pair(x.key, x.place) < std::pair(y.key, y.place);
  };
  struct wish {
    std::uint32_t keys;  // 0: ascending ones
    std::size_t nth;
  };
  std::vector<record> last;
  for (const wish w : {wish{1u << 30, n / 3}, wish{1u << 30, n / 3}, wish{3, n / 3}, wish{0, n - n / 50 - 1}}) {
    if (w.nth >= n) continue;
    const auto make = [=](std::size_t i) {
      const auto place = static_cast<std::uint32_t>(i);
      return record{w.keys == 0 ? place : mixed(i) % w.keys, place};
    };
    std::vector<record> sorted(n);
    for (std::size_t i = 0; i < n; ++i) sorted[i] = make(i);
    std::sort(sorted.begin(), sorted.end(), before);
    tobi::run([=] {
      tobi::for_each(how, a, tobi::mode::write, [=](record& r, std::size_t i) { r = make(i); });
      tobi::nth_element(how, a, w.nth, earlier);
    });
    std::vector<record> found = now_in(a);
    if (!last.empty() && w.keys == 1u << 30) c.same("nth_element, again", found, last);
    last = found;
    const auto at = found.begin() + static_cast<std::ptrdiff_t>(w.nth);
    c.same("nth_element", at->key, sorted[w.nth].key);
    c.same("what is before it", std::any_of(found.begin(), at, [=](auto& r) { return earlier(*at, r); }), false);
    c.same("what is behind it", std::any_of(at, found.end(), [=](auto& r) { return earlier(r, *at); }), false);
    std::sort(found.begin(), found.end(), before);
    c.same("nth_element, the elements", found, sorted);
  }
  tobi::free_all(a);
}

void scans(checker& c) {
  const std::size_t n = c.now.size;
  const execution_policy how = c.now.how;
  const auto a = tobi::allocate_all<affine>(n, c.how);
  const auto b = tobi::allocate_all<affine>(n, c.how);
  std::vector<affine> x(n);
  std::vector<affine> y(n);
  for (std::size_t i = 0; i < n; ++i) x[i] = {mixed(i) | 1, mixed(3 * i)};
  tobi::run([=] {
    tobi::for_each(how, a, tobi::mode::write, [](affine& e, std::size_t i) { e = {mixed(i) | 1, mixed(3 * i)}; });
  });
  const affine first{3, 5};
  tobi::run([=] { tobi::inclusive_scan(how, a, b, then); });
  std::inclusive_scan(x.begin(), x.end(), y.begin(), then);
  c.same("inclusive_scan", now_in(b), y);
  tobi::run([=] { tobi::inclusive_scan(how, a, b, then, first); });
  std::inclusive_scan(x.begin(), x.end(), y.begin(), then, first);
  c.same("inclusive_scan with an initial value", now_in(b), y);
  tobi::run([=] { tobi::exclusive_scan(how, a, b, first, then); });
  std::exclusive_scan(x.begin(), x.end(), y.begin(), first, then);
  c.same("exclusive_scan", now_in(b), y);
  tobi::run([=] { tobi::exclusive_scan(how, a, a, first, then); });
  c.same("exclusive_scan in place", now_in(a), y);
  tobi::free_all(a);
  tobi::free_all(b);
}

void selections(checker& c) {
  const std::size_t n = c.now.size;
  const execution_policy how = c.now.how;
  const auto a = tobi::allocate_all<record>(n, c.how);
  const auto b = tobi::allocate_all<record>(n + 1, c.how);
  std::vector<record> x(n);
  for (std::size_t i = 0; i < n; ++i) x[i] = {mixed(i) % 64, static_cast<std::uint32_t>(i)};
  const auto fill_a = [=] {
    tobi::for_each(how, a, tobi::mode::write, [](record& r, std::size_t i) {
      r = {mixed(i) % 64, static_cast<std::uint32_t>(i)};
    });
  };
  // Some, a few, none and all of them.
  for (const std::uint32_t below : {40u, 1u, 0u, 64u}) {
    const auto chosen = [below](const record& r) { return r.key < below; };
    const auto place = [](auto at, auto begin) { return static_cast<std::size_t>(at - begin); };
    std::vector<record> wanted;
    std::copy_if(x.begin(), x.end(), std::back_inserter(wanted), chosen);
    tobi::run(fill_a);
    const std::size_t copied = tobi::run([=] {
      tobi::store(&b[n], record{77, 77});
      return tobi::copy_if(how, global_span<const record>(a), b.first(n), chosen);
    });
    c.same("copy_if", now_in(b.first(copied)), wanted);
    c.same("what copy_if leaves", tobi::load(&b[n]), record{77, 77});
    c.same("what copy_if reads", now_in(a), x);
    const std::size_t first = tobi::run([=] { return tobi::partition(how, a, chosen); });
    std::vector<record> both = x;
    c.same("partition, the place", first, place(std::stable_partition(both.begin(), both.end(), chosen), both.begin()));
    c.same("partition", now_in(a), both);
    tobi::run(fill_a);
    const std::size_t stay = tobi::run([=] { return tobi::remove_if(how, a, chosen).size(); });
    std::vector<record> left = x;
    left.erase(std::remove_if(left.begin(), left.end(), chosen), left.end());
    c.same("remove_if", now_in(a.first(stay)), left);
  }
  for (const std::uint32_t keys : {64u, 2u, 1u}) {
    const auto alike = [keys](const record& one, const record& two) { return one.key % keys == two.key % keys; };
    tobi::run(fill_a);
    const std::size_t kept = tobi::run([=] { return tobi::unique(how, a, alike).size(); });
    std::vector<record> wanted = x;
    wanted.erase(std::unique(wanted.begin(), wanted.end(), alike), wanted.end());
    c.same("unique", now_in(a.first(kept)), wanted);
  }
  tobi::free_all(b);
  tobi::free_all(a);
}

void sorts(checker& c) {
  const std::size_t n = c.now.size;
  const execution_policy how = c.now.how;
  const auto a = tobi::allocate_all<record>(n, c.how);
  const auto b = tobi::allocate_all<record>(2 * n + n / 3, c.how);
  const auto scratch = tobi::allocate_all<record>(n, c.how);
  std::vector<record> x(n);
  for (const std::uint32_t keys : {1u << 30, 50u}) {
    const auto fill_a = [=] {
      tobi::for_each(how, a, tobi::mode::write, [=](record& r, std::size_t i) {
        r = {mixed(i) % keys, static_cast<std::uint32_t>(i)};
      });
    };
    tobi::run(fill_a);
    for (std::size_t i = 0; i < n; ++i) x[i] = {mixed(i) % keys, static_cast<std::uint32_t>(i)};
    std::stable_sort(x.begin(), x.end(), earlier);
    tobi::run([=] { tobi::sort(how, a, earlier); });
    c.same("sort", now_in(a), x);
    tobi::run(fill_a);
    tobi::run([=] { tobi::sort(how, a, scratch, earlier); });
    c.same("sort with scratch", now_in(a), x);

    // Merged with another sorted range, shorter or longer; places say which range an element is from.
    for (const std::size_t m : {n / 3, n + n / 7}) {
      std::vector<record> other(m);
      for (std::size_t i = 0; i < m; ++i) other[i] = {mixed(i + n) % keys, static_cast<std::uint32_t>(n + i)};
      std::stable_sort(other.begin(), other.end(), earlier);
      const auto second = tobi::allocate_all<record>(m, c.how);
      tobi::run([=] {
        tobi::for_each(how, second, tobi::mode::write, [=](record& r, std::size_t i) {
          r = {mixed(i + n) % keys, static_cast<std::uint32_t>(n + i)};
        });
        tobi::sort(how, second, earlier);
      });
      const auto into = b.first(n + m);
      std::vector<record> wanted(n + m);
      tobi::run([=] { tobi::merge(how, a, second, into, earlier); });
      std::merge(x.begin(), x.end(), other.begin(), other.end(), wanted.begin(), earlier);
      c.same("merge", now_in(into), wanted);
      tobi::run([=] { tobi::merge(how, second, global_span<const record>(a), into, earlier); });
      std::merge(other.begin(), other.end(), x.begin(), x.end(), wanted.begin(), earlier);
      c.same("merge, turned round", now_in(into), wanted);
      tobi::free_all(second);
    }
  }
  // Numbers, in the usual order.
  const auto k = tobi::allocate_all<std::uint64_t>(n, c.how);
  std::vector<std::uint64_t> y(n);
  for (std::size_t i = 0; i < n; ++i) y[i] = mixed(i);
  std::sort(y.begin(), y.end());
  tobi::run([=] {
    tobi::for_each(how, k, tobi::mode::write, [](std::uint64_t& e, std::size_t i) { e = mixed(i); });
    tobi::sort(how, k);
  });
  c.same("sort of numbers", now_in(k), y);
  // Values that go with their keys; some keys are equal.
  tobi::run([=] {
    tobi::for_each(how, k, tobi::mode::write, [](std::uint64_t& e, std::size_t i) { e = mixed(i) % 100; });
    tobi::for_each(how, a, tobi::mode::write, [](record& r, std::size_t i) {
      r = {mixed(i) % 100, static_cast<std::uint32_t>(i)};
    });
    tobi::sort_by_key(how, k, a, std::greater<>());
  });
  for (std::size_t i = 0; i < n; ++i) x[i] = {mixed(i) % 100, static_cast<std::uint32_t>(i)};
  std::stable_sort(x.begin(), x.end(), [](const record& one, const record& two) { return earlier(two, one); });
  for (std::size_t i = 0; i < n; ++i) y[i] = x[i].key;
  c.same("sort_by_key, the keys", now_in(k), y);
  c.same("sort_by_key, the values", now_in(a), x);
  tobi::free_all(k);
  tobi::free_all(scratch);
  tobi::free_all(b);
  tobi::free_all(a);
}

TEST(global_algorithms, element_by_element) {
  all_shapes(whole ? small_caches() : less_over_sockets(lazy), elementwise);
}
TEST(global_algorithms, reductions) { all_shapes(whole ? small_caches() : less_over_sockets(lazy), reductions); }
TEST(global_algorithms, extremes) { all_shapes(whole ? small_caches() : less_over_sockets(lazy), extremes); }
TEST(global_algorithms, places) { all_shapes(whole ? small_caches() : less_over_sockets(""), places); }
TEST(global_algorithms, scans) { all_shapes(whole ? small_caches() : less_over_sockets(lazy), scans); }
TEST(global_algorithms, selections) { all_shapes(whole ? small_caches() : less_over_sockets(lazy), selections); }
TEST(global_algorithms, sorts_and_merges) {
  all_shapes(in_soak ? small_caches() : less_over_sockets(whole ? lazy : ""), sorts);
}

// A chunk never takes more of the cache than there is, down to a block for each range.
TEST(global_algorithms, the_smallest_caches) {
  const std::pair<const char*, const char*> block{"TOBI_BLOCK_SIZE", "4K"}, sub{"TOBI_SUB_BLOCK_SIZE", "1K"},
      nodes{"TOBI_NODES", "2"}, sim{"TOBI_TRANSPORT", "sim"};
  all_shapes({{"3 blocks", 2, {nodes, sim, block, sub, {"TOBI_CACHE_SIZE", "12K"}}}}, elementwise);
  all_shapes({{"3 blocks", 2, {nodes, sim, block, sub, {"TOBI_CACHE_SIZE", "12K"}}}}, scans);
  all_shapes({{"4 blocks", 2, {nodes, sim, block, sub, {"TOBI_CACHE_SIZE", "16K"}}}}, selections);
  all_shapes({{"4 blocks", 2, {nodes, sim, block, sub, {"TOBI_CACHE_SIZE", "16K"}}}}, places);
  all_shapes({{"4 blocks", 2, {nodes, sim, block, sub, {"TOBI_CACHE_SIZE", "16K"}}}}, sorts);
}

// Elements with memory of their own are read and written in place.
TEST(global_algorithms, elements_that_own_something) {
  in_each(small_caches(), [](tobi::runtime&) {
    const long got = tobi::run([] {
      constexpr std::size_t n = 300;
      tobi::global_vector<tobi::global_vector<long>> rows(n);
      const auto all = rows.span();
      const execution_policy how{.cutoff = 10};
      tobi::for_each(how, all, [](tobi::global_vector<long>& row, std::size_t i) { row.resize(i % 7 + 1, 3L); });
      tobi::global_vector<long> sums(n);
      const auto out = sums.span();
      tobi::transform(how, all, out,
                      [](const tobi::global_vector<long>& row) { return tobi::reduce(tobi::seq, row.span()); });
      tobi::transform(how, out, all, [](long s) { return tobi::global_vector<long>(static_cast<std::size_t>(s), 1L); });
      return tobi::transform_reduce(how, tobi::global_span<const tobi::global_vector<long>>(all), 0L, std::plus<>(),
                                    [](const tobi::global_vector<long>& row) { return static_cast<long>(row.size()); });
    });
    long wanted = 0;
    for (long i = 0; i < 300; ++i) wanted += 3 * (i % 7 + 1);
    CHECK(got == wanted);
    return 0;
  });
}

TEST(global_algorithms, ranges_that_do_not_go_together_are_refused) {
  const outcome o = in_job(2, {}, [](tobi::runtime&) {
    const auto a = tobi::allocate_all<int>(10);
    const auto b = tobi::allocate_all<int>(9);
    int refused = 0;
    const auto refuses = [&](auto call) {
      try {
        tobi::run(call);
      } catch (const tobi::task_error& e) {
        const std::string text = e.what();
        if (text.find("std::length_error") != std::string::npos &&
            text.find("a range of 9 elements is given for 10") != std::string::npos) {
          ++refused;
        }
      }
    };
    refuses([=] { tobi::copy(a, b); });
    refuses([=] { tobi::transform(a, b, [](int x) { return x; }); });
    refuses([=] { tobi::transform(a, b, a, std::plus<>()); });
    refuses([=] { tobi::transform(a, a, b, std::plus<>()); });
    refuses([=] { tobi::inclusive_scan(a, b); });
    refuses([=] { tobi::exclusive_scan(a, b, 0); });
    refuses([=] { tobi::merge(a.first(5), a.subspan(5), b); });
    refuses([=] { tobi::sort(a, b); });
    refuses([=] { (void)tobi::transform_reduce(a, b, 0, std::plus<>(), std::multiplies<>()); });
    CHECK(refused == 9);
    return 0;
  });
  EXPECT_EQ(o.status, 0);
  EXPECT_EQ(o.said, "");
}

TEST(global_algorithms, a_place_behind_the_end_is_refused) {
  in_each({{"shm", 2, {}}}, [](tobi::runtime&) {
    const auto a = tobi::allocate_all<int>(10);
    CHECK(tobi::run([=] {
      tobi::iota(a, 0);
      tobi::nth_element(a, 10);
      try {
        tobi::nth_element(a, 11);
      } catch (const std::out_of_range& e) {
        return std::string_view(e.what()) == "tobi::nth_element: place 11 of a range of 10 elements";
      }
      return false;
    }));
    return 0;
  });
}

// What a function throws ends the algorithm, with no checkout left behind, and leaves no task.
TEST(global_algorithms, a_function_may_throw) {
  in_each({{"shm", 2, {}}, {"sim", 2, {{"TOBI_NODES", "2"}, {"TOBI_TRANSPORT", "sim"}}}}, [](tobi::runtime&) {
    const auto a = tobi::allocate_all<int>(5000);
    for (const int bad : {0, 2500, 4999}) {
      try {
        tobi::run([=] {
          tobi::iota(a, 0);
          tobi::for_each({.cutoff = 50}, a, [=](int& x) {
            if (x == bad) throw std::out_of_range("this one");
          });
        });
        CHECK(!"the function that throws ends the algorithm");
      } catch (const tobi::task_error& e) {
        CHECK(e.message().find("this one") != std::string::npos);
      }
      CHECK(tobi::run([=] { return tobi::reduce(a); }) == 4999 * 2500);
    }
    return 0;
  });
}

}  // namespace
