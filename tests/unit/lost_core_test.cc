// SPDX-License-Identifier: Apache-2.0
// Time for which another thread had the core: it is told, and is no part of a strand. Nothing here waits for a time: a
// thread that shares its core with another one runs until it has lost it.
#include "libcore/trace/lost_core.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "arch/topology.hpp"
#include "libcore/trace/work_span.hpp"

namespace tobi::trace {
namespace {

// Calls BODY in a thread that shares the first core of this process with another one, which is always busy.
template <class Body>
void on_a_shared_core(Body body) {
  const auto bind = [] { EXPECT_EQ(arch::bind_to_cpu(arch::this_machine().cores.front().os_cpu), ""); };
  std::atomic<bool> over{false};
  std::thread other([&] {
    bind();
    while (!over.load(std::memory_order_relaxed)) {
    }
  });
  std::thread([&] {
    bind();
    body();
  }).join();
  over.store(true, std::memory_order_relaxed);
  other.join();
}

TEST(lost_core_test, a_core_that_another_thread_had_was_lost) {
  on_a_shared_core([] {
    lost_core core;
    const std::uint64_t begin = arch::now_ns();
    core.begin();
    std::uint64_t lost = 0;
    while (lost == 0) lost = core.lost_ns();
    EXPECT_LE(lost, arch::now_ns() - begin);
    EXPECT_EQ(core.interruptions(), 1u);
  });
}

TEST(lost_core_test, a_thread_that_sleeps_has_lost_nothing) {
  lost_core core;
  core.begin();
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(core.lost_ns(), 0u);
  EXPECT_EQ(core.interruptions(), 0u);
}

// All strands are long here, and each begins where the last one ended: if nothing was taken off they would add up to the
// whole run.
TEST(lost_core_test, what_was_lost_is_no_part_of_a_strand) {
  on_a_shared_core([] {
    lost_core core;
    span_clock clock({0, 0, 0});
    clock.watch(core, 0);
    core.begin();
    clock.run_begins(arch::cycles());
    while (core.interruptions() == 0) {
      const std::uint64_t now = arch::cycles();
      clock.stop(now);
      clock.start(now);
    }
    measured_program all;
    clock.run_ends(arch::cycles(), all);
    EXPECT_LT(all.all.work, all.in_runs);
  });
}

// The kernel is asked first, and the clock read then: in between the core may be taken, which belongs to no strand.
TEST(lost_core_test, a_strand_begins_when_the_kernel_has_been_asked) {
  constexpr std::uint64_t long_ago = 1'000'000'000'000;
  lost_core core;
  span_clock clock({0, 0, 0});
  clock.watch(core, 0);
  core.begin();
  const std::uint64_t now = arch::cycles();
  clock.run_begins(now - 2 * long_ago);
  clock.stop(now - 2 * long_ago);
  clock.start(now - long_ago);  // where it had been read before
  measured_program all;
  clock.run_ends(arch::cycles(), all);
  EXPECT_LT(all.all.work, static_cast<std::int64_t>(long_ago / 2));
}

}  // namespace
}  // namespace tobi::trace
