// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/fork/values.hpp"

#include <cstring>

#include "libcore/base/log.hpp"

namespace tobi::bootstrap::forked {

void values::put(std::uint32_t rank, std::string_view key, std::span<const std::byte> value) {
  const std::size_t units = (sizeof(entry) + key.size() + value.size() + unit - 1) / unit;
  // Relaxed: a place of its own is all that it gives.
  const std::uint64_t before = head_.used.fetch_add(units, std::memory_order_relaxed);
  if ((before + units) * unit > std::size_t{ranks_} * room_per_rank) {
    base::fatal("the bootstrap's store is full: more than 16K of values per rank.");
  }
  const auto place = static_cast<std::uint32_t>(before + 1);
  const entry made{newest_of(rank).load(std::memory_order_relaxed), static_cast<std::uint32_t>(key.size()),
                   static_cast<std::uint32_t>(value.size())};
  std::byte* to = at(place);
  std::memcpy(to, &made, sizeof made);
  std::memcpy(to + sizeof made, key.data(), key.size());
  if (!value.empty()) std::memcpy(to + sizeof made + key.size(), value.data(), value.size());
  newest_of(rank).store(place, std::memory_order_release);
}

bool values::find(std::uint32_t rank, std::string_view key, std::vector<std::byte>& into) const {
  entry e{};
  for (std::uint32_t place = newest(rank); place != 0; place = e.older) {
    const std::byte* from = at(place);
    std::memcpy(&e, from, sizeof e);
    if (std::string_view(reinterpret_cast<const char*>(from + sizeof e), e.key_bytes) != key) continue;
    const std::byte* value = from + sizeof e + e.key_bytes;
    into.assign(value, value + e.value_bytes);
    return true;
  }
  return false;
}

void values::collect(std::uint32_t rank, std::uint32_t since, std::vector<std::byte>& into) const {
  entry e{};
  for (std::uint32_t place = newest(rank); place != since; place = e.older) {
    const std::byte* from = at(place);
    std::memcpy(&e, from, sizeof e);
    const parcel p{rank, e.key_bytes, e.value_bytes};
    const auto* start = reinterpret_cast<const std::byte*>(&p);
    into.insert(into.end(), start, start + sizeof p);
    into.insert(into.end(), from + sizeof e, from + sizeof e + e.key_bytes + e.value_bytes);
  }
}

void values::add(std::span<const std::byte> collected) {
  while (!collected.empty()) {
    parcel p{};
    if (collected.size() >= sizeof p) std::memcpy(&p, collected.data(), sizeof p);
    if (p.rank >= ranks_ || collected.size() < sizeof p + p.key_bytes + std::uint64_t{p.value_bytes}) {
      base::fatal("what a process has told the others of this job is damaged; start the same build everywhere.");
    }
    const auto* key = reinterpret_cast<const char*>(collected.data() + sizeof p);
    put(p.rank, {key, p.key_bytes}, collected.subspan(sizeof p + p.key_bytes, p.value_bytes));
    collected = collected.subspan(sizeof p + p.key_bytes + p.value_bytes);
  }
}

}  // namespace tobi::bootstrap::forked
