// SPDX-License-Identifier: Apache-2.0
// When the queue of a task collection may write over a place of its ring: what another thief claims and copies between
// the owner's two looks does not stand in for what a first one has not copied yet.
//
// The two words that the owner looks at lie on two pages here, and the second of them has no access when the owner
// comes to it. So it is stopped exactly there, and in the handler of the fault another thief takes a task, as it may on
// another core, or while the owner has lost its own. One thread, and no time.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <vector>

#include "libcore/net/fabric.hpp"
#include "libcore/pool/queue.hpp"
#include "tests/unit/played_transport.hpp"
#include "transports/cpu_ops.hpp"

namespace {

using namespace tobi;

constexpr std::uint64_t capacity = 2;
constexpr std::size_t pages = 8;
std::byte* region = nullptr;  // of what would be the heap region
pool::collection_words* words = nullptr;
std::size_t page_bytes = 0;
std::uint64_t taken_meanwhile = 0;
int faults = 0;

class memory_transport final : public played_transport {
 public:
  memory_transport() {
    caps_.chain_max = 16;
    caps_.put_max = 1 << 20;
    caps_.scope = transports::amo_scope::host;
  }
  [[nodiscard]] std::byte* map(transports::region_id) noexcept override { return region; }
  status post(int, std::span<const transports::op> ops) noexcept override {
    transports::execute_whole(ops, [](transports::region_id) { return region; });
    return status::ok;
  }
};

// What one_sided_thief does on mapped memory, in its two parts.
struct claim {
  std::uint64_t first, count;
};
claim claim_one() {
  const auto part = pool::shared_part::unpack(
      std::atomic_ref(words->shared).fetch_add(pool::shared_part::one_claim, std::memory_order_acq_rel));
  return {part.first + part.claimed(), part.next_portion()};
}
std::uint64_t copy(claim c) {
  std::uint64_t task = 0;
  std::memcpy(&task, reinterpret_cast<std::byte*>(words) + pool::ring_offset + c.first % capacity * sizeof task,
              sizeof task);
  std::atomic_ref(words->copied).fetch_add(c.count, std::memory_order_release);
  return task;
}

void protect(int how) { mprotect(region + page_bytes, (pages - 1) * page_bytes, how); }
void takes_one_meanwhile(int, siginfo_t*, void*) {
  protect(PROT_READ | PROT_WRITE);
  if (++faults > 1) _exit(9);
  taken_meanwhile = copy(claim_one());
}

TEST(queue_of_a_collection, keeps_a_place_that_is_claimed_and_not_copied) {
  page_bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* const at = mmap(nullptr, pages * page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(at, MAP_FAILED);
  region = static_cast<std::byte*>(at);
  const std::size_t apart = offsetof(pool::collection_words, copied);
  ASSERT_GT(apart, offsetof(pool::collection_words, shared));
  words = new (region + page_bytes - apart) pool::collection_words{};
  struct sigaction mine {};
  struct sigaction before {};
  mine.sa_sigaction = takes_one_meanwhile;
  mine.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &mine, &before);

  memory_transport over;
  net::fabric fabric(over, 0, 2, region, pages * page_bytes, [](int) { return net::peer_keys{}; });
  pool::queue queue(fabric, *words, sizeof(std::uint64_t), capacity, pool::queue::thieves::one_sided);
  queue.took(1'000'000);  // coarse tasks: all are offered
  std::vector<std::uint64_t> executed;
  const auto add = [&](std::uint64_t task) { queue.add(&task); };
  const auto take = [&] {
    std::uint64_t task = 0;
    if (!queue.take(&task)) return false;
    executed.push_back(task);
    return true;
  };
  add(10);
  add(11);                         // the ring is full
  const claim slow = claim_one();  // of 10, which is copied last
  ASSERT_TRUE(take());
  EXPECT_EQ(executed.back(), 11u);
  add(12);
  protect(PROT_NONE);
  add(13);  // not to the place of 10
  protect(PROT_READ | PROT_WRITE);
  sigaction(SIGSEGV, &before, nullptr);
  EXPECT_EQ(faults, 1) << "the owner has looked at both words";
  executed.push_back(taken_meanwhile);
  executed.push_back(copy(slow));
  while (take()) {
  }
  std::sort(executed.begin(), executed.end());
  EXPECT_EQ(executed, (std::vector<std::uint64_t>{10, 11, 12, 13})) << "each task once";
  munmap(at, pages * page_bytes);
}

TEST(queue_of_a_collection, sees_where_an_invariant_is_broken) {
  constexpr std::size_t bytes = std::size_t{1} << 16;
  void* const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(at, MAP_FAILED);
  region = static_cast<std::byte*>(at);
  words = new (region) pool::collection_words{};
  memory_transport over;
  net::fabric fabric(over, 0, 2, region, bytes, [](int) { return net::peer_keys{}; });
  pool::queue queue(fabric, *words, sizeof(std::uint64_t), capacity, pool::queue::thieves::one_sided);
  queue.took(1'000'000);
  for (const std::uint64_t task : {10, 11}) queue.add(&task);
  EXPECT_TRUE(queue.is_valid());
  words->copied = 1;
  EXPECT_FALSE(queue.is_valid()) << "more was copied than claimed";
  (void)claim_one();
  EXPECT_TRUE(queue.is_valid());
  words->shared = pool::shared_part{0, capacity + 1, 0}.pack();
  EXPECT_FALSE(queue.is_valid()) << "more is offered than there is";
  munmap(at, bytes);
}

}  // namespace
