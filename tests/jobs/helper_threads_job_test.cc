// SPDX-License-Identifier: Apache-2.0
// Threads beside a worker: where they may run, and whose end they are not.
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <thread>

#include "in_job.hpp"

namespace {

int cpus_of(int thread) {
  cpu_set_t may;
  return sched_getaffinity(thread, sizeof may, &may) == 0 ? CPU_COUNT(&may) : 0;
}

constexpr std::pair<const char*, const char*> served_by_threads[] = {{"TOBI_TRANSPORT", "ofi"},
                                                                     {"TOBI_NODES", "2"},
                                                                     {"TOBI_OFI_PROVIDER", "tcp;ofi_rxm"},
                                                                     {"TOBI_AMO_SERVER", "thread"}};

// A worker that is bound to a core leaves the others to its helpers: what they serve would interrupt its computation,
// or wait for it.
TEST(helper_threads, are_not_bound_to_the_core_of_their_worker) {
  const int cpus = cpus_of(0);
  if (cpus < 2) GTEST_SKIP() << "one cpu";
  const outcome o = in_job(2, served_by_threads, [=](tobi::runtime&) {
    if (cpus_of(0) != 1) return 77;  // nobody is bound here
    int helpers = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
      const int thread = std::stoi(entry.path().filename());
      if (thread == gettid()) continue;
      ++helpers;
      // Each unbinds itself as it begins, which may be later than this.
      while (cpus_of(thread) < 2) usleep(1000);
    }
    return helpers >= 2 ? 0 : 10;  // the attendant, and who serves
  });
  if (o.said.find("ofi cannot be used") != std::string::npos || o.status == 77) GTEST_SKIP() << o.said;
  EXPECT_EQ(o.status, 0) << o.said;
}

// In main and during a run, of the own node and of another one. Nothing is left half done before the sentence.
TEST(helper_threads, do_not_use_global_memory) {
  constexpr std::pair<const char*, const char*> two_nodes[] = {{"TOBI_NODES", "2"}, {"TOBI_TRANSPORT", "sim"}};
  for (const bool in_a_run : {false, true}) {
    for (const bool far : {false, true}) {
      SCOPED_TRACE(std::string(in_a_run ? "in a run" : "in main") + (far ? ", of another node" : ", of the own node"));
      const outcome o = in_job(2, two_nodes, [=](tobi::runtime& rt) {
        constexpr std::size_t n = 1 << 20;
        const auto a = tobi::allocate_all<long>(n, tobi::block());
        tobi::run([=] { tobi::fill(a, 7L); });
        const auto element = a.subspan(far ? n - 1 : 0, 1);
        const auto other_thread = [=] {
          std::thread([=] { (void)tobi::checkout(element, tobi::mode::read)[0]; }).join();
        };
        if (in_a_run) {
          tobi::run([=] {
            tobi::migrate_to(0);
            other_thread();
          });
        } else if (rt.rank() == 0) {
          other_thread();
        }
        rt.barrier();
        return 0;
      });
      EXPECT_EQ(o.status, 2);
      EXPECT_NE(o.said.find("global memory was used by a thread that the program has made"), std::string::npos)
          << o.said;
    }
  }
}

// The thread that calls tobi::run, whichever it is, uses global memory then.
TEST(helper_threads, that_call_run_are_the_worker_from_then_on) {
  const outcome o = in_job(1, {}, [](tobi::runtime&) {
    const auto a = tobi::allocate_all<long>(100);
    long sum = 0;
    std::thread([=, &sum] {
      sum = tobi::run([=] {
        tobi::fill(a, 7L);
        return tobi::reduce(a);
      });
      sum += tobi::checkout(a, tobi::mode::read)[5];
    }).join();
    return sum == 707 ? 0 : 3;
  });
  EXPECT_EQ(o.status, 0) << o.said;
}

// Rank 0's other threads may end the job too: with their signal's status, and not with that of the children that they
// kill, which main's thread may see first.
TEST(a_thread_of_rank_0, that_throws_ends_the_job_with_its_status) {
  for (int i = 0; i < 50; ++i) {
    const outcome o = in_job(3, {}, [](tobi::runtime& rt) {
      if (rt.rank() == 0) std::thread([] { throw std::runtime_error("nobody catches this"); }).detach();
      for (;;) pause();
      return 0;
    });
    ASSERT_EQ(o.status, 128 + SIGABRT) << "run " << i << ": " << o.said;
  }
}

// The kernel's parent-death signal means the thread that has forked the workers, not its process.
TEST(helper_threads, may_make_the_job_and_end_before_it) {
  constexpr int right = 42;
  const outcome o = in_child([] {
    const pid_t head = getpid();
    std::thread maker([head] {
      new tobi::runtime(tobi::options{.workers = 3});  // until the process ends
      while (getpid() != head) pause();
    });
    maker.join();
    usleep(500'000);  // the workers would have ended, and told
    static_cast<void>(!write(STDERR_FILENO, "here", 4));
    _exit(right);
  });
  EXPECT_LT(o.said.find("here"), o.said.find("tobi:")) << o.said;
  EXPECT_EQ(o.status, right) << o.said;
}

}  // namespace
