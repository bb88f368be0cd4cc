// SPDX-License-Identifier: Apache-2.0
// Whether a device's atomics exclude the CPU's is found out by trying. The device is a thread here: one whose atomics
// are the machine's, and one whose atomics are a load and a store, as most devices' are to a CPU.
#include "transports/host_atomics.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>

#include "fabric_in_process.hpp"
#include "played_transport.hpp"

namespace {

using namespace tobi;
using transports::op;
using transports::op_kind;

class device_thread final : public played_transport {
 public:
  device_thread(std::uint64_t& word, bool excludes) : word_(word), excludes_(excludes) {
    caps_.fetch_add = caps_.compare_swap = true;
    caps_.scope = transports::amo_scope::domain;
    caps_.chain_max = 16;
    thread_ = std::thread([this] { live(); });
  }
  ~device_thread() override {
    stop_ = true;
    thread_.join();
  }
  status post(int, std::span<const op> ops) noexcept override {
    if (count_.load(std::memory_order_acquire) != 0) return status::again;
    std::copy(ops.begin(), ops.end(), ops_);
    count_.store(ops.size(), std::memory_order_release);
    return status::ok;
  }
  status flush(int) noexcept override {
    return count_.load(std::memory_order_acquire) == 0 ? status::ok : status::again;
  }

 private:
  void live() {
    while (!stop_) {
      const std::size_t n = count_.load(std::memory_order_acquire);
      for (std::size_t i = 0; i < n; ++i) execute(ops_[i]);
      if (n != 0) count_.store(0, std::memory_order_release);
      if (n == 0) std::this_thread::yield();
    }
  }
  void execute(const op& o) {
    const std::atomic_ref shared(word_);
    auto& found = *static_cast<std::uint64_t*>(o.local);
    if (excludes_ && o.kind == op_kind::fetch_add) {
      found = shared.fetch_add(o.operand);
    } else if (excludes_) {
      found = o.expected;
      shared.compare_exchange_strong(found, o.operand);
    } else {
      found = shared.load();
      if (++executed_ % 7 == 0) std::this_thread::yield();  // a moment in which a CPU may come in between
      if (o.kind == op_kind::fetch_add) {
        shared.store(found + o.operand);
      } else if (found == o.expected) {
        shared.store(o.operand);
      }
    }
  }

  std::uint64_t& word_;
  bool excludes_;
  op ops_[16];
  unsigned executed_ = 0;
  std::atomic<std::size_t> count_{0};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

TEST(host_atomics, are_believed_where_none_is_lost) {
  alignas(64) std::uint64_t word = 0;
  device_thread over(word, true);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(transports::cpu_and_fabric_exclude_each_other(over, 0, 0, 0, word));
}

TEST(host_atomics, are_not_believed_where_a_device_loads_and_stores) {
  alignas(64) std::uint64_t word = 0;
  device_thread over(word, false);
  EXPECT_FALSE(transports::cpu_and_fabric_exclude_each_other(over, 0, 0, 0, word));
}

// Through a real transport: its own memory, which is changed by the CPU on both ways.
TEST(host_atomics, are_tried_by_chains_and_flushes_of_the_contract) {
  const fabric_in_process job("self", "", 1);
  alignas(64) std::uint64_t word = 0;
  transports::region_key key;
  transports::region_id region = 0;
  ASSERT_EQ(job.of(0).register_memory({&word, sizeof word, -1, 0}, key), status::ok);
  ASSERT_EQ(job.of(0).attach(0, key, region), status::ok);
  EXPECT_TRUE(transports::cpu_and_fabric_exclude_each_other(job.of(0), 0, region, 0, word));
  // An operation that fails proves nothing.
  EXPECT_FALSE(transports::cpu_and_fabric_exclude_each_other(job.of(0), 0, region, 8, word));
}

}  // namespace
