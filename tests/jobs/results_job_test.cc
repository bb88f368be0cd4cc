// SPDX-License-Identifier: Apache-2.0
// lane: beside, 2 s
// Strings and vectors as results of tasks: copies in global memory, which are taken where they are joined.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>
#include <tobi/tobi.hpp>
#include <vector>

#include "tests/jobs/mistakes.hpp"
#include "tests/jobs/ways.hpp"

namespace {

class results : public in_each_way {};

// In order, by a tree of tasks.
tobi::global_string digits(int from, int to) {
  if (to - from == 1) return tobi::global_string(std::to_string(from % 10));
  const int middle = (from + to) / 2;
  auto left = tobi::spawn([=] { return digits(from, middle); });
  const tobi::global_string right = digits(middle, to);
  const tobi::global_string first = left.join();  // before anything is taken: a join may go on elsewhere
  return tobi::global_string(first.take() + right.take());
}

TEST_P(results, strings_come_out_of_tasks) {
  expect_zero([](tobi::runtime&) {
    const tobi::global_string all = tobi::run([] { return digits(0, 500); });
    std::string wanted;
    for (int i = 0; i < 500; ++i) wanted += static_cast<char>('0' + i % 10);
    CHECK(all.size() == 500 && all.str() == wanted && all.span().size() == 500);
    const tobi::global_string nothing = tobi::run([] { return tobi::global_string(""); });
    CHECK(nothing.empty() && nothing.take().empty() && tobi::global_string().str().empty());
    return 0;
  });
}

TEST_P(results, vectors_come_out_of_tasks) {
  expect_zero([](tobi::runtime&) {
    for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{1000}, std::size_t{300000}}) {
      const bool right = tobi::run([=] {
        auto child = tobi::spawn([=] {
          std::vector<long> v(n);
          for (std::size_t i = 0; i < n; ++i) v[i] = static_cast<long>(3 * i);
          return tobi::to_global(v);
        });
        auto few = tobi::spawn([] { return tobi::to_global(std::array<char, 3>{'a', 'b', 'c'}); });
        const auto many = child.join();
        const auto letters = few.join();
        const std::vector<long> got = tobi::take(many);
        bool same = got.size() == n;
        for (std::size_t i = 0; same && i < n; ++i) same = got[i] == static_cast<long>(3 * i);
        return same && tobi::take(letters) == std::vector<char>{'a', 'b', 'c'};
      });
      CHECK(right);
    }
    return 0;
  });
}

// Every copy is freed once: the heap has room for few of them.
TEST_P(results, what_is_taken_is_freed) {
  expect_zero([](tobi::runtime&) {
    const bool right = tobi::run([] {
      for (int i = 0; i < 100; ++i) {
        auto child =
            tobi::spawn([=] { return tobi::global_string(std::string(4 << 20, static_cast<char>('a' + i % 26))); });
        const tobi::global_string text = child.join();
        if (i % 2 == 0) {
          const std::string got = text.take();
          if (got.size() != 4 << 20 || got.back() != 'a' + i % 26) return false;
        } else {
          text.free();
        }
      }
      return true;
    });
    CHECK(right);
    return 0;
  });
}

INSTANTIATE_TEST_SUITE_P(, results, testing::ValuesIn(usual_ways()), name_of_way);

}  // namespace
