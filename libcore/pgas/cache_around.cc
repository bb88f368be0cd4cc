// SPDX-License-Identifier: Apache-2.0
// Reads and writes that go around the cache: they move bytes between homes and memory of the program, and take no room
// in it. A read takes from the cache what the cache alone has (what is dirty) or has anyway (what is valid). A write
// leaves nothing in it that is older (send_home). So both see and do what a checkout would.
#include <algorithm>
#include <cstring>

#include "arch/clock.hpp"
#include "libcore/pgas/cache.hpp"

namespace tobi::pgas {

std::byte* cache::home_here(const home_run& run, std::uint64_t at) const {
  std::byte* const region = run.rank == parts_.rank ? parts_.own_region : parts_.region_here(run.rank);
  return region == nullptr ? nullptr : region + run.home + (at - run.begin);
}

void cache::hold(const checkout_key& what) {
  if (!held_.has_room()) held_.grow();
  held_.add(what);
}

void cache::read_around(std::uint64_t offset, std::uint64_t bytes, std::byte* into) {
  finish();  // a checkout that was not waited for: what it expects of a neighbour counts as valid
  for (std::uint64_t at = offset, to = 0; at < offset + bytes; at = to) {
    const home_run run = parts_.where->find(at);
    to = std::min(offset + bytes, run.begin + run.bytes);
    if (const std::byte* const home = home_here(run, at); home != nullptr) {
      std::memcpy(into + (at - offset), home, to - at);
    } else {
      read_run(run, at, to, into + (at - offset));
    }
  }
  parts_.net->post();
}

// [FROM, TO) is of one run, and of another node. What the cache lacks is fetched in as few pieces as there are gaps.
void cache::read_run(const home_run& run, std::uint64_t from, std::uint64_t to, std::byte* into) {
  std::uint64_t gap = from;  // fetched up to here, or copied
  const auto fetch_to = [&](std::uint64_t end) {
    if (gap == end) return;
    parts_.net->get(run.rank, run.home + (gap - run.begin), into + (gap - from), end - gap);
    counts_.fetched_bytes += end - gap;
    if (parts_.sites != nullptr) {
      parts_.sites->fetches(end - gap);
      coming_ = {run.rank, coming_.bytes + (end - gap), coming_.pieces + 1};
    }
  };
  for (std::uint64_t b = from >> shift_; b << shift_ < to; ++b) {
    const std::uint32_t id = table_[b];
    if (id < first_slot || (slots_[id].state & is_cache) == 0) continue;
    slot& s = slots_[id];
    if ((s.state & (fetching | storing)) != 0) land(s.rank);  // C5: this is a use
    const std::uint64_t begin = b << shift_;
    for (const interval& part : s.generation < generation_ && !s.constant ? s.dirty : s.valid) {
      const std::uint64_t first = std::max(begin + part.begin, from), last = std::min(begin + part.end, to);
      if (first >= last) continue;
      fetch_to(first);
      std::memcpy(into + (first - from), pool_of(id) + (first - begin), last - first);
      gap = last;
    }
  }
  fetch_to(to);
}

void cache::write_around(std::uint64_t offset, std::uint64_t bytes, const std::byte* from) {
  send_home(offset, bytes);
  for (std::uint64_t at = offset, to = 0; at < offset + bytes; at = to) {
    const home_run run = parts_.where->find(at);
    to = std::min(offset + bytes, run.begin + run.bytes);
    if (std::byte* const home = home_here(run, at); home != nullptr) {
      std::memcpy(home, from + (at - offset), to - at);
    } else {
      parts_.net->put(run.rank, run.home + (at - run.begin), from + (at - offset), to - at);
      counts_.written_bytes += to - at;
    }
  }
  parts_.net->post();
}

void cache::land_around() {
  const timed get(parts_.clock, global_phase::get);
  const std::uint64_t begin_ns = parts_.sites == nullptr ? 0 : arch::now_ns();
  parts_.net->wait();
  if (parts_.sites == nullptr || coming_.bytes == 0) return;
  parts_.sites->waited(arch::now_ns() - begin_ns);
  tell_fetched(begin_ns);
}

}  // namespace tobi::pgas
