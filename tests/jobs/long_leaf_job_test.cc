// SPDX-License-Identifier: Apache-2.0
// A leaf that runs for long and never forks, on a worker from which others have stolen. What a thief needs of it are
// remote operations: over a fabric that is passive it has them at once, over one whose targets must poll when the
// worker's attendant, or a thread of the provider, has moved it. The order of events is asserted, and no time.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>

#include <atomic>
#include <cstdlib>
#include <string_view>

#include "arch/clock.hpp"
#include "in_job.hpp"

namespace {

constexpr std::uint64_t second_ns = 1'000'000'000;

// Known to all workers: mapped before they are forked.
struct board {
  std::atomic<int> events{0};  // the number of the last one
  std::atomic<int> stolen_at{0};
  std::atomic<int> thief_done_at{0};     // with its own part, which needs nobody
  std::atomic<int> thief_went_on_at{0};  // behind a join that needed the victim's memory
  std::atomic<int> leaf_ended_at{0};
  std::atomic<pid_t> victim{0};
  std::atomic<pid_t> thief{0};
  void happened(std::atomic<int>& what) { what = ++events; }
};
board* shared() {
  static auto* const at =
      new (mmap(nullptr, sizeof(board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) board;
  return at;
}

long fib(long n) {
  if (n < 2) return n;
  auto x = tobi::spawn([=] { return fib(n - 1); });
  const long y = fib(n - 2);
  return x.join() + y;
}

enum class leaf { waits_for_the_thief, polls };

// Does not end before the thief has taken its continuation. Then it is a leaf.
long victim_part(leaf how) {
  board& b = *shared();
  while (b.thief_done_at == 0 && b.stolen_at == 0) tobi::poll();
  // No poll from here on, unless the test is about it. It looks at the board, which is not the fabric.
  while (b.thief_went_on_at == 0) {
    if (how == leaf::polls) tobi::poll();
    sched_yield();
  }
  b.happened(b.leaf_ended_at);
  return 40;
}

long root(leaf how) {
  board& b = *shared();
  b.victim = getpid();
  const auto slow = tobi::spawn_future([how] { return victim_part(how); });
  // Stolen: this runs on the other worker.
  b.thief = getpid();
  b.happened(b.stolen_at);
  const long own = fib(15);
  b.happened(b.thief_done_at);
  // The inner task looks at the leaf's record, in the victim's memory, and suspends; its parent goes on here.
  auto waits = tobi::spawn([slow] { return slow.join(); });
  b.happened(b.thief_went_on_at);
  return waits.join() + own;
}

outcome leaf_over(leaf how, environment env, int workers = 2) {
  new (shared()) board;
  return in_job(workers, env, [how](tobi::runtime&) {
    const long result = tobi::run([how] { return root(how); });
    return result == 40 + 610 ? 0 : 3;
  });
}

// What every case has in common: the sum is right, nothing was complained about, and it was a theft.
void expect_right(const outcome& o) {
  EXPECT_EQ(o.status, 0);
  EXPECT_EQ(o.said, "");
  EXPECT_NE(shared()->thief, shared()->victim);
}
void expect_thief_went_on() {
  EXPECT_LT(shared()->thief_went_on_at, shared()->leaf_ended_at) << "the thief waited for the end of the leaf";
}
constexpr std::pair<const char*, const char*> tcp{"TOBI_OFI_PROVIDER", "tcp;ofi_rxm"};

TEST(long_leaf, stops_no_thief_over_shared_memory) {
  expect_right(leaf_over(leaf::waits_for_the_thief, {{"TOBI_TRANSPORT", "shm"}}));
  expect_thief_went_on();
}

TEST(long_leaf, stops_no_thief_over_the_passive_simulation) {
  expect_right(leaf_over(leaf::waits_for_the_thief, {{"TOBI_TRANSPORT", "sim"}}));
  expect_thief_went_on();
}

TEST(long_leaf, stops_no_thief_where_the_target_moves_the_simulation) {
  expect_right(leaf_over(leaf::waits_for_the_thief, {{"TOBI_TRANSPORT", "sim"}, {"TOBI_SIM", "manual"}}));
  expect_thief_went_on();
}

TEST(long_leaf, that_polls_stops_no_thief_over_the_manual_simulation) {
  expect_right(leaf_over(leaf::polls, {{"TOBI_TRANSPORT", "sim"}, {"TOBI_SIM", "manual"}}));
  expect_thief_went_on();
}

TEST(long_leaf, stops_no_thief_over_a_manual_provider) {
  expect_right(leaf_over(leaf::waits_for_the_thief, {{"TOBI_TRANSPORT", "ofi"}, tcp}));
  expect_thief_went_on();
}

TEST(long_leaf, that_polls_stops_no_thief_over_a_manual_provider) {
  expect_right(leaf_over(leaf::polls, {{"TOBI_TRANSPORT", "ofi"}, tcp}));
  expect_thief_went_on();
}

TEST(long_leaf, stops_no_thief_where_threads_move_the_provider) {
  expect_right(
      leaf_over(leaf::waits_for_the_thief,
                {{"TOBI_TRANSPORT", "ofi"}, tcp, {"TOBI_OFI_PROGRESS", "thread"}, {"TOBI_AMO_SERVER", "thread"}}));
  expect_thief_went_on();
}

// The third worker serves: what the thief asks of the victim's words is answered there, and the rest by the threads.
TEST(long_leaf, stops_no_thief_where_a_worker_of_the_node_executes_the_atomics) {
  expect_right(
      leaf_over(leaf::waits_for_the_thief,
                {{"TOBI_TRANSPORT", "ofi"}, tcp, {"TOBI_OFI_PROGRESS", "thread"}, {"TOBI_AMO_SERVER", "worker"}}, 3));
  expect_thief_went_on();
}

// Nor without that worker: the victim's attendant executes them.
TEST(long_leaf, stops_no_thief_where_the_target_executes_the_atomics) {
  expect_right(
      leaf_over(leaf::waits_for_the_thief,
                {{"TOBI_TRANSPORT", "ofi"}, tcp, {"TOBI_OFI_PROGRESS", "thread"}, {"TOBI_AMO_SERVER", "inline"}}));
  expect_thief_went_on();
}

// It takes a device: tests/softroce/verbs.sh runs it in its guest.
TEST(long_leaf, stops_no_thief_over_verbs) {
  const char* fabric = std::getenv("TOBI_TRANSPORT");
  if (fabric == nullptr || std::string_view(fabric) != "verbs") GTEST_SKIP() << "it runs where TOBI_TRANSPORT=verbs";
  expect_right(leaf_over(leaf::waits_for_the_thief, {{"TOBI_TRANSPORT", "verbs"}}));
  expect_thief_went_on();
}

}  // namespace
