// SPDX-License-Identifier: Apache-2.0
// The door between a worker's thread and its attendants: of several visitors one is inside at a time, and the worker
// comes in when the last of them has left.
#include "libcore/task/door.hpp"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/membarrier.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

#include "arch/heavy_fence.hpp"

namespace {

using tobi::tasks::door;

TEST(door, has_one_visitor_at_a_time_and_keeps_the_owner_out_meanwhile) {
  if (!tobi::arch::prepare_heavy_fence().empty()) GTEST_SKIP() << "this kernel has no membarrier";
  constexpr int visitors = 4;
  constexpr int turns = 500;
  door of;
  of.step_out();
  std::atomic<int> inside{0};
  std::atomic<int> visits{0};
  std::atomic<int> wrong{0};
  std::atomic<bool> stop{false};
  std::vector<std::thread> all;
  for (int v = 0; v < visitors; ++v) {
    all.emplace_back([&] {
      while (!stop.load()) {
        if (!of.try_visit()) {
          std::this_thread::yield();
          continue;
        }
        if (inside.fetch_add(1) != 0) ++wrong;
        std::this_thread::yield();  // the others come meanwhile
        inside.fetch_sub(1);
        ++visits;
        of.end_visit();
      }
    });
  }
  for (int t = 0; t < turns || visits.load() < turns; ++t) {
    of.step_in();
    if (inside.fetch_add(1) != 0) ++wrong;
    inside.fetch_sub(1);
    of.step_out();
    std::this_thread::yield();
  }
  stop = true;
  for (std::thread& t : all) t.join();
  EXPECT_EQ(wrong.load(), 0);
}

// Whom a kernel refuses the barrier that it has promised cannot go on: owner and visitor would both be inside.
void forbid_membarrier() {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1),  // EPERM
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter{static_cast<unsigned short>(std::size(program)), program};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) _exit(77);
}

TEST(a_heavy_fence, that_the_kernel_refuses_is_a_sentence) {
  if (!tobi::arch::prepare_heavy_fence().empty()) GTEST_SKIP() << "this kernel has no membarrier";
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        if (!tobi::arch::prepare_heavy_fence().empty()) _exit(78);
        forbid_membarrier();
        tobi::arch::heavy_fence();
        _exit(0);
      },
      testing::ExitedWithCode(1), "refuses it now");
}

}  // namespace
