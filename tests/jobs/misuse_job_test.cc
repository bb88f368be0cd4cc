// SPDX-License-Identifier: Apache-2.0
// What programs do wrong ends the job with one sentence, and what looks wrong but is not works.
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <limits>
#include <memory>
#include <stdexcept>
#include <thread>

#include "mistakes.hpp"

namespace {

constexpr auto no_end = std::numeric_limits<std::size_t>::max();

TEST(nothing_checked_out, is_no_checkout) {
  const outcome o = in_job(2, {}, [](tobi::runtime& rt) {
    const int sum = tobi::run([] {
      tobi::global_vector<int> none;
      int seen = 0;
      for (const int x : tobi::checkout(none.span(), tobi::mode::read)) seen += x;
      { auto empty = tobi::checkout(tobi::global_span<int>(), tobi::mode::read_write); }
      { auto empty = tobi::checkout_nb(none.span(), tobi::mode::write); }
      auto held = tobi::checkout(none.span(), tobi::mode::read);
      tobi::checkout_raw(nullptr, 0, tobi::access::read);
      auto t = tobi::spawn([] { return 1; });
      seen += t.join();
      tobi::checkin_raw(nullptr, 0, tobi::access::read);
      tobi::parallel_for(0, 4, 1, [](int) {});
      return seen;
    });
    {
      auto empty = tobi::checkout(tobi::global_span<int>(), tobi::mode::read);
      rt.barrier();
    }
    return sum == 1 ? 0 : 1;
  });
  EXPECT_EQ(o.status, 0) << o.said;
  EXPECT_EQ(o.said, "");
}

struct wide {
  double of[3];
};

TEST(sizes_that_wrap, are_out_of_global_memory) {
  constexpr const char* sentence = "out of global memory";
  ends_with(sentence, 1, {}, [](tobi::runtime&) {
    return tobi::run([] { return tobi::allocate_global<double>(no_end / 8 + 2) ? 0 : 0; });
  });
  for (const std::size_t bytes : {no_end, no_end - 15, no_end - 100, no_end / 2, no_end - 5000}) {
    ends_with(sentence, 1, {},
              [=](tobi::runtime&) { return tobi::run([=] { return tobi::allocate_global<char>(bytes) ? 0 : 0; }); });
    ends_with(sentence, 2, {}, [=](tobi::runtime&) { return tobi::allocate_all<char>(bytes).empty() ? 0 : 0; });
    ends_with(sentence, 2, {}, [=](tobi::runtime&) {
      return tobi::allocate_all<char>(bytes, tobi::block_cyclic(bytes)).empty() ? 0 : 0;
    });
  }
  ends_with(sentence, 2, {}, [](tobi::runtime&) { return tobi::allocate_all<double>(no_end / 8 + 2).empty() ? 0 : 0; });
  ends_with(sentence, 2, {}, [](tobi::runtime&) {
    return tobi::allocate_all<wide>(no_end / sizeof(wide) + 2, tobi::block_cyclic(1 << 16)).empty() ? 0 : 0;
  });
  ends_with(sentence, 2, {},
            [](tobi::runtime&) { return tobi::allocate_all<int>(static_cast<std::size_t>(-1)).empty() ? 0 : 0; });
  ends_with(sentence, 1, {}, [](tobi::runtime&) {
    return tobi::run([] {
      tobi::global_vector<double> v;
      v.reserve(no_end / 8 + 2);
      return 0;
    });
  });
}

// A chunk that is larger than what is allocated is one that holds all of it.
TEST(sizes_that_wrap, do_not_come_from_a_large_chunk) {
  const outcome o = in_job(2, {}, [](tobi::runtime&) {
    const auto all = tobi::allocate_all<int>(1000, tobi::block_cyclic(no_end - 10));
    const bool right = tobi::run([=] {
      tobi::fill(all, 7);
      return tobi::reduce(all) == 7000;
    });
    tobi::free_all(all);
    return right ? 0 : 1;
  });
  EXPECT_EQ(o.status, 0) << o.said;
}

// The far end alone is written: whatever lies between is skipped.
[[gnu::noinline]] int far_end_of(std::size_t bytes) {
  auto* local = static_cast<volatile char*>(__builtin_alloca(bytes));
  local[0] = 1;
  return local[0];
}

TEST(a_local_larger_than_the_stack, is_said_to_be) {
  for (const std::size_t mb : {65, 130, 500, 900, 3000}) {
    ends_with("the stack of the nested tasks is full", 1, {}, [=](tobi::runtime&) {
      return tobi::run([=] {
        auto t = tobi::spawn([=] { return far_end_of(mb << 20); });
        return t.join();
      });
    });
  }
}

TEST(a_local_larger_than_the_stack, is_said_to_be_where_each_task_has_one) {
  for (const std::size_t kb : {256, 320, 400, 1000}) {
    ends_with("the stack of a task is full", 1, {{"TOBI_SCHED", "child_full"}, {"TOBI_TASK_STACK_SIZE", "256K"}},
              [=](tobi::runtime&) {
                return tobi::run([=] {
                  auto t = tobi::spawn([=] { return far_end_of(kb << 10); });
                  return t.join();
                });
              });
  }
}

// --- forks where no tasks run ---------------------------------------------------------------------------

constexpr const char* is_outside = "was called outside of tobi::run";

int spawns() {
  auto t = tobi::spawn([] {
    fputs("ran", stderr);
    return 1;
  });
  return t.join();
}
int loops() {
  tobi::parallel_for(0, 100, 1, [](int) {});
  return 0;
}
int spawns_a_future() {
  return tobi::spawn_future([] { return 1; }).join();
}
int finishes() {
  tobi::finish([] { tobi::async([] {}); });
  return 0;
}

TEST(a_fork_without_a_runtime, is_said_to_be) {
  for (int (*forks)() : {&spawns, &loops, &spawns_a_future, &finishes}) {
    const outcome o = in_child(forks);
    EXPECT_EQ(o.status, 2);
    EXPECT_NE(o.said.find(is_outside), std::string::npos) << o.said;
    EXPECT_EQ(o.said.find("ran"), std::string::npos) << o.said;
  }
}

TEST(a_fork_outside_of_a_run, is_said_to_be) {
  for (const char* sched : {"continuation_greedy", "continuation_stalling", "child_full", "child_rtc", "adws"}) {
    for (int (*forks)() : {&spawns, &loops, &spawns_a_future, &finishes}) {
      ends_with(is_outside, 2, {{"TOBI_SCHED", sched}}, [=](tobi::runtime&) { return forks(); });
      ends_with(is_outside, 1, {{"TOBI_SCHED", sched}}, [=](tobi::runtime&) {
        tobi::run([] { loops(); });
        return forks();
      });
      // A checkin also sets what forks look at.
      ends_with(is_outside, 1, {{"TOBI_SCHED", sched}}, [=](tobi::runtime&) {
        const auto all = tobi::allocate_all<int>(100);
        { auto part = tobi::checkout(all, tobi::mode::write); }
        tobi::run([=] { tobi::fill(all, 1); });
        { auto part = tobi::checkout(all, tobi::mode::write); }
        return forks();
      });
    }
  }
  const outcome o = in_child([] {
    { tobi::runtime rt(tobi::options{.workers = 1}); }
    spawns();
  });
  EXPECT_NE(o.said.find(is_outside), std::string::npos) << o.said;
}

TEST(a_thread_that_forks, is_said_to_be_one) {
  ends_with("by a thread that the program has made", 2, {}, [](tobi::runtime&) {
    return tobi::run([] {
      int got = 0;
      std::thread([&got] { got = spawns(); }).join();
      return got;
    });
  });
}

// Each worker has only that thread.
TEST(a_thread_that_makes_the_job, may_end_with_it_and_not_before) {
  const outcome well = in_child([] {
    long got = 0;
    std::thread([&got] {
      tobi::runtime rt(tobi::options{.workers = 3});
      got = tobi::run([] { return tobi::spawn([] { return 42L; }).join(); });
    }).join();
    _exit(got == 42 ? 0 : 1);
  });
  EXPECT_EQ(well.status, 0) << well.said;
  EXPECT_EQ(well.said, "");

  const outcome o = in_child([] {
    std::unique_ptr<tobi::runtime> rt;
    std::thread([&rt] { rt = std::make_unique<tobi::runtime>(tobi::options{.workers = 3}); }).join();
    rt.reset();
  });
  EXPECT_EQ(o.status, 1);
  EXPECT_NE(o.said.find("the thread that has made the tobi::runtime has ended"), std::string::npos) << o.said;
  EXPECT_EQ(o.said.find('\n'), o.said.size() - 1) << "more than one sentence: " << o.said;
}

// The kernel's signal at a parent's death means the thread that has forked, and rank 0's may end: here main's goes on.
TEST(a_thread_that_makes_the_job, may_end_on_rank_0) {
  const outcome o = in_child([] {
    std::unique_ptr<tobi::runtime> rt;
    std::thread([&rt] {
      rt = std::make_unique<tobi::runtime>(tobi::options{.workers = 3});
      if (rt->rank() != 0) std::this_thread::sleep_for(std::chrono::milliseconds(400));
      if (rt->rank() != 0) rt.reset();
    }).join();
    rt.reset();
  });
  EXPECT_EQ(o.status, 0) << o.said;
  EXPECT_EQ(o.said, "");
}

// --- ranks that end themselves ----------------------------------------------------------------------------

TEST(exit_within_the_runtime, ends_the_job_with_its_status) {
  for (const int rank : {0, 1, 2}) {
    for (const bool in_a_task : {false, true}) {
      const auto leaves = [=](int status) {
        return [=](tobi::runtime& rt) {
          const int self = rt.rank();
          tobi::run([] { return some_work(10); });
          if (in_a_task && rank == 0) tobi::run([=] { std::exit(status); });
          if (self == rank) std::exit(status);
          return tobi::run([] { return static_cast<int>(some_work(10)); }) - 55;
        };
      };
      const outcome five = in_job(3, {}, leaves(5));
      EXPECT_EQ(five.status, 5) << five.said;
      EXPECT_EQ(five.said, "");
      const outcome none = in_job(3, {}, leaves(0));
      EXPECT_EQ(none.status, 1) << none.said;
      EXPECT_NE(none.said.find("rank " + std::to_string(rank) + " "), std::string::npos) << none.said;
      EXPECT_NE(none.said.find("exit inside the life of tobi::runtime"), std::string::npos) << none.said;
    }
  }
}

TEST(a_rank_that_ends_itself, is_not_said_to_be_killed) {
  const auto dies_by = [](int rank, void (*end)()) {
    return in_job(3, {}, [=](tobi::runtime& rt) {
      tobi::run([] { return some_work(10); });
      if (rt.rank() == rank) end();
      return tobi::run([] { return static_cast<int>(some_work(10)); }) - 55;
    });
  };
  // Its parent is the test, which takes its status last: so what the kernel knows can be read.
  for (const int rank : {0, 1}) {
    const std::string who = "rank " + std::to_string(rank) + " on ";
    const outcome seven = dies_by(rank, [] { _exit(7); });
    EXPECT_EQ(seven.status, 7) << seven.said;
    EXPECT_NE(seven.said.find("exited with status 7 before the job's end"), std::string::npos) << seven.said;
    EXPECT_NE(seven.said.find(who), std::string::npos) << seven.said;
    const outcome none = dies_by(rank, [] { _exit(0); });
    EXPECT_NE(none.said.find("exited with status 0 before the job's end"), std::string::npos) << none.said;
    const outcome caught = dies_by(rank, [] {
      signal(SIGSEGV, [](int) { _exit(43); });
      raise(SIGSEGV);
    });
    EXPECT_NE(caught.said.find("exited with status 43 before the job's end"), std::string::npos) << caught.said;
    const outcome quick = dies_by(rank, [] { std::quick_exit(4); });
    EXPECT_EQ(quick.status, rank == 0 ? 1 : 4) << quick.said;
    EXPECT_NE(quick.said.find(rank == 0 ? "quick_exit" : "exited with status 4"), std::string::npos) << quick.said;
    const outcome killed = dies_by(rank, [] { raise(SIGKILL); });
    EXPECT_EQ(killed.status, 137) << killed.said;
    EXPECT_NE(killed.said.find(" was killed by signal 9 (SIGKILL); the job ends."), std::string::npos) << killed.said;
  }
}

// --- other -----------------------------------------------------------------------------------------------

TEST(a_fork_of_the_process, is_refused_in_a_task) {
  ends_with("fork() was called inside a task", 2, {}, [](tobi::runtime&) {
    return tobi::run([] {
      if (fork() == 0) _exit(0);
      return 0;
    });
  });
}

TEST(a_fork_of_the_process, is_right_in_main_and_programs_are_started_in_tasks) {
  const outcome o = in_job(2, {}, [](tobi::runtime&) {
    volatile int x = 1;
    const pid_t child = fork();
    if (child == 0) {
      x = 2;
      _exit(0);
    }
    waitpid(child, nullptr, 0);
    const int wrong = tobi::run([] {
      int failed = system("exit 3") == 3 << 8 ? 0 : 1;
      std::FILE* said = popen("echo hello", "r");
      char text[16]{};
      failed += std::fgets(text, sizeof text, said) != nullptr && std::string(text) == "hello\n" ? 0 : 2;
      failed += pclose(said) == 0 ? 0 : 4;
      pid_t spawned = 0;
      char name[] = "true";
      char* arguments[] = {name, nullptr};
      failed += posix_spawnp(&spawned, "true", nullptr, nullptr, arguments, environ) == 0 ? 0 : 8;
      int how = -1;
      waitpid(spawned, &how, 0);
      return failed + (how == 0 ? 0 : 16);
    });
    return wrong + (x == 1 ? 0 : 32);
  });
  EXPECT_EQ(o.status, 0) << o.said;
  EXPECT_EQ(o.said, "");
}

// Nobody has touched the array: what a worker has once used may stay mapped there.
TEST(global_memory_that_is_not_checked_out, is_said_to_be) {
  ends_with("is not checked out", 3, {}, [](tobi::runtime&) {
    const auto all = tobi::allocate_all<int>(1 << 20);
    return tobi::run([=] {
      int sum = 0;
      for (std::size_t i = 0; i < all.size(); i += 512)
        sum += *static_cast<const volatile int*>((all.data() + i).raw());
      return sum == -1 ? 1 : 0;
    });
  });
}

}  // namespace
