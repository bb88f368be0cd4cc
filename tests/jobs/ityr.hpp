// SPDX-License-Identifier: Apache-2.0
// What the tests of ityr/ityr.hpp share: programs as Itoyori's users write them, run as jobs in several ways.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>

#include "ityr/ityr.hpp"
#include "tests/jobs/ways.hpp"

/// Of an element that can only be moved, with its value.
class movable {
 public:
  movable() = default;
  explicit movable(long value) : value_(value) {}
  movable(movable&& other) noexcept : value_(std::exchange(other.value_, -1)) {}
  movable& operator=(movable&& other) noexcept {
    value_ = std::exchange(other.value_, -1);
    return *this;
  }
  ~movable() {}
  [[nodiscard]] long value() const { return value_; }

 private:
  long value_ = -1;
};

class ityr_programs : public testing::TestWithParam<way> {
 protected:
  /// PROGRAM() is 0 in all processes, and nothing is said.
  template <class Program>
  void expect_zero(Program program) {
    const outcome o = in_child([&] {
      set_all(GetParam().env);
      setenv("TOBI_WORKERS", std::to_string(GetParam().workers).c_str(), 1);
      ityr::init();
      const int status = program();
      ityr::fini();
      std::exit(status);
    });
    EXPECT_EQ(o.status, 0) << o.said;
    EXPECT_EQ(o.said, "");
  }
};
inline auto ityr_ways() {
  return testing::ValuesIn(
      usual_ways_and({{"child_full", 3, {{"TOBI_SCHED", "child_full"}}}, {"adws", 4, {{"TOBI_SCHED", "adws"}}}}));
}

/// In a task: ends the job where CONDITION does not hold.
#define MUST(...)                                                                                \
  do {                                                                                           \
    if (!(__VA_ARGS__)) {                                                                        \
      std::fprintf(stderr, "%s:%d: MUST(%s) does not hold\n", __FILE__, __LINE__, #__VA_ARGS__); \
      std::abort();                                                                              \
    }                                                                                            \
  } while (false)
