// SPDX-License-Identifier: Apache-2.0
// A record that is read from afar at the very moment at which it is completed says what was written, or that it is not
// done: also over a fabric that reads the words of a get, and the gets of a chain, in any order.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "fabric_in_process.hpp"
#include "libcore/base/rng.hpp"
#include "libcore/net/fabric.hpp"
#include "libcore/task/record.hpp"

namespace {

using namespace tobi;
using net::location;
using tasks::record;

constexpr int owner = 0;
constexpr int reader = 1;
constexpr int completer = 2;
constexpr std::size_t heap_bytes = 1u << 16;
constexpr std::uint64_t record_at = 4096;

struct place {
  const char* name;
  const char* transport;
  const char* modes;
  bool from_afar;  // it is completed by a chain of the fabric, not by the owner's CPU
};

record with_words(std::uint64_t seed) {
  base::rng random(seed);
  record made{};
  made.status = tasks::record_status::value;
  made.set_by(static_cast<int>(seed & 0xfffff));
  made.done_ns = random.uniform(4) == 0 ? tasks::unwritten : seed;
  for (std::size_t i = 0; i < sizeof made.value; i += 8) {
    const std::uint64_t word = random.uniform(4) == 0 ? tasks::unwritten : seed * 31 + i;
    std::memcpy(made.value + i, &word, sizeof word);
  }
  tasks::seal(made);
  return made;
}

TEST(a_record, is_not_written_as_long_as_one_word_of_it_is_missing) {
  for (std::uint64_t seed = 1; seed < 200; ++seed) {
    const record made = with_words(seed);
    record fresh;
    std::memset(&fresh, static_cast<int>(seed), sizeof fresh);  // the memory's former life
    tasks::make_unwritten(fresh, tasks::record_status::child);
    EXPECT_FALSE(tasks::is_written(fresh));
    EXPECT_TRUE(tasks::is_written(made));
    constexpr std::size_t words = (sizeof(record) - tasks::record_head) / 8;
    for (unsigned came = 0; came < 1u << words; ++came) {
      record mixed = fresh;
      for (std::size_t i = 0; i < words; ++i) {
        if ((came >> i & 1) == 0) continue;
        std::memcpy(reinterpret_cast<std::byte*>(&mixed) + tasks::record_head + 8 * i,
                    reinterpret_cast<const std::byte*>(&made) + tasks::record_head + 8 * i, 8);
      }
      mixed.done_ns = made.done_ns;  // a statistic's, which is 0 where it came too early
      const bool same = std::memcmp(&mixed.status, &made.status, sizeof mixed - tasks::record_head) == 0;
      ASSERT_EQ(tasks::is_written(mixed), same) << "seed " << seed << ", words " << came;
    }
  }
}

class read_over : public testing::TestWithParam<place> {};

TEST_P(read_over, what_is_done_says_what_was_written) {
  const place& p = GetParam();
  fabric_in_process job(p.transport, p.modes, 3);
  const int fd = memfd_create("tobi-test", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(fd, heap_bytes), 0);
  auto* const heap = static_cast<std::byte*>(mmap(nullptr, heap_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
  std::vector<net::peer_keys> keys(3);
  for (int r = 0; r < 3; ++r) {  // all name the owner's memory: nobody uses the others'
    ASSERT_EQ(job.of(r).register_memory({heap, heap_bytes, fd, 0}, keys[static_cast<std::size_t>(r)].heap), status::ok);
    keys[static_cast<std::size_t>(r)].stack = keys[static_cast<std::size_t>(r)].heap;
  }
  const auto keys_of = [&keys](int r) { return keys[static_cast<std::size_t>(r)]; };
  net::fabric of_reader(job.of(reader), reader, 3, nullptr, heap_bytes, keys_of);
  net::fabric of_completer(job.of(completer), completer, 3, nullptr, heap_bytes, keys_of);
  const location where(owner, record_at);
  auto& here = *reinterpret_cast<record*>(heap + record_at);
  const int rounds = p.from_afar ? 800 : 1500;

  std::atomic<int> begun{0};
  std::atomic<bool> stop{false};
  std::thread completes([&] {
    base::rng random(7);
    for (int i = 1; i <= rounds; ++i) {
      while (begun < i) sched_yield();
      for (std::uint64_t n = random.uniform(2000); n > 0; --n) asm volatile("");
      record made = with_words(static_cast<std::uint64_t>(i));
      if (!p.from_afar) {
        tasks::fill_record(here, made);
        std::atomic_ref(here.word).store(tasks::record_done, std::memory_order_release);
        continue;
      }
      const transports::op both[] = {
          transports::op::put(of_completer.heap(owner), record_at + tasks::record_head, &made.status,
                              sizeof made - tasks::record_head),
          transports::op::put(of_completer.heap(owner), record_at, &tasks::record_done, 8),
      };
      of_completer.post(owner, both);
      of_completer.complete(owner);
    }
  });
  std::thread moves([&] {
    while (!stop) {
      job.of(owner).progress();
      sched_yield();
    }
  });
  for (int i = 1; i <= rounds; ++i) {
    tasks::make_unwritten(here, tasks::record_status::child);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    begun = i;
    record seen;
    while (!tasks::read_if_done(of_reader, where, seen)) {
    }
    const record made = with_words(static_cast<std::uint64_t>(i));
    if (seen.done_ns == 0) seen.done_ns = made.done_ns;
    EXPECT_EQ(std::memcmp(&seen.status, &made.status, sizeof seen - tasks::record_head), 0) << "round " << i;
    if (HasFailure()) break;
    // The completion has come to its end, also where its last operation is the completer's to wait for.
    while (p.from_afar && std::atomic_ref(here.word).load() != tasks::record_done) sched_yield();
  }
  begun = rounds;
  completes.join();
  stop = true;
  moves.join();
  munmap(heap, heap_bytes);
  close(fd);
}

INSTANTIATE_TEST_SUITE_P(fabrics, read_over,
                         testing::Values(place{"shm", "shm", "", false}, place{"sim", "sim", "", false},
                                         place{"sim_put", "sim", "", true},
                                         place{"sim_nochain", "sim", "nochain", false},
                                         place{"sim_ordered", "sim", "ordered-gets", false}),
                         [](const auto& p) { return std::string(p.param.name); });

}  // namespace
