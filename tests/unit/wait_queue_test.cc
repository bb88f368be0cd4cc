// SPDX-License-Identifier: Apache-2.0
// How many looks at records it takes to find the tasks that can go on: a time would say little on a machine that others
// use, round trips say all. Two workers in one process, on a fabric that maps no memory.
#include "libcore/task/wait_queue.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "libcore/task/record.hpp"
#include "tests/unit/fabric_in_process.hpp"

namespace {

using namespace tobi;
using net::location;
using tasks::record;
using tasks::wait_queue;

constexpr std::size_t records = 1000;

struct heap {
  heap() : fd(memfd_create("tobi-test", MFD_CLOEXEC)) {
    if (fd < 0 || ftruncate(fd, bytes) != 0) std::abort();
    all = static_cast<record*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    if (all == MAP_FAILED) std::abort();
  }
  ~heap() {
    munmap(all, bytes);
    close(fd);
  }
  heap(const heap&) = delete;
  heap& operator=(const heap&) = delete;
  static constexpr long bytes = records * sizeof(record);
  int fd;
  record* all;
};

class wait_queue_of : public testing::Test {
 protected:
  wait_queue_of() {
    base::per_rank<net::peer_keys> keys(2);
    for (int r = 0; r < 2; ++r) {
      const transports::memory whole{of_[r].all, heap::bytes, of_[r].fd, 0};
      if (both_.of(r).register_memory(whole, keys[r].heap) != status::ok) std::abort();
      keys[r].stack = keys[r].heap;
    }
    net_ = std::make_unique<net::fabric>(both_.of(0), 0, 2, reinterpret_cast<std::byte*>(of_[0].all), heap::bytes,
                                         [keys](int r) { return keys[r]; });
  }
  // Task i waits for record i of worker RANK.
  void wait_for_all(int rank) {
    for (std::size_t i = 0; i < records; ++i) {
      queue_.push(*net_, {i, location{rank, i * sizeof(record)}.word, 1});
    }
  }
  void done(int rank, std::size_t i) { of_[rank].all[i].word = tasks::record_done; }

  heap of_[2];
  fabric_in_process both_{"sim", "", 2};
  std::unique_ptr<net::fabric> net_;
  wait_queue queue_;
};

TEST_F(wait_queue_of, a_look_at_all_records_elsewhere_is_few_round_trips) {
  wait_for_all(1);
  EXPECT_EQ(queue_.turns(), (records + wait_queue::gets - 1) / wait_queue::gets);
  const std::uint64_t before = net_->round_trips();
  wait_queue::waiting one{};
  for (std::size_t turns = queue_.turns(); turns != 0; --turns) EXPECT_FALSE(queue_.take_far(*net_, 0, one));
  EXPECT_EQ(net_->round_trips() - before, queue_.turns()) << "1,000 looks one by one are as many round trips";
  EXPECT_EQ(queue_.size(), records);
}

TEST_F(wait_queue_of, a_look_at_records_here_is_no_round_trip) {
  wait_for_all(0);
  EXPECT_EQ(queue_.turns(), (records + wait_queue::loads - 1) / wait_queue::loads);
  const std::uint64_t before = net_->round_trips();
  wait_queue::waiting one{};
  for (std::size_t turns = queue_.turns(); turns != 0; --turns) EXPECT_FALSE(queue_.take_near(*net_, 0, one));
  EXPECT_EQ(net_->round_trips(), before);
}

TEST_F(wait_queue_of, each_goes_on_once_and_within_a_round) {
  wait_for_all(0);
  wait_for_all(1);
  for (const std::size_t i : {999u, 0u, 31u, 32u, 500u}) {
    done(0, i);
    const std::size_t turns = queue_.turns();
    wait_queue::waiting one{};
    std::size_t found = 0;
    for (std::size_t t = 0; t < turns && found == 0; ++t) found += queue_.take_near(*net_, 0, one) ? 1 : 0;
    EXPECT_EQ(found, 1u);
    EXPECT_EQ(one.task, i);
    EXPECT_EQ(location{one.record}.rank(), 0);

    done(1, i);
    found = 0;
    for (std::size_t t = 0; t < turns && found == 0; ++t) found += queue_.take_far(*net_, 0, one) ? 1 : 0;
    EXPECT_EQ(found, 1u);
    EXPECT_EQ(one.task, i);
    EXPECT_EQ(location{one.record}.rank(), 1);
  }
  EXPECT_EQ(queue_.size(), 2 * records - 10);
  EXPECT_EQ(queue_.all().size(), queue_.size());
}

// What one look finds done is given out without another look, and a task that must wait on has the later time.
TEST_F(wait_queue_of, what_is_found_done_is_kept) {
  wait_for_all(1);
  for (std::size_t i = 0; i < 20; ++i) done(1, i);
  wait_queue::waiting one{};
  ASSERT_TRUE(queue_.take_far(*net_, 7, one));
  EXPECT_EQ(one.since_ns, 1u);
  const std::uint64_t before = net_->round_trips();
  for (int i = 1; i < 20; ++i) EXPECT_TRUE(queue_.take_near(*net_, 7, one)) << i;
  EXPECT_FALSE(queue_.take_near(*net_, 7, one));
  EXPECT_EQ(net_->round_trips(), before);
  const std::vector<wait_queue::waiting> left = queue_.all();
  EXPECT_EQ(std::count_if(left.begin(), left.end(), [](const auto& w) { return w.since_ns == 7; }), 12);
}

}  // namespace
