// SPDX-License-Identifier: Apache-2.0
// Which words of closures are kept as pointers, for a report of who has touched what.
#include "libcore/task/closure_watch.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

using tobi::detail::registers2;
using tobi::detail::task_type;
using tobi::tasks::closure_watch;

namespace {

constexpr std::uintptr_t main_low = 0x7ffe00000000, main_high = main_low + 0x10000;
constexpr std::uintptr_t region_low = 0x200000000000, region_high = region_low + 0x4000000;
constexpr std::uintptr_t near = 1 << 16;

constexpr task_type in_registers(std::uint32_t bytes) { return {nullptr, 0, 0, bytes}; }

class closures : public testing::Test {
 protected:
  closures() {
    watch.watch_region(region_low, region_high);
    watch.begin_run(main_low, main_high);
  }
  closure_watch watch;
};

TEST_F(closures, are_asked_for_the_nearest_pointer_at_or_before_an_address) {
  static constexpr task_type type = in_registers(32);
  const std::uint64_t words[] = {main_low + 0x100, 5, main_low + 0x200, region_low + 0x40};
  watch.forked(words, type);
  EXPECT_EQ(watch.nearest(main_low + 0x100, near).at, 0U);
  EXPECT_EQ(watch.nearest(main_low + 0x1ff, near).at, 0U);
  EXPECT_EQ(watch.nearest(main_low + 0x240, near).at, 16U);
  EXPECT_EQ(watch.nearest(main_low + 0x240, near).word, main_low + 0x200);
  EXPECT_EQ(watch.nearest(region_low + 0x48, near).at, 24U);
  EXPECT_EQ(watch.nearest(region_low + 0x48, near).type, &type);
  EXPECT_EQ(watch.nearest(main_low + 0xff, near).type, nullptr) << "before all of them";
  EXPECT_EQ(watch.nearest(region_low + 0x40 + near, near).type, nullptr) << "too far behind";
}

TEST_F(closures, are_what_their_types_say_and_no_more) {
  static constexpr task_type empty = in_registers(0), two = in_registers(16), odd = in_registers(12);
  const std::uint64_t words[] = {1, main_low + 8, main_low + 16, region_low};
  watch.forked(words, empty);
  EXPECT_EQ(watch.nearest(main_low + 16, near).type, nullptr);
  watch.forked(words, odd);
  EXPECT_EQ(watch.nearest(main_low + 16, near).type, nullptr) << "half a word is none";
  watch.forked(words, two);
  EXPECT_EQ(watch.nearest(main_low + 16, near).word, main_low + 8);
  EXPECT_EQ(watch.nearest(region_low, near).type, nullptr);
}

TEST_F(closures, in_memory_are_read_there) {
  std::array<std::uint64_t, 9> closure{};
  closure[7] = main_low + 0x30;
  static constexpr task_type type{nullptr, sizeof closure, 0, 0};
  const std::uint64_t words[] = {reinterpret_cast<std::uint64_t>(&closure), main_low, main_low, main_low};
  watch.forked(words, type);
  EXPECT_EQ(watch.nearest(main_low + 0x30, near).at, 56U);
  EXPECT_EQ(watch.nearest(main_low + 0x20, near).type, nullptr) << "what is beside the address is nothing";
}

TEST_F(closures, of_an_earlier_run_are_forgotten) {
  static constexpr task_type type = in_registers(8);
  const std::uint64_t words[] = {main_low + 8, 0, 0, 0};
  watch.forked(words, type);
  watch.begin_run(main_low, main_high);
  EXPECT_EQ(watch.nearest(main_low + 8, near).type, nullptr);
}

TEST_F(closures, are_kept_however_many_there_are) {
  static constexpr task_type type = in_registers(8);
  for (std::uint64_t i = 0; i < 100'000; ++i) {
    const std::uint64_t words[] = {region_low + 8 * i, 0, 0, 0};
    watch.forked(words, type);
    EXPECT_EQ(watch.nearest(region_low + 8 * i, 8).word, region_low + 8 * i);
  }
  const std::uint64_t again[] = {main_low, 0, 0, 0};
  for (int i = 0; i < 100'000; ++i) watch.forked(again, type);
  EXPECT_EQ(watch.nearest(region_low + 8 * 99'999, 8).type, &type) << "one that comes again takes no room";
}

}  // namespace
