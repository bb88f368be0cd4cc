// SPDX-License-Identifier: Apache-2.0
// Who explains a fault allocates nothing: the fault may be inside the program's allocator, whose lock its thread holds.
// From the moment before each fault on an allocation ends the process with a status of its own.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "in_job.hpp"

namespace {

std::atomic<bool> allocator_is_locked{false};
constexpr int allocated = 99;

void* take(std::size_t bytes) {
  if (allocator_is_locked.load(std::memory_order_relaxed)) _exit(allocated);
  void* at = std::malloc(bytes == 0 ? 1 : bytes);
  if (at == nullptr) throw std::bad_alloc();
  return at;
}

}  // namespace

// std::string's, in the library as in the program.
void* operator new(std::size_t bytes) { return take(bytes); }
void* operator new[](std::size_t bytes) { return take(bytes); }
void operator delete(void* at) noexcept { std::free(at); }
void operator delete[](void* at) noexcept { std::free(at); }
void operator delete(void* at, std::size_t) noexcept { std::free(at); }
void operator delete[](void* at, std::size_t) noexcept { std::free(at); }

namespace {

// Deeper than any stack here.
[[gnu::noinline]] long deep(long n) {
  volatile long kept[64] = {n};
  return n == 0 ? 0 : deep(n - 1) + kept[0];
}
long nested(long n) {
  if (n == 0) return 0;
  auto child = tobi::spawn([=] { return nested(n - 1); });
  return child.join() + 1;
}

void explains(environment env, const char* sentence, int (*body)()) {
  const outcome o = in_job(1, env, [=](tobi::runtime&) { return body(); });
  EXPECT_EQ(o.status, 1) << o.said;
  EXPECT_NE(o.said.find(sentence), std::string::npos) << o.said;
}

int overflows() {
  return tobi::run([] {
    allocator_is_locked = true;
    return deep(1'000'000'000) == 0 ? 0 : 1;
  });
}

TEST(the_fault_handler, explains_a_stack_that_is_full_without_allocating) {
  explains({{"TOBI_STACK_SIZE", "256K"}}, "raise TOBI_STACK_SIZE", overflows);
}

TEST(the_fault_handler, explains_the_stacks_of_tied_tasks_without_allocating) {
  explains({{"TOBI_SCHED", "child_full"}}, "raise TOBI_TASK_STACK_SIZE", overflows);
  explains({{"TOBI_SCHED", "child_rtc"}, {"TOBI_STACK_SIZE", "256K"}}, "raise TOBI_STACK_SIZE", overflows);
}

TEST(the_fault_handler, explains_a_deque_that_is_full_without_allocating) {
  explains({{"TOBI_DEQUE_SIZE", "1K"}}, "raise TOBI_DEQUE_SIZE", [] {
    return tobi::run([] {
      allocator_is_locked = true;
      return nested(100'000) == 0 ? 0 : 1;
    });
  });
}

TEST(the_fault_handler, explains_a_write_to_a_local_of_main_without_allocating) {
  explains({{"TOBI_DEBUG_MIGRATE", "1"}}, "a task writes to a local of main", [] {
    int local = 0;
    tobi::run([&local] {
      allocator_is_locked = true;
      *const_cast<volatile int*>(&local) = 1;
      return 0;
    });
    return local;
  });
}

}  // namespace
