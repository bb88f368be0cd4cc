// SPDX-License-Identifier: Apache-2.0
// lane: sleeps, 1 s
// Where the program finds no memory it is told as anywhere: std::bad_alloc, or its own handler, in tasks, in tasks of a
// collection, outside of tobi::run and on its own threads. Where the runtime finds none the job ends with a sentence:
// tests/fault/failing_calls.sh.
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <thread>
#include <tobi/tobi.hpp>

#include "in_job.hpp"

namespace {

std::size_t more_than_there_is = std::size_t{1} << 62;

bool is_refused() {
  try {
    ::operator delete(::operator new(more_than_there_is));
  } catch (const std::bad_alloc&) {
    return true;
  }
  return false;
}

TEST(programs_memory, is_refused_with_an_exception_in_tasks_and_outside) {
  const outcome o = in_job(2, {}, [](tobi::runtime&) {
    int wrong = is_refused() ? 0 : 1;
    wrong += tobi::run([] {
      auto child = tobi::spawn([] { return is_refused() ? 0 : 2; });
      const int here = is_refused() ? 0 : 4;
      return child.join() + here;
    });
    return wrong + (is_refused() ? 0 : 8);
  });
  EXPECT_EQ(o.status, 0) << o.said;
  EXPECT_EQ(o.said, "");
}

TEST(programs_memory, leaves_a_task_as_its_exception) {
  const outcome o = in_job(2, {}, [](tobi::runtime&) {
    try {
      tobi::run([] { ::operator delete(::operator new(more_than_there_is)); });
    } catch (const tobi::task_error&) {
      return 0;
    }
    return 1;
  });
  EXPECT_EQ(o.status, 0) << o.said;
}

TEST(programs_memory, is_refused_in_a_collections_task) {
  const outcome o = in_job(2, {}, [](tobi::runtime&) {
    int refused = 0;
    using collection = tobi::task_collection<int, int>;
    collection work([](const int&, const collection::context& here) { here.local() += is_refused() ? 1 : 0; }, refused,
                    {.steals = false});
    for (int i = 0; i < 10; ++i) work.add(i);
    work.process();
    return refused == 10 ? 0 : 1;
  });
  EXPECT_EQ(o.status, 0) << o.said;
}

TEST(programs_memory, is_refused_on_a_thread_of_the_program_while_tasks_run) {
  const outcome o = in_job(2, {}, [](tobi::runtime&) {
    std::atomic<bool> stop{false};
    std::atomic<int> wrong{0};
    std::atomic<int> tried{0};
    std::thread other([&] {
      while (!stop) {
        wrong += is_refused() ? 0 : 1;
        ++tried;
      }
    });
    while (tried == 0) std::this_thread::yield();
    for (int i = 0; i < 200; ++i) {
      tobi::run([] {
        for (int k = 0; k < 20; ++k) tobi::spawn([] {}).join();
      });
    }
    stop = true;
    other.join();
    return wrong.load();
  });
  EXPECT_EQ(o.status, 0) << o.said;
  EXPECT_EQ(o.said, "");
}

std::atomic<int> handled{0};
void programs_handler() {
  ++handled;
  throw std::bad_alloc();
}

TEST(programs_memory, is_refused_by_the_programs_own_handler) {
  const std::new_handler before = std::set_new_handler(programs_handler);
  const outcome o = in_job(1, {}, [](tobi::runtime&) {
    if (!is_refused() || handled != 1) return 1;
    tobi::run([] { (void)is_refused(); });
    return handled == 2 ? 0 : 2;
  });
  std::set_new_handler(before);
  EXPECT_EQ(o.status, 0) << o.said;
}

TEST(programs_memory, has_the_programs_handler_back_when_the_runtime_has_ended) {
  const outcome o = in_child([] {
    std::set_new_handler(programs_handler);
    setenv("TOBI_WORKERS", "1", 1);
    { const tobi::runtime alone; }
    _exit(std::get_new_handler() == programs_handler ? 0 : 1);
  });
  EXPECT_EQ(o.status, 0) << o.said;
}

}  // namespace
