// SPDX-License-Identifier: Apache-2.0
// lane: sleeps, 15 s
// Ranks that call different things together are told of, each by name; a rank that is late is waited for.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <thread>

#include "in_job.hpp"

namespace {

using rank_body = int (*)(tobi::runtime&);

int computes(tobi::runtime&) {
  return tobi::run([] { return 0; });
}
// Longer than others take to notice, which ends the job.
int computes_long(tobi::runtime&) {
  return tobi::run([] {
    std::this_thread::sleep_for(std::chrono::seconds(hang_s()));
    return 0;
  });
}
int meets(tobi::runtime& rt) {
  rt.barrier();
  return 0;
}
int counts(tobi::runtime& rt) {
  (void)rt.stats();
  return 0;
}
int forgets_counts(tobi::runtime& rt) {
  rt.reset_stats();
  return 0;
}
int allocates(tobi::runtime&) { return tobi::allocate_all<int>(100).empty() ? 1 : 0; }
int leaves(tobi::runtime&) { return 0; }

struct contradiction {
  rank_body most;
  const char* most_are_in;
  rank_body one;
  const char* one_is_in;
};
constexpr contradiction contradictions[] = {
    {computes, "tobi::run", leaves, "the destructor of tobi::runtime"},
    {computes, "tobi::run", meets, "tobi::runtime::barrier"},
    {computes_long, "tobi::run", leaves, "the destructor of tobi::runtime"},
    {computes_long, "tobi::run", meets, "tobi::runtime::barrier"},
    {allocates, "tobi::allocate_all", leaves, "the destructor of tobi::runtime"},
    {meets, "tobi::runtime::barrier", leaves, "the destructor of tobi::runtime"},
    {meets, "tobi::runtime::barrier", counts, "tobi::runtime::stats"},
    {counts, "tobi::runtime::stats", allocates, "tobi::allocate_all"},
    {forgets_counts, "tobi::runtime::reset_stats", meets, "tobi::runtime::barrier"},
};

void is_said(const contradiction& c, int odd_one, environment env) {
  const outcome o = in_job(3, env, [&](tobi::runtime& rt) { return rt.rank() == odd_one ? c.one(rt) : c.most(rt); });
  EXPECT_EQ(o.status, 2) << o.said;
  const std::string one = "rank " + std::to_string(odd_one) + " is in " + c.one_is_in;
  EXPECT_NE(o.said.find(one), std::string::npos) << one << " is not in: " << o.said;
  EXPECT_NE(o.said.find(std::string(" in ") + c.most_are_in), std::string::npos) << o.said;
  EXPECT_EQ(o.said.find("; all ranks make these calls"), o.said.rfind("; all ranks make these calls")) << o.said;
}

TEST(ranks_in_different_calls, are_named) {
  for (const contradiction& c : contradictions) {
    for (const int odd_one : {0, 2}) is_said(c, odd_one, {});
  }
}

TEST(ranks_in_different_calls, are_named_between_nodes) {
  for (const contradiction& c : contradictions) {
    for (const int odd_one : {0, 1, 2}) is_said(c, odd_one, {{"TOBI_NODES", "3"}, {"TOBI_TRANSPORT", "sim"}});
  }
}

TEST(calls_of_all_ranks, are_refused_inside_a_task_at_once) {
  for (const auto& [body, name] :
       {std::pair{&meets, "barrier"}, {&counts, "stats"}, {&forgets_counts, "reset_stats"}, {&computes, "run"}}) {
    const outcome o =
        in_job(2, {}, [body = body](tobi::runtime& rt) { return tobi::run([&rt, body] { return body(rt); }); });
    EXPECT_EQ(o.status, 2) << o.said;
    EXPECT_NE(o.said.find(std::string(name) + " was called inside a task"), std::string::npos) << o.said;
  }
}

TEST(a_rank_that_is_late, is_waited_for) {
  for (const int late : {0, 1}) {
    for (const char* nodes : {"1", "3"}) {
      const outcome o = in_job(3, {{"TOBI_NODES", nodes}}, [=](tobi::runtime& rt) {
        const auto take_time = [&] {
          if (rt.rank() == late) std::this_thread::sleep_for(std::chrono::milliseconds(320));
        };
        take_time();
        rt.barrier();
        take_time();
        int failed = tobi::run([] { return 0; });
        take_time();
        (void)rt.stats();
        take_time();
        failed += tobi::allocate_all<int>(100).size() == 100 ? 0 : 1;
        take_time();
        failed += tobi::run([] { return 0; });
        take_time();
        return failed;
      });
      EXPECT_EQ(o.status, 0) << o.said;
      EXPECT_EQ(o.said, "");
    }
  }
}

// Naps of constant length were 25 microseconds per worker of a core: some ten thousand in this time, which on few cores
// is all that the cores can do. Over a fabric that can be slept on, what is waited for ends a nap.
TEST(a_rank_that_waits_for_long, naps_longer_and_longer) {
  if (std::getenv("TESTS_OVER") != nullptr) GTEST_SKIP() << "it is about libfabric, which can be slept on";
  const outcome o = in_job(8, {{"TOBI_NODES", "2"}, {"TOBI_TRANSPORT", "ofi"}}, [](tobi::runtime& rt) {
    const auto naps = [] {
      rusage used{};
      getrusage(RUSAGE_SELF, &used);
      return used.ru_nvcsw;
    };
    rt.barrier();
    if (rt.rank() == 0) std::this_thread::sleep_for(std::chrono::seconds(2));
    const auto begin = std::chrono::steady_clock::now();
    const long before = naps();
    rt.barrier();
    const long more = naps() - before;
    // However long it was. The first rank of a node waits for its message to arrive, which is another wait.
    const auto waited = std::chrono::steady_clock::now() - begin;
    const long most = 1000 + std::chrono::duration_cast<std::chrono::milliseconds>(waited).count();
    if (rt.rank() % 4 == 0) return 0;
    if (more > most) std::fprintf(stderr, "rank %d slept %ld times\n", rt.rank(), more);
    return more > most ? 1 : 0;
  });
  EXPECT_EQ(o.status, 0) << o.said;
}

}  // namespace
