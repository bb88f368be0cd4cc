// SPDX-License-Identifier: Apache-2.0
// What workers tell each other between two iterations, through global memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tobi/checkout.hpp>
#include <tobi/global_memory.hpp>
#include <tobi/runtime.hpp>
#include <vector>

namespace tobi_bench {

/// Collective: every worker has the same number of elements. Returns those of all, by rank.
template <class T>
std::vector<T> gather(tobi::runtime& rt, const std::vector<T>& mine) {
  const std::size_t count = mine.size();
  const auto ranks = static_cast<std::size_t>(rt.size());
  if (count == 0) return {};
  const tobi::global_span<T> room = tobi::allocate_all<T>(count * ranks);
  const std::size_t step = std::max<std::size_t>(1, tobi::chunk_bytes() / sizeof(T));
  const std::size_t first = count * static_cast<std::size_t>(rt.rank());
  for (std::size_t done = 0; done < count; done += step) {
    const std::size_t n = std::min(step, count - done);
    const auto place = tobi::checkout(room.data() + static_cast<std::ptrdiff_t>(first + done), n, tobi::mode::write);
    std::copy_n(mine.data() + done, n, place.data());
  }
  rt.barrier();
  std::vector<T> all(count * ranks);
  for (std::size_t done = 0; done < all.size(); done += step) {
    const std::size_t n = std::min(step, all.size() - done);
    const auto place = tobi::checkout(room.data() + static_cast<std::ptrdiff_t>(done), n, tobi::mode::read);
    std::copy_n(place.data(), n, all.data() + done);
  }
  rt.barrier();  // before it goes
  tobi::free_all(room);
  return all;
}

/// Collective: the sum by element.
template <class T>
std::vector<T> sum_over_workers(tobi::runtime& rt, const std::vector<T>& mine) {
  const std::vector<T> all = gather(rt, mine);
  std::vector<T> sum(mine.size(), T{});
  for (std::size_t i = 0; i < all.size(); ++i) sum[i % mine.size()] = static_cast<T>(sum[i % mine.size()] + all[i]);
  return sum;
}

}  // namespace tobi_bench
