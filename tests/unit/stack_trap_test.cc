// SPDX-License-Identifier: Apache-2.0
// Which addresses of the region a running task may touch under TOBI_DEBUG_MIGRATE.
#include "libcore/task/stack_trap.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdint>

namespace {

class stack_trap : public testing::Test {
 protected:
  static constexpr std::uintptr_t pages = 64;

  stack_trap() {
    void* const at = mmap(nullptr, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    low = reinterpret_cast<std::uintptr_t>(at);
    high = low + pages * page;
    EXPECT_EQ(pipe(ends.data()), 0);
    trap.start(low, high);
  }
  ~stack_trap() override {
    munmap(reinterpret_cast<void*>(low), pages * page);
    for (const int end : ends) close(end);
  }

  // The kernel reads there, and fails where a load would fault.
  bool has_access(std::uintptr_t address) {
    if (write(ends[1], reinterpret_cast<const void*>(address), 1) != 1) return false;
    char read_back = 0;
    return read(ends[0], &read_back, 1) == 1;
  }
  // Exactly the pages of [FROM, TO) have no access, and the trap knows it.
  void expect_closed(std::uintptr_t from, std::uintptr_t to) {
    for (std::uintptr_t at = low; at < high; at += page) {
      const bool is_closed = at >= from && at < to;
      EXPECT_EQ(has_access(at), !is_closed) << "page " << (at - low) / page;
      EXPECT_EQ(trap.holds(at), is_closed) << "page " << (at - low) / page;
    }
  }

  const std::uintptr_t page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  std::uintptr_t low = 0, high = 0;
  std::array<int, 2> ends{};
  tobi::tasks::stack_trap trap;
};

TEST_F(stack_trap, closes_the_frames_that_have_moved_away) {
  const std::uintptr_t sp = high - page - 100;
  EXPECT_EQ(trap.close(sp, high), high - 2 * page);
  expect_closed(high - 2 * page, high);
  EXPECT_EQ(trap.close(high - 2 * page - 8, high - 2 * page), high - 3 * page);
  expect_closed(high - 3 * page, high);
  trap.open(high - 2 * page);  // the second of them comes back
  expect_closed(high - 2 * page, high);
  trap.open(high);
  expect_closed(high, high);
}

TEST_F(stack_trap, closes_what_is_above_a_task_that_comes_from_another_worker) {
  trap.open(high - 5 * page);  // here nothing was ever closed
  expect_closed(high - 5 * page, high);
  trap.open(high - 2 * page);
  expect_closed(high - 2 * page, high);
  trap.open(high - 7 * page);  // a deeper one after it
  expect_closed(high - 7 * page, high);
}

TEST_F(stack_trap, begins_again_at_the_top_and_keeps_the_parent_closed) {
  const std::uintptr_t base = low + pages / 2 * page, sp = base - 300, top = high - page;
  trap.open(base);
  EXPECT_EQ(trap.close(sp, base), top);
  for (std::uintptr_t at = low; at < high; at += page) {
    const bool is_closed = at == top || at == base - page;
    EXPECT_EQ(has_access(at), !is_closed) << "page " << (at - low) / page;
    EXPECT_EQ(trap.holds(at), is_closed) << "page " << (at - low) / page;
  }
  trap.open(base);  // the parent goes on
  expect_closed(base, high);
}

TEST_F(stack_trap, closes_nothing_before_it_is_started) {
  trap = {};
  trap.open(high - 5 * page);
  expect_closed(high, high);
}

TEST_F(stack_trap, poisons_what_has_moved_away) {
  auto* const frames = reinterpret_cast<unsigned char*>(high - 64);
  for (int i = 0; i < 64; ++i) frames[i] = 1;
  trap.close(high - 64, high);
  trap.open(high);
  for (int i = 0; i < 64; ++i) EXPECT_EQ(frames[i], 0xdb) << i;
}

}  // namespace
