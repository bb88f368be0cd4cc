// SPDX-License-Identifier: Apache-2.0
#include "libcore/net/heap_regions.hpp"

#include <algorithm>
#include <cstddef>
#include <string>

#include "libcore/base/log.hpp"
#include "libcore/net/fabric.hpp"
#include "libcore/net/growing_heap.hpp"

namespace tobi::net {

using transports::op;

bool heap_regions::knows(int rank, std::uint64_t end) const noexcept {
  if (all_.at_first == 0 || end <= all_.at_first) return true;
  const auto known = parts_.find(rank);
  return known != parts_.end() && end <= known->second.back().end;
}

std::uint64_t heap_regions::readable(location where) {
  const std::uint64_t from = where.offset();
  const std::uint64_t first = all_.at_first == 0 ? all_.bytes : all_.at_first;
  if (from < first) return first - from;
  const part* in = all_.at_first == 0 ? nullptr : part_around(where.rank(), from);
  return in == nullptr ? 0 : in->end - from;
}

bool heap_regions::can_be(location where, std::uint64_t bytes) {
  return where.rank() < net_.size() && bytes <= readable(where);
}

// Null: RANK has no such part.
const heap_regions::part* heap_regions::part_around(int rank, std::uint64_t offset) {
  const auto found = [&]() -> const part* {
    const auto known = parts_.find(rank);
    if (known == parts_.end()) return nullptr;
    for (const part& p : known->second) {
      if (offset < p.end) return &p;
    }
    return nullptr;
  };
  if (const part* p = found(); p != nullptr) return p;
  ask(rank);
  return found();
}

// The words of one get have no order: the count first, and behind it the rows that it says are there.
void heap_regions::ask(int rank) {
  const auto read = [&](std::uint64_t at, void* to, std::size_t bytes) {
    const op one = op::get(net_.heap(rank), at, to, bytes);
    net_.post(rank, {&one, 1});
    net_.settle(rank);
  };
  std::uint64_t count = 0;
  read(all_.parts_at + offsetof(heap_parts, count), &count, sizeof count);
  const auto known = parts_.find(rank);
  for (std::size_t i = known == parts_.end() ? 0 : known->second.size(); i < count; ++i) {
    heap_parts::row row;
    read(all_.parts_at + offsetof(heap_parts, rows) + i * sizeof row, &row, sizeof row);
    part p{row.begin, row.end, 0};
    if (const status s = net_.transport().attach(rank, row.key, p.region); s != status::ok) {
      net_.lost(rank, s, "attaching a part of its memory");
    }
    parts_[rank].push_back(p);
  }
}

// The questions about parts are operations on the part of the start, so they leave moved_ alone.
std::span<const op> heap_regions::by_parts(int rank, transports::region_id region, std::span<const op> ops) {
  const auto is_beyond = [&](const op& o) { return o.remote + o.bytes > all_.at_first && o.region == region; };
  if (std::none_of(ops.begin(), ops.end(), is_beyond)) return ops;
  TOBI_ASSERT(ops.size() <= chain_most, "no chain is longer");
  const std::span<op> here(moved_.data(), ops.size());
  std::copy(ops.begin(), ops.end(), here.begin());
  for (op& o : here) {
    if (!is_beyond(o)) continue;
    const part* in = o.remote < all_.at_first ? nullptr : part_around(rank, o.remote);
    if (in == nullptr || o.remote + o.bytes > in->end) {
      base::fatal(base::name_of_rank(rank) + " has no global memory at " + std::to_string(o.bytes) +
                  " bytes from offset " + std::to_string(o.remote) +
                  " of its heap on: is this the memory of an object that was freed, or more than the object has?");
    }
    o.region = in->region;
    o.remote -= in->begin;
  }
  return here;
}

}  // namespace tobi::net
