// SPDX-License-Identifier: Apache-2.0
// What a program may write because it reads well: pairs and tuples as values of tasks, functions with their arguments,
// results of parallel_invoke, two types of index in one loop, checkouts that are const.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <string>
#include <tobi/tobi.hpp>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "tests/jobs/in_job.hpp"

namespace {

template <class Body>
void holds(Body body) {
  for (const char* workers : {"1", "3"}) {
    const outcome o = in_job(std::stoi(workers), {{"TOBI_TRANSPORT", "shm"}},
                             [=](tobi::runtime&) { return tobi::run(body) ? 0 : 1; });
    EXPECT_EQ(o.status, 0) << workers << " workers: " << o.said;
  }
}

TEST(comfort, pairs_and_tuples_are_results) {
  holds([] {
    auto small = tobi::spawn([] { return std::pair<long, int>(5, 6); });
    auto large = tobi::spawn([] { return std::tuple<long, double, int, char>(1, 2.5, 3, 'x'); });
    auto future = tobi::spawn_future([] { return std::pair<char, long>('y', 7); });
    const auto promise = tobi::make_promise<std::pair<int, int>>();
    promise.set({8, 9});
    return small.join() == std::pair<long, int>(5, 6) &&
           large.join() == std::tuple<long, double, int, char>(1, 2.5, 3, 'x') &&
           future.join() == std::pair<char, long>('y', 7) && promise.get_future().join() == std::pair<int, int>(8, 9);
  });
}

TEST(comfort, the_place_of_the_least_is_a_reduction_of_pairs) {
  using found = std::pair<int, int>;
  holds([] {
    const found least = tobi::parallel_reduce(
        0, 1000, 10, found(1 << 30, -1), [](int i) { return found((i * 37 + 5) % 1001, i); },
        [](found a, found b) { return a < b ? a : b; });
    return least.second >= 0 && (least.second * 37 + 5) % 1001 == least.first && least.first <= 1;
  });
}

TEST(comfort, pairs_are_elements) {
  holds([] {
    using element = std::pair<int, long>;
    constexpr std::size_t n = 5000;
    tobi::global_vector<element> all(n);
    tobi::global_vector<element> scratch(n);
    tobi::parallel_for(0, n, 64, [at = all.data()](auto i) {
      tobi::store(at + i, element(static_cast<int>(i * 7919 % 5000), static_cast<long>(i)));
    });
    tobi::sort(all.span(), scratch.span());
    bool sorted = true;
    for (std::size_t i = 1; i < n; ++i)
      sorted = sorted && tobi::load(all.data() + (i - 1)) < tobi::load(all.data() + i);
    return sorted;
  });
}

TEST(comfort, two_types_of_index_are_one_loop) {
  holds([] {
    const std::size_t n = 100;
    const auto count = [](auto begin, auto end) {
      const auto seen = tobi::allocate_global<long>(1);
      tobi::store(seen, 0L);
      tobi::parallel_for(begin, end, 1000, [=](auto i) {
        static_assert(std::is_signed_v<decltype(i)>);
        tobi::store(seen, tobi::load(seen) + 1);
      });
      const long times = tobi::load(seen);
      tobi::free_global(seen, 1);
      return times;
    };
    const int last = std::numeric_limits<int>::max();
    return count(0, n) == 100 && count(last - 5, static_cast<unsigned>(last) + 10U) == 15 && count(-3, n) == 103 &&
           count(5L, 4U) == 0 && count(std::size_t{7}, -1) == 0;
  });
}

long sum_of(long a, int b) { return a + b; }
long seven() { return 7; }
struct alignas(64) line {
  std::array<long, 8> v;
};
struct adder {
  long start;
  long add(long to) const { return start + to; }
};

TEST(comfort, a_function_is_spawned_with_its_arguments) {
  holds([] {
    const line wide{{1, 2, 3}};
    const char text[] = "abc";
    auto none = tobi::spawn(seven);
    auto two = tobi::spawn(sum_of, 3, 4);  // converted as in a call
    auto closure = tobi::spawn([](long a, std::pair<int, int> b) { return a * b.first + b.second; }, 10L,
                               std::pair<int, int>(2, 5));
    auto large = tobi::spawn([](const line& l, long i) { return l.v[static_cast<std::size_t>(i)]; }, wide, 2);
    auto member = tobi::spawn(&adder::add, adder{30}, 4);
    auto decayed = tobi::spawn([](const char* s) { return s != nullptr; }, text);
    auto state = tobi::spawn([n = 1](int more) mutable { return n += more; }, 2);
    const auto place = tobi::allocate_global<long>(1);
    auto nothing = tobi::spawn([](tobi::global_ptr<long> at) { tobi::store(at, 9L); }, place);
    nothing.join();
    const long stored = tobi::load(place);
    tobi::free_global(place, 1);
    return none.join() == 7 && two.join() == 7 && closure.join() == 25 && large.join() == 3 && member.join() == 34 &&
           decayed.join() && state.join() == 3 && stored == 9;
  });
}

// Their bytes are the task's own, wherever they were.
TEST(comfort, a_closure_may_lie_anywhere) {
  holds([] {
    static const auto lasting = [v = line{{4, 5, 6}}] { return v.v[1]; };
    auto one = tobi::spawn(lasting);
    auto counting = [v = line{}]() mutable { return ++v.v[0]; };
    auto two = tobi::spawn(counting);
    auto three = tobi::spawn(counting);  // the first task counted in its own copy
    auto later = tobi::spawn_future(counting);
    return one.join() == 5 && two.join() == 1 && three.join() == 1 && later.join() == 1;
  });
}

TEST(comfort, parallel_invoke_returns_its_results) {
  holds([] {
    const auto [a, b, c] = tobi::parallel_invoke(
        seven, [] {}, [] { return std::pair<int, double>(1, 2.5); });
    static_assert(std::is_same_v<decltype(b), const std::monostate>);
    const line wide{{1, 2}};
    const std::tuple<line, int> last = tobi::parallel_invoke([=] { return wide; }, [] { return 3; });
    const std::tuple<long> alone = tobi::parallel_invoke(seven);
    static_assert(std::is_same_v<decltype(tobi::parallel_invoke()), std::tuple<>>);
    return a == 7 && c == std::pair<int, double>(1, 2.5) && std::get<0>(last).v[1] == 2 && std::get<1>(last) == 3 &&
           std::get<0>(alone) == 7;
  });
}

TEST(comfort, sort_takes_a_vector_and_reduce_an_initial_value) {
  holds([] {
    tobi::global_vector<int> v;
    tobi::sort(v);
    for (int i = 0; i < 5000; ++i) v.push_back(i * 7919 % 5000);
    const auto all = v.span();
    tobi::sort(v);
    bool right = all[0] == 0 && all[4999] == 4999;
    tobi::sort({.cutoff = 100}, v, std::greater<>());
    right = right && all[0] == 4999 && all[4999] == 0;
    tobi::sort(tobi::seq, v.span());
    right = right && std::is_sorted(v.begin(), v.end());
    return right && tobi::reduce(all, 1L << 40) == (1L << 40) + 4999L * 2500 &&
           tobi::reduce({.cutoff = 100}, all, 0.5) == 4999.0 * 2500 + 0.5;
  });
}

TEST(comfort, a_const_checkout_is_usable) {
  holds([] {
    constexpr std::size_t n = 8;
    const auto at = tobi::allocate_global<long>(n);
    {
      const auto out = tobi::checkout(at, n, tobi::mode::write);
      for (long& x : out) x = 3;
      out[1] = 4;
      *out = 5;
    }
    long sum = 0;
    {
      const auto in = tobi::checkout_nb(at, n, tobi::mode::read);
      for (const long x : in) sum += x;
    }
    tobi::free_global(at, n);
    return sum == 27;
  });
}

}  // namespace
