// SPDX-License-Identifier: Apache-2.0
// lane: computes, 30 s
// ityr/ityr.hpp: loops, reductions and orders, compared with those of std.
#include <numeric>
#include <random>
#include <vector>

#include "tests/jobs/ityr.hpp"

namespace {

using namespace ityr;

INSTANTIATE_TEST_SUITE_P(ways, ityr_programs, ityr_ways(), name_of_way);

using values = std::vector<long>;
constexpr std::size_t sizes[] = {0, 1, 2, 101, 3001};

values some(std::size_t n, unsigned seed, long below) {
  std::mt19937 random(seed);
  values made(n);
  for (long& x : made) x = static_cast<long>(random() % static_cast<unsigned long>(below));
  return made;
}
// In main, where each process has the same values.
void write(const values& from, ori::global_ptr<long> to) {
  barrier();  // all have read what was there
  if (is_master()) ori::put(from.data(), to, from.size());
  barrier();
}
ori::global_ptr<long> put(const values& from) {
  const auto p = ori::malloc_coll<long>(std::max<std::size_t>(from.size(), 1));
  write(from, p);
  return p;
}
values taken(ori::global_ptr<long> p, std::size_t n) {
  values got(n);
  ori::get(p, got.data(), n);
  return got;
}
auto end_of(ori::global_ptr<long> p, std::size_t n) { return p + static_cast<std::ptrdiff_t>(n); }

/// BODY(policy, n) in main, for each size and policy; it is 0, or the line of what does not hold.
template <class Body>
int for_policies(const Body& body) {
  int wrong = 0;
  const auto with = [&](const auto& how, std::size_t n) {
    if (wrong == 0) wrong = body(how, n);
  };
  for (const std::size_t n : sizes) {
    with(execution::sequenced_policy(64), n);
    with(execution::parallel_policy(64), n);
    with(execution::parallel_policy(50, 7), n);
    if (n < 200) with(execution::par, n);
    if (n < 200) with(execution::seq, n);
  }
  return wrong;
}
/// What CALL, a call of an algorithm, returns in the root.
#define IN_ROOT(...) root_exec([=] { return __VA_ARGS__; })

TEST_P(ityr_programs, go_over_elements) {
  expect_zero([] {
    return for_policies([](const auto& how, std::size_t n) {
      const values a = some(n, 1, 1000), b = some(n, 2, 1000);
      const auto p = put(a), q = put(b);
      const auto last = end_of(p, n);
      values expected(n);
      IN_ROOT(for_each(how, make_global_iterator(p, checkout_mode::read),
                       make_global_iterator(last, checkout_mode::read),
                       make_global_iterator(q, checkout_mode::read_write), count_iterator<long>(0),
                       [](long x, long& y, long i) { y += x * i; }));
      for (std::size_t i = 0; i < n; ++i) expected[i] = b[i] + a[i] * static_cast<long>(i);
      CHECK(taken(q, n) == expected);
      IN_ROOT(for_each(how, p, last, [](ori::global_ref<long> x) { x = x + 1; }));
      CHECK(IN_ROOT(transform(how, p, last, q, [](long x) { return 2 * x; })) == end_of(q, n));
      for (std::size_t i = 0; i < n; ++i) expected[i] = 2 * (a[i] + 1);
      CHECK(taken(q, n) == expected);
      IN_ROOT(transform(how, p, last, q, p, [](long x, long y) { return x - y; }));
      for (std::size_t i = 0; i < n; ++i) expected[i] = -(a[i] + 1);
      CHECK(taken(p, n) == expected);
      CHECK(IN_ROOT(copy(how, p, last, q)) == end_of(q, n) && taken(q, n) == expected);
      IN_ROOT(fill(how, p, last, 6L));
      CHECK(taken(p, n) == values(n, 6));
      CHECK(IN_ROOT(move(how, q, end_of(q, n), p)) == last && taken(p, n) == expected);
      ori::free_coll(p);
      ori::free_coll(q);
      return 0;
    });
  });
}

TEST_P(ityr_programs, reduce_and_scan) {
  expect_zero([] {
    return for_policies([](const auto& how, std::size_t n) {
      const values a = some(n, 3, 1000), b = some(n, 4, 1000);
      const auto p = put(a), q = put(b);
      const auto last = end_of(p, n);
      const long sum = std::accumulate(a.begin(), a.end(), 0L);
      CHECK(IN_ROOT(reduce(how, p, last)) == sum && IN_ROOT(reduce(how, p, last, 5L)) == sum + 5);
      CHECK(IN_ROOT(reduce(how, p, last, reducer::plus<long>{})) == sum);
      CHECK(IN_ROOT(reduce(how, p, last, -1L, [](long x, long y) { return std::max(x, y); })) ==
            (n == 0 ? -1 : *std::max_element(a.begin(), a.end())));
      CHECK(IN_ROOT(transform_reduce(how, p, last, reducer::plus<long>{}, [](long x) { return 3 * x; })) == 3 * sum);
      CHECK(IN_ROOT(transform_reduce(how, p, last, 1L, std::plus<>{}, [](long x) { return 3 * x; })) == 3 * sum + 1);
      const long products = std::inner_product(a.begin(), a.end(), b.begin(), 0L);
      CHECK(IN_ROOT(transform_reduce(how, p, last, q)) == products &&
            IN_ROOT(transform_reduce(how, p, last, q, 2L)) == products + 2);
      CHECK(IN_ROOT(transform_reduce(how, p, last, q, reducer::plus<long>{}, std::multiplies<>{})) == products);
      CHECK(IN_ROOT(transform_reduce(how, p, last, q, 0L, std::plus<>{}, std::multiplies<>{})) == products);
      const auto [least, most] = IN_ROOT(reduce(how, p, last, reducer::minmax<long>{}));
      CHECK(n == 0 ||
            (least == *std::min_element(a.begin(), a.end()) && most == *std::max_element(a.begin(), a.end())));
      CHECK(IN_ROOT(reduce(how, p, last, reducer::min<long>{})) == least &&
            IN_ROOT(reduce(how, p, last, reducer::max<long>{})) == most);
      CHECK(IN_ROOT(transform_reduce(how, p, last, reducer::multiplies<double>{}, [](long) { return 1.0; })) == 1.0);
      CHECK(IN_ROOT(transform_reduce(how, p, last, reducer::logical_or{}, [](long x) { return x < 0; })) == false);
      // In order, also where it matters.
      CHECK(root_exec([=] {
        const auto in_a_row = reduce(how, p, last, reducer::vec_concat<long>{});
        return in_a_row.size() == n && equal(how, p, last, in_a_row.begin());
      }));
      const auto made = reducer::make_reducer([] { return 0L; }, [](long& acc, const long& x) { acc += x; },
                                              [](long& left, const long& right) { left += right; });
      CHECK(IN_ROOT(reduce(how, p, last, made)) == sum);
      CHECK(root_exec([=] {
        const auto bins = reduce(how, p, last, reducer::histogram<long>(10, 0, 999));
        return bins.size() == 10 && reduce(execution::seq, bins.begin(), bins.end()) == n;
      }));
      CHECK(root_exec([=] {
        const auto sums = transform_reduce(how, p, last, reducer::vec_element_wise<reducer::plus<long>>(2), [](long x) {
          return global_vector<long>({x, -x});
        });
        return sums[0] == sum && sums[1] == -sum;
      }));
      values expected(n);
      std::inclusive_scan(a.begin(), a.end(), expected.begin());
      CHECK(IN_ROOT(inclusive_scan(how, p, last, q)) == end_of(q, n) && taken(q, n) == expected);
      std::inclusive_scan(a.begin(), a.end(), expected.begin(), std::plus<>{}, 4L);
      IN_ROOT(inclusive_scan(how, p, last, q, reducer::plus<long>{}, 4L));
      CHECK(taken(q, n) == expected);
      IN_ROOT(transform_inclusive_scan(how, p, last, q, reducer::max<long>{}, [](long x) { return -x; }));
      std::transform_inclusive_scan(
          a.begin(), a.end(), expected.begin(), [](long x, long y) { return std::max(x, y); },
          [](long x) { return -x; });
      CHECK(taken(q, n) == expected);
      ori::free_coll(p);
      ori::free_coll(q);
      return 0;
    });
  });
}

TEST_P(ityr_programs, change_the_order_by_places) {
  expect_zero([] {
    return for_policies([](const auto& how, std::size_t n) {
      values a = some(n, 5, 1000);
      const auto p = put(a), q = put(a);
      const auto last = end_of(p, n);
      CHECK(IN_ROOT(equal(how, p, last, q)) && IN_ROOT(equal(how, p, last, q, end_of(q, n))));
      CHECK(n == 0 || !IN_ROOT(equal(how, p, last, q, [](long, long) { return false; })));
      IN_ROOT(reverse(how, p, last));
      std::reverse(a.begin(), a.end());
      CHECK(taken(p, n) == a);
      CHECK(IN_ROOT(reverse_copy(how, p, last, q)) == end_of(q, n));
      values other(n);
      std::reverse_copy(a.begin(), a.end(), other.begin());
      CHECK(taken(q, n) == other);
      const std::size_t at = n / 3;
      CHECK(IN_ROOT(rotate(how, p, end_of(p, at), last)) == end_of(p, n - at));
      std::rotate(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(at), a.end());
      CHECK(taken(p, n) == a);
      CHECK(IN_ROOT(rotate_copy(how, p, end_of(p, at), last, q)) == end_of(q, n));
      std::rotate_copy(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(at), a.end(), other.begin());
      CHECK(taken(q, n) == other);
      const auto even = [](long x) { return x % 2 == 0; };
      const auto border = std::stable_partition(a.begin(), a.end(), even) - a.begin();
      CHECK(IN_ROOT(stable_partition(how, p, last, even)) == p + border && taken(p, n) == a);
      CHECK(IN_ROOT(partition(how, q, end_of(q, n), even)) == q + border);
      default_random_engine random(42);
      auto same = random;
      root_exec([=]() mutable { shuffle(how, p, last, random); });
      const values shuffled = taken(p, n);
      CHECK(n < 100 || shuffled != a);
      CHECK(std::is_permutation(shuffled.begin(), shuffled.end(), a.begin()));
      write(a, q);
      root_exec([=]() mutable { shuffle(how, q, end_of(q, n), same); });
      CHECK(taken(q, n) == shuffled);
      ori::free_coll(p);
      ori::free_coll(q);
      return 0;
    });
  });
}

TEST_P(ityr_programs, change_the_order_by_values) {
  expect_zero([] {
    return for_policies([](const auto& how, std::size_t n) {
      values a = some(n, 6, 200), b = some(n / 2, 7, 200);
      const auto p = put(a), q = put(b), r = put(values(n + n / 2));
      const auto last = end_of(p, n);
      CHECK(IN_ROOT(is_sorted(how, p, last)) == std::is_sorted(a.begin(), a.end()));
      CHECK(IN_ROOT(min_element(how, p, last)) - p == std::min_element(a.begin(), a.end()) - a.begin());
      CHECK(IN_ROOT(max_element(how, p, last)) - p == std::max_element(a.begin(), a.end()) - a.begin());
      const auto [least, most] = IN_ROOT(minmax_element(how, p, last));
      const auto expected = std::minmax_element(a.begin(), a.end());
      CHECK(least - p == expected.first - a.begin() && most - p == expected.second - a.begin());
      IN_ROOT(sort(how, p, last));
      std::sort(a.begin(), a.end());
      CHECK(taken(p, n) == a && IN_ROOT(is_sorted(how, p, last)));
      IN_ROOT(stable_sort(how, q, end_of(q, n / 2), [](long x, long y) { return x / 10 < y / 10; }));
      std::stable_sort(b.begin(), b.end(), [](long x, long y) { return x / 10 < y / 10; });
      CHECK(taken(q, n / 2) == b);
      IN_ROOT(sort(how, q, end_of(q, n / 2)));
      std::sort(b.begin(), b.end());
      CHECK(IN_ROOT(merge(how, p, last, q, end_of(q, n / 2), r)) == end_of(r, n + n / 2));
      values merged;
      std::merge(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(merged));
      CHECK(taken(r, n + n / 2) == merged);
      write(a, r);
      write(b, end_of(r, n));
      IN_ROOT(inplace_merge(how, r, end_of(r, n), end_of(r, n + n / 2)));
      CHECK(taken(r, n + n / 2) == merged);
      for (const auto at : {p, q, r}) ori::free_coll(at);
      return 0;
    });
  });
}

TEST_P(ityr_programs, order_what_can_only_be_moved) {
  expect_zero([] {
    root_exec([] {
      const execution::parallel_policy how(32);
      const long n = 700;
      global_vector<movable> v;
      for (long i = 0; i < n; ++i) v.emplace_back(i * 37 % n);
      const auto before = [](const movable& x, const movable& y) { return x.value() < y.value(); };
      const auto in_order = [&] {
        long wrong = 0;
        for_each(execution::sequenced_policy(64), make_global_iterator(v.begin(), checkout_mode::read),
                 make_global_iterator(v.end(), checkout_mode::read), count_iterator<long>(0),
                 [&](const movable& m, long i) { wrong += m.value() == i ? 0 : 1; });
        return wrong == 0;
      };
      sort(how, v.begin(), v.end(), before);
      MUST(in_order() && is_sorted(how, v.begin(), v.end(), before));
      default_random_engine random(3);
      shuffle(how, v.begin(), v.end(), random);
      MUST(!in_order());
      const auto middle = partition(how, v.begin(), v.end(), [](const movable& m) { return m.value() < 300; });
      MUST(middle - v.begin() == 300);
      stable_sort(how, v.begin(), middle, before);
      stable_sort(how, middle, v.end(), before);
      MUST(in_order());
      reverse(how, v.begin(), v.end());
      rotate(how, v.begin(), v.begin() + 300, v.end());
      sort(execution::seq, v.begin(), v.end(), before);
      MUST(in_order());
    });
    return 0;
  });
}

TEST_P(ityr_programs, take_work_hints) {
  expect_zero([] {
    root_exec([] {
      const auto hints = create_workhint_range(execution::parallel_policy(100), count_iterator<long>(0),
                                               count_iterator<long>(1000), [](long x) { return x; });
      MUST(reduce(execution::parallel_policy(hints), count_iterator<long>(0), count_iterator<long>(1000)) == 499'500);
      MUST(reduce(execution::parallel_policy(100, hints), count_iterator<long>(0), count_iterator<long>(1000)) ==
           499'500);
      MUST(reduce(execution::parallel_policy(100, 10, hints.view()), count_iterator<long>(0),
                  count_iterator<long>(1000)) == 499'500);
#ifdef __cpp_aggregate_paren_init
      MUST(reduce(execution::parallel_policy{.cutoff_count = 10, .checkout_count = 5}, count_iterator<long>(0),
                  count_iterator<long>(1000)) == 499'500);
      MUST(reduce(execution::sequenced_policy{.checkout_count = 5}, count_iterator<long>(0),
                  count_iterator<long>(1000)) == 499'500);
#endif
    });
    return 0;
  });
}

}  // namespace
