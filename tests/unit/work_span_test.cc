// SPDX-License-Identifier: Apache-2.0
// The lengths of paths: runs whose strands are as long as the test says.
#include "libcore/trace/work_span.hpp"

#include <gtest/gtest.h>

namespace tobi::trace {
namespace {

constexpr span_clock::burdens steal{10, 100, 1000};

// A run of which each strand is given.
class a_run {
 public:
  explicit a_run(std::int64_t cost_of_fork = 0) : clock_(steal) {
    clock_.costs(cost_of_fork);
    clock_.run_begins(now_);
  }
  void strand(std::uint64_t cycles) { now_ += cycles; }
  /// The runtime is at work for so long.
  void stands_still(std::uint64_t cycles) {
    clock_.stop(now_);
    now_ += cycles;
    clock_.start(now_);
  }
  /// Forks CHILD; returns where that ended.
  template <class Child>
  longest_path fork(Child child) {
    clock_.stop(now_);
    const longest_path parent = clock_.forks();
    clock_.start(now_);
    child();
    clock_.stop(now_);
    clock_.child_ends();
    const longest_path ended = clock_.path();
    clock_.parent_goes_on(parent);
    clock_.start(now_);
    return ended;
  }
  void join(const longest_path& ended) {
    clock_.stop(now_);
    clock_.joins(ended);
    clock_.start(now_);
  }
  measured_program end() {
    measured_program all;
    clock_.run_ends(now_, all);
    return all;
  }
  void end(measured_program& all) { clock_.run_ends(now_, all); }

 private:
  span_clock clock_;
  std::uint64_t now_ = 12345;
};

TEST(work_span_test, what_forks_nothing_is_one_path) {
  a_run r;
  r.strand(70);
  const measured_program all = r.end();
  EXPECT_EQ(all.runs, 1u);
  EXPECT_EQ(all.all.work, 70);
  EXPECT_EQ(all.all.path.span, 70);
  EXPECT_EQ(all.all.path.burdened, (span_clock::burdens{70, 70, 70}));
  EXPECT_EQ(all.all.forks, 0u);
}

TEST(work_span_test, a_join_goes_on_behind_the_longer_of_its_two) {
  for (const std::uint64_t child : {5u, 50u}) {
    a_run r;
    r.strand(100);
    const longest_path ended = r.fork([&] { r.strand(child); });
    r.strand(20);
    r.join(ended);
    r.strand(1000);
    const measured_program all = r.end();
    EXPECT_EQ(all.all.work, static_cast<std::int64_t>(1120 + child));
    EXPECT_EQ(all.all.path.span, child == 5 ? 1120 : 1150);
    EXPECT_EQ(all.all.forks, 1u);
    EXPECT_EQ(all.all.path.forks, 1u);
  }
}

// A child that is joined by nobody, as a future's, is no part of the path; one that is joined late is.
TEST(work_span_test, what_nobody_joins_is_on_no_path) {
  a_run r;
  r.fork([&] { r.strand(500); });
  const longest_path ended = r.fork([&] { r.strand(40); });
  r.strand(30);
  EXPECT_EQ(r.end().all.path.span, 30);
  EXPECT_EQ(ended.span, 40);
}

TEST(work_span_test, a_fork_and_a_join_cost_a_steal_each_on_the_burdened_path) {
  a_run r;
  const longest_path ended = r.fork([&] { r.strand(300); });  // 300, and a steal at the join
  r.strand(200);                                              // a steal, and 200
  r.join(ended);
  const measured_program all = r.end();
  EXPECT_EQ(all.all.path.span, 300);
  EXPECT_EQ(all.all.path.burdened, (span_clock::burdens{310, 400, 1300}));
}

// Each steal that is dearer makes another path the longest one: a serial chain of forks against one long child.
TEST(work_span_test, the_burdened_path_is_another_one_when_steals_are_dear) {
  a_run r;
  const longest_path ended = r.fork([&] { r.strand(2000); });
  for (int i = 0; i < 10; ++i) {
    r.join(r.fork([&] { r.strand(50); }));
  }
  r.join(ended);
  const measured_program all = r.end();
  EXPECT_EQ(all.all.path.span, 2000);
  EXPECT_EQ(all.all.path.forks, 1u);
  EXPECT_EQ(all.all.path.burdened[0], 2010);              // the child, its join
  EXPECT_EQ(all.all.path.burdened[1], 2100);              // 100 + 10 x 150 is less
  EXPECT_EQ(all.all.path.burdened[2], 1000 + 10 * 1050);  // and here more than 2000 + 1000
}

TEST(work_span_test, a_balanced_tree_has_the_depth_of_its_leaves) {
  a_run r;
  const auto tree = [&](const auto& self, int levels) -> void {
    r.strand(1);
    if (levels == 0) return r.strand(99);
    const longest_path left = r.fork([&] { self(self, levels - 1); });
    self(self, levels - 1);
    r.join(left);
  };
  tree(tree, 6);
  const measured_program all = r.end();
  EXPECT_EQ(all.all.work, 127 + 64 * 99);
  EXPECT_EQ(all.all.path.span, 7 + 99);
  EXPECT_EQ(all.all.forks, 63u);
}

TEST(work_span_test, what_the_runtime_does_is_neither_work_nor_span) {
  a_run r;
  r.strand(10);
  r.stands_still(1'000'000);
  r.strand(10);
  const measured_program all = r.end();
  EXPECT_EQ(all.all.work, 20);
  EXPECT_EQ(all.all.path.span, 20);
  EXPECT_EQ(all.in_runs, 1'000'020);
}

TEST(work_span_test, the_cost_of_measuring_is_taken_off_of_each_fork) {
  a_run r(7);
  for (int i = 0; i < 10; ++i) {
    r.strand(4);                                 // 4 are the fork's
    r.join(r.fork([&] { r.strand(100 + 3); }));  // and 3 the child's
  }
  const measured_program all = r.end();
  EXPECT_EQ(all.all.work, 1000);
  EXPECT_EQ(all.all.path.span, 1000);
  EXPECT_EQ(all.all.taken_off, 70);
}

TEST(work_span_test, runs_follow_each_other) {
  measured_program all;
  for (std::uint64_t n = 1; n <= measured_program::most_runs + 5; ++n) {
    a_run r;
    const longest_path ended = r.fork([&] { r.strand(n); });
    r.strand(1);
    r.join(ended);
    r.end(all);
  }
  const auto n = static_cast<std::int64_t>(measured_program::most_runs + 5);
  EXPECT_EQ(all.runs, static_cast<std::uint64_t>(n));
  EXPECT_EQ(all.all.path.span, n * (n + 1) / 2);
  EXPECT_EQ(all.all.work, n * (n + 1) / 2 + n);
  EXPECT_EQ(all.all.forks, static_cast<std::uint64_t>(n));
  EXPECT_EQ(all.all.path.burdened[0], n * (n + 1) / 2 + 10 * n);
  ASSERT_EQ(all.first.size(), measured_program::most_runs);
  EXPECT_EQ(all.first[41].path.span, 42);
}

}  // namespace
}  // namespace tobi::trace
