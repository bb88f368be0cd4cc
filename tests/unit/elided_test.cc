// SPDX-License-Identifier: Apache-2.0
// The serial elision: the same source without a runtime.
#define TOBI_ELIDE
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tobi/algorithm.hpp>
#include <tobi/finish.hpp>
#include <tobi/future.hpp>
#include <tobi/global_vector.hpp>
#include <tobi/mapped_file.hpp>
#include <tobi/task_group.hpp>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace {

TEST(elided, a_future_is_joined_by_its_consumers) {
  const auto f = tobi::spawn_future([] { return 20; }, 2);
  EXPECT_EQ(f.join() + f.join(), 40);
}

TEST(elided, a_promise_is_set_once_and_before_it_is_joined) {
  const auto p = tobi::make_promise<int>(tobi::any_number);
  EXPECT_THROW((void)p.get_future().join(), std::logic_error);
  p.set(3);
  EXPECT_THROW(p.set(4), std::logic_error);
  EXPECT_EQ(p.get_future().join(), 3);
  const auto nothing = tobi::make_promise<void>();
  nothing.set();
  nothing.get_future().join();
}

TEST(elided, a_finish_gathers_what_fails_in_it) {
  int ran = 0;
  try {
    tobi::finish([&] {
      int* count = &ran;
      for (int i = 0; i < 5; ++i) {
        tobi::async([=] {
          ++*count;
          throw std::out_of_range("one");
        });
      }
    });
    FAIL();
  } catch (const tobi::finish_error& e) {
    EXPECT_EQ(e.count(), 5u);
    EXPECT_EQ(std::string(e.what()), "5 of the tasks of a finish failed: one; one; one");
  }
  EXPECT_EQ(ran, 5);
  EXPECT_THROW(tobi::async([] {}), std::logic_error);
}

TEST(elided, functions_have_arguments_and_invocations_results) {
  auto child = tobi::spawn([](int a, long b) { return a + b; }, 3, 4);
  EXPECT_EQ(child.join(), 7);
  const std::tuple<int, std::monostate, long> got =
      tobi::parallel_invoke([] { return 1; }, [] {}, [n = 2L]() mutable { return ++n; });
  EXPECT_EQ(std::get<0>(got), 1);
  EXPECT_EQ(std::get<2>(got), 3);
}

TEST(elided, a_group_gathers_what_fails_in_it) {
  int ran = 0;
  tobi::task_group group;
  for (int i = 0; i < 5; ++i) {
    group.run([count = &ran] {
      tobi::async([=] { ++*count; });
      throw std::out_of_range("one");
    });
  }
  EXPECT_THROW(group.wait(), tobi::finish_error);
  group.wait();
  EXPECT_EQ(ran, 5);
}

TEST(elided, loops_need_no_grain) {
  std::vector<int> times(1000);
  tobi::parallel_for(0, times.size(), [&](auto i) { ++times[static_cast<std::size_t>(i)]; });
  tobi::parallel_for(0, 1000, [&](int first, int last) {
    for (int i = first; i < last; ++i) ++times[static_cast<std::size_t>(i)];
  });
  EXPECT_EQ(times, std::vector<int>(1000, 2));
  EXPECT_EQ(tobi::parallel_reduce(
                0, 5000, 0, [](int i) { return i; }, std::plus<>()),
            12497500);
}

TEST(elided, chunks_and_selections) {
  tobi::global_vector<int> a(100), b(100);
  tobi::iota(a.span(), 0);
  tobi::for_chunks(tobi::in(a.span(), 1, 1), tobi::out(b.span()),
                   [](std::size_t first, std::size_t n, auto* x, auto* y) {
                     for (std::size_t i = 0; i < n; ++i) y[i] = first + i == 0 ? x[i] : x[i] + x[i - 1];
                   });
  const auto sum = [](std::size_t, std::size_t n, const int* x) { return std::accumulate(x, x + n, 0); };
  EXPECT_EQ(tobi::reduce_chunks(tobi::in(b.span()), 1, std::plus<>(), sum), 1 + 99 * 99 + 0);
  EXPECT_EQ(tobi::remove_if(a.span(), [](int x) { return x % 3 == 0; }).size(), 66u);
  EXPECT_EQ(tobi::partition(b.span(), [](int x) { return x > 100; }), 49u);
}

TEST(elided, extremes_and_places) {
  tobi::global_vector<int> a(1000);
  EXPECT_EQ(tobi::min_element(a.span().first(0)), a.begin());
  tobi::for_each(a.span(), tobi::mode::write, [](int& x, std::size_t i) { x = static_cast<int>(i * 7 % 10); });
  EXPECT_EQ(tobi::min_element(a.span()) - a.begin(), 0);
  EXPECT_EQ(tobi::max_element(a.span()) - a.begin(), 7);
  EXPECT_EQ(tobi::minmax_element(a.span()).second - a.begin(), 997);
  for (const std::size_t nth : {std::size_t{0}, std::size_t{431}, std::size_t{999}}) {
    tobi::nth_element({.cutoff = 10}, a.span(), nth, std::greater<>());
    EXPECT_EQ(a[nth], 9 - static_cast<int>(nth / 100));
  }
}

// The lines of TEXT by parts that meet at ONE and at TWO.
std::vector<std::string> lines_of(std::string_view text, std::size_t one, std::size_t two) {
  std::vector<std::string> lines;
  for (const auto& [begin, end] : {std::pair(std::size_t{0}, one), std::pair(one, two), std::pair(two, text.size())}) {
    tobi::for_lines(text, begin, end, [&](std::string_view line) { lines.emplace_back(line); });
  }
  return lines;
}
TEST(elided, each_line_is_of_one_part_wherever_the_parts_meet) {
  using lines = std::vector<std::string>;
  const std::vector<std::pair<std::string_view, lines>> texts = {{"", {}},
                                                                 {"\n", {""}},
                                                                 {"\n\n\n", {"", "", ""}},
                                                                 {"one", {"one"}},
                                                                 {"one\n", {"one"}},
                                                                 {"\none\n\ntwo", {"", "one", "", "two"}},
                                                                 {"a\nbc\ndef\n", {"a", "bc", "def"}},
                                                                 {"a\r\n\r\nb", {"a\r", "\r", "b"}}};
  for (const auto& [text, wanted] : texts) {
    for (std::size_t one = 0; one <= text.size(); ++one) {
      for (std::size_t two = one; two <= text.size(); ++two) {
        EXPECT_EQ(lines_of(text, one, two), wanted) << text << ", parts meet at " << one << " and at " << two;
      }
    }
    lines past_the_end;
    tobi::for_lines(text, 0, text.size() + 9, [&](std::string_view line) { past_the_end.emplace_back(line); });
    tobi::for_lines(text, text.size() + 1, text.size() + 9, [&](std::string_view) { past_the_end.clear(); });
    tobi::for_lines(text, 2, 1, [&](std::string_view) { past_the_end.clear(); });
    EXPECT_EQ(past_the_end, wanted);
  }
  lines records;
  tobi::for_lines(
      "a;b\n;", 0, 5, [&](std::string_view record) { records.emplace_back(record); }, ';');
  EXPECT_EQ(records, (lines{"a", "b\n"}));
}

TEST(elided, what_is_thrown_leaves_algorithms_as_one_type) {
  for (const int bad : {0, 50, 99}) {
    try {
      tobi::parallel_for(0, 100, 10, [=](int i) {
        if (i == bad) throw std::out_of_range("here");
      });
      FAIL();
    } catch (const tobi::task_error& e) {
      EXPECT_EQ(e.type_name(), "std::out_of_range");
      EXPECT_EQ(e.message(), "here");
      EXPECT_EQ(e.rank(), 0);
    }
  }
  tobi::global_vector<int> v(10, 1);
  EXPECT_THROW(tobi::for_each(v.span(), [](int&) { throw 5; }), tobi::task_error);
  EXPECT_THROW(tobi::parallel_reduce(
                   0, 10, 1, 0, [](int i) { return i; }, [](int, int) -> int { throw 5; }),
               tobi::task_error);
}

TEST(elided, global_references_are_references) {
  tobi::global_vector<long> v;
  for (long i = 0; i < 100; ++i) v.push_back(i * 37 % 100);
  tobi::sort(v, std::greater<>());
  v[0] += 5;
  EXPECT_EQ(v[0], 104);
  std::sort(v.begin(), v.end());
  EXPECT_EQ(std::lower_bound(v.begin(), v.end(), 50) - v.begin(), 50);
  long sum = 0;
  for (const long x : v) sum += x;
  EXPECT_EQ(sum, tobi::reduce(v.span(), 0L));
}

}  // namespace
