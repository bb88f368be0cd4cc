// SPDX-License-Identifier: Apache-2.0
// Which of the workers of a node that sleep are called: as many as there is work for, each once, and none that is
// awake. Four workers are one process, and a sleep is a thread's.
#include "libcore/sched/sleepers.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "libcore/base/per_rank.hpp"
#include "tests/unit/fabric_in_process.hpp"
#include "transports/nap.hpp"

namespace {

using namespace tobi;
using transports::nap_end;

constexpr int ranks = 4;
constexpr std::uint64_t for_ever_ns = 600'000'000'000;  // a test that waits for it has failed

class four_workers : public testing::Test {
 protected:
  void SetUp() override {
    base::per_rank<net::peer_keys> keys(ranks);
    for (int r = 0; r < ranks; ++r) {
      worker& w = at_[r];
      w.fd = memfd_create("tobi-test", MFD_CLOEXEC);
      ASSERT_EQ(ftruncate(w.fd, sizeof(deque::steal_window)), 0);
      void* at = mmap(nullptr, sizeof(deque::steal_window), PROT_READ | PROT_WRITE, MAP_SHARED, w.fd, 0);
      ASSERT_NE(at, MAP_FAILED);
      w.window = static_cast<deque::steal_window*>(at);
      deque::clear_window(*w.window);
      ASSERT_EQ(over_.of(r).register_memory({at, sizeof(deque::steal_window), w.fd, 0}, keys[r].heap), status::ok);
      keys[r].stack = keys[r].heap;
    }
    for (int r = 0; r < ranks; ++r) {
      worker& w = at_[r];
      w.net = std::make_unique<net::fabric>(over_.of(r), r, ranks, reinterpret_cast<std::byte*>(w.window),
                                            sizeof(deque::steal_window), [keys](int of) { return keys[of]; });
      std::vector<int> near;
      for (int other = 0; other < ranks; ++other) {
        if (other != r) near.push_back(other);
      }
      w.others.start(*w.net, *w.window, near);
      ASSERT_GE(w.others.fd(), 0);
    }
  }
  void TearDown() override {
    for (worker& w : at_) {
      w.others.stop();
      w.net.reset();
      munmap(w.window, sizeof(deque::steal_window));
      close(w.fd);
    }
  }
  // In RANK's own thread, which sleeps until it is called.
  [[nodiscard]] std::thread asleep(int rank) {
    return std::thread([this, rank] {
      at_[rank].others.falls_asleep();
      const nap_end how = transports::nap_on(-1, at_[rank].others.fd(), for_ever_ns);
      at_[rank].others.is_awake(how == nap_end::call);
      if (how == nap_end::call) ++called_;
    });
  }
  void until_asleep(std::uint32_t many) {
    while (count() != many) std::this_thread::yield();
  }
  [[nodiscard]] std::uint32_t count() { return std::atomic_ref(at_[0].window->sleepers).load(); }
  // Whether a datagram waits for RANK.
  [[nodiscard]] bool is_called(int rank) { return transports::nap_on(-1, at_[rank].others.fd(), 0) == nap_end::call; }

  struct worker {
    int fd = -1;
    deque::steal_window* window = nullptr;
    std::unique_ptr<net::fabric> net;
    sched::sleepers others;
  };
  fabric_in_process over_{"shm", "", ranks};
  base::per_rank<worker> at_ = base::per_rank<worker>(ranks);
  std::atomic<int> called_{0};
};

TEST_F(four_workers, a_call_ends_a_sleep) {
  std::thread one = asleep(2);
  until_asleep(1);
  at_[1].others.call(1);
  one.join();
  EXPECT_EQ(called_, 1);
  EXPECT_EQ(count(), 0u);
  EXPECT_EQ(at_[2].window->asleep, 0u);
}

TEST_F(four_workers, as_many_are_called_as_there_is_work_for) {
  for (int r = 1; r < ranks; ++r) at_[r].others.falls_asleep();
  at_[0].others.call(2);
  EXPECT_EQ(count(), 1u);
  EXPECT_EQ(is_called(1) + is_called(2) + is_called(3), 2);
  at_[0].others.call(2);
  EXPECT_EQ(count(), 0u);
  EXPECT_EQ(is_called(1) + is_called(2) + is_called(3), 3);
}

TEST_F(four_workers, all_are_called_each_once) {
  std::vector<std::thread> three;
  for (const int r : {0, 1, 3}) three.push_back(asleep(r));
  until_asleep(3);
  at_[2].others.call_all();
  at_[2].others.call_all();
  for (std::thread& t : three) t.join();
  EXPECT_EQ(called_, 3);
  EXPECT_EQ(count(), 0u);
  for (int r = 0; r < ranks; ++r) EXPECT_FALSE(is_called(r)) << r;
}

TEST_F(four_workers, a_worker_that_is_awake_is_not_called) {
  at_[1].others.falls_asleep();
  at_[1].others.is_awake(false);  // its nap was over
  at_[0].others.call_all();
  for (int r = 0; r < ranks; ++r) EXPECT_FALSE(is_called(r)) << r;
  EXPECT_EQ(count(), 0u);
}

TEST_F(four_workers, a_call_that_comes_before_the_sleep_ends_it) {
  at_[3].others.falls_asleep();
  at_[0].others.call(1);
  EXPECT_EQ(transports::nap_on(-1, at_[3].others.fd(), for_ever_ns), nap_end::call);
  at_[3].others.is_awake(true);
  EXPECT_FALSE(is_called(3));
  EXPECT_EQ(count(), 0u);
}

TEST_F(four_workers, a_descriptor_of_the_transport_ends_a_sleep_too) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  ASSERT_EQ(write(ends[1], "x", 1), 1);
  EXPECT_EQ(transports::nap_on(ends[0], at_[0].others.fd(), for_ever_ns), nap_end::transport);
  at_[0].others.falls_asleep();
  at_[1].others.call(1);
  EXPECT_EQ(transports::nap_on(ends[0], at_[0].others.fd(), for_ever_ns), nap_end::call);
  at_[0].others.is_awake(true);
  for (const int end : ends) close(end);
}

// Sleepers come and go while three call: nobody is left in the count, and each sleeps and wakes to the end.
TEST_F(four_workers, the_count_is_right_behind_a_storm) {
  std::vector<std::thread> all;
  for (int r = 0; r < ranks; ++r) {
    all.emplace_back([this, r] {
      for (int i = 0; i < 2000; ++i) {
        at_[r].others.falls_asleep();
        const nap_end how = transports::nap_on(-1, at_[r].others.fd(), 20'000);
        at_[r].others.is_awake(how == nap_end::call);
        at_[r].others.call(static_cast<std::size_t>(i) % 3);
      }
    });
  }
  for (std::thread& t : all) t.join();
  EXPECT_EQ(count(), 0u);
  for (int r = 0; r < ranks; ++r) EXPECT_EQ(at_[r].window->asleep, 0u) << r;
}

}  // namespace
