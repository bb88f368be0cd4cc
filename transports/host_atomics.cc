// SPDX-License-Identifier: Apache-2.0
#include "transports/host_atomics.hpp"

#include <algorithm>
#include <array>
#include <atomic>

#include "arch/clock.hpp"

namespace tobi::transports {

bool cpu_and_fabric_exclude_each_other(transport& over, int rank, region_id region, std::uint64_t remote,
                                       std::uint64_t& word, const trial& how) noexcept {
  constexpr std::size_t most = 16;
  const std::size_t chain = std::clamp<std::size_t>(over.caps().chain_max, 1, most);
  const std::atomic_ref shared(word);
  shared.store(0, std::memory_order_relaxed);
  std::array<op, most> ops{};
  std::array<std::uint64_t, most> found{};
  std::uint64_t added = 0;
  const std::uint64_t begin = arch::now_ns();
  // Relaxed: only the sum counts, and the last flush is before it is looked at.
  const auto by_cpu = [&] {
    shared.fetch_add(1, std::memory_order_relaxed);
    ++added;
  };
  for (std::uint64_t done = 0; done < how.by_fabric && arch::now_ns() - begin < how.longest_ns; done += chain) {
    for (std::size_t i = 0; i < chain; ++i) {
      const std::uint64_t now = shared.load(std::memory_order_relaxed);
      // The steal word is compared and swapped, the record's added to. A swap mostly fails here, and may write all the
      // same.
      ops[i] = i % 2 == 0 ? op::add(region, remote, 1, &found[i]) : op::cas(region, remote, now, now + 1, &found[i]);
    }
    status s = status::again;
    while ((s = over.post(rank, {ops.data(), chain})) == status::again) {
      over.progress();
      by_cpu();
    }
    if (s != status::ok) return false;
    while ((s = over.flush(rank)) == status::again) by_cpu();
    if (s != status::ok) return false;
    for (std::size_t i = 0; i < chain; ++i) added += i % 2 == 0 || found[i] == ops[i].expected ? 1 : 0;
  }
  return added != 0 && shared.load(std::memory_order_acquire) == added;
}

}  // namespace tobi::transports
