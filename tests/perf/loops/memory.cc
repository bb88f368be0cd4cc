// SPDX-License-Identifier: Apache-2.0
// Memory that two processes share: a ping-pong of words, a shared counter, copies. See loop.hpp.
#include <cstring>

#include "tests/perf/loops/loop.hpp"

namespace {

constexpr std::size_t large = 64 << 10;

struct memory {
  alignas(64) std::atomic<std::uint64_t> ping;
  alignas(64) std::atomic<std::uint64_t> pong;
  alignas(64) std::atomic<std::uint64_t> counter;
  alignas(4096) std::byte there[large];
  alignas(4096) std::byte here[large];
};

constexpr std::uint64_t last_ping = ~std::uint64_t{0};

void reply(memory& m) {
  for (std::uint64_t seen = 0;;) {
    const std::uint64_t now = m.ping.load(std::memory_order_acquire);
    if (now == last_ping) return;
    if (now == seen) {
      tobi::arch::pause();  // what waits for another core is told to the processor
      continue;
    }
    seen = now;
    m.pong.store(now, std::memory_order_release);
  }
}

}  // namespace

int main() {
  auto& m = *static_cast<memory*>(loops::shared_memory(sizeof(memory)));
  std::memset(m.there, 1, large);
  std::memset(m.here, 1, large);
  const int rank = loops::two_processes();
  if (rank == 1) {
    reply(m);
  } else {
    std::uint64_t number = 0;
    loops::measure("put-oneway", 8, 2, [&] {
      m.ping.store(++number, std::memory_order_release);
      while (m.pong.load(std::memory_order_acquire) != number) {
        tobi::arch::pause();
      }
    });
    loops::measure("amo-faa", 8, 1, [&] { m.counter.fetch_add(1, std::memory_order_acq_rel); });
    loops::measure("get", large, 1, [&] {
      std::memcpy(m.here, m.there, large);
      asm volatile("" ::: "memory");
    });
    m.ping = last_ping;
  }
  loops::end_of(rank);
}
