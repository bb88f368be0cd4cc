// SPDX-License-Identifier: Apache-2.0
// Whose an exception is that is under way or in a catch clause, by where frames lie.
#include "libcore/task/exceptions.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <exception>
#include <stdexcept>

using tobi::tasks::exceptions_under_way;
using tobi::tasks::owned_up_to;

namespace {

constexpr std::uintptr_t unknown = ~std::uintptr_t{0};

std::uintptr_t owned_now() {
  const exceptions_under_way mine = tobi::tasks::take_exceptions();
  tobi::tasks::give_exceptions(mine);
  return owned_up_to(mine);
}

// Calls F on frames of its own, and gives it where they begin.
template <class F>
[[gnu::noinline]] std::uintptr_t below(F f) {
  volatile char pad[512];
  pad[0] = 0;
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  const std::uintptr_t found = f(here);
  return found + static_cast<std::uintptr_t>(pad[0]);
}

TEST(exceptions, are_nobodys_where_there_are_none) { EXPECT_EQ(owned_now(), 0U); }

TEST(exceptions, belong_to_the_frame_whose_catch_clause_runs) {
  const std::uintptr_t found = below([](std::uintptr_t outer) {
    try {
      throw std::runtime_error("outer");
    } catch (const std::runtime_error&) {
      return below([=](std::uintptr_t inner) {
        EXPECT_LT(inner, outer);
        const std::uintptr_t of_outer = owned_now();
        EXPECT_GT(of_outer, inner) << "this frame has none";
        try {
          throw 5;
        } catch (int) {
          EXPECT_EQ(owned_now(), of_outer) << "the oldest counts";
        }
        return of_outer;
      });
    }
  });
  EXPECT_LT(found, reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)));
}

TEST(exceptions, that_are_thrown_again_belong_to_the_next_clause) {
  const std::exception_ptr kept = std::make_exception_ptr(std::runtime_error("kept"));
  below([&](std::uintptr_t outer) {
    try {
      below([&](std::uintptr_t inner) -> std::uintptr_t {
        try {
          std::rethrow_exception(kept);
        } catch (...) {
          EXPECT_LT(owned_now(), inner + 512);
          throw;
        }
      });
    } catch (const std::runtime_error&) {
      const std::uintptr_t now = owned_now();
      EXPECT_NE(now, unknown);
      EXPECT_LT(now, outer);
      return below([=](std::uintptr_t inner) {
        EXPECT_GT(now, inner);
        return now;
      });
    }
    return std::uintptr_t{0};
  });
}

struct in_a_destructor {
  std::uintptr_t& found;
  ~in_a_destructor() { found = owned_now(); }
};

TEST(exceptions, on_their_way_may_be_anybodys) {
  std::uintptr_t found = 0;
  try {
    const in_a_destructor looks{found};
    throw 1;
  } catch (int) {
  }
  EXPECT_EQ(found, unknown);
}

}  // namespace
