// SPDX-License-Identifier: Apache-2.0
// What a cache takes of its neighbours' (libcore/pgas/neighbours.hpp): a fetch copies what they have, waits for what is
// on its way to them, and shows them what it has got.
#include <algorithm>

#include "arch/clock.hpp"
#include "libcore/pgas/cache.hpp"

namespace tobi::pgas {

namespace {

// A neighbour that was waited for in vain computes with its fetch on its way: its next ones come no sooner.
constexpr std::uint32_t most_in_vain = 64;
constexpr std::uint64_t patience_ns = 20'000;  // over twice of what a fetch takes

}  // namespace

// The least time of what S may be given. Of an array that nobody writes all is new that came since nobody does.
std::uint64_t cache::copies_from(const slot& s) noexcept {
  const std::uint64_t least = parts_.node->copies_from();
  return s.constant ? std::min(least, constant_from_) : least;
}

// As far as its home has it.
interval cache::granule_of(const slot& s, std::size_t g) const noexcept {
  const std::uint32_t each = parts_.node->granule_bytes();
  const auto begin = static_cast<std::uint32_t>(g) * each;
  return {begin, std::min(begin + each, s.bytes)};
}

// Whether neighbours have, or fetch, all of [FROM, TO), which is in BLOCK: what is fetched ahead would come twice.
bool cache::neighbours_have(std::uint64_t block, std::uint64_t from, std::uint64_t to) {
  sources near;
  near.count = parts_.node->look_for(block, near.all);
  if (near.count == 0) return false;
  const std::uint32_t each = parts_.node->granule_bytes();
  const std::uint64_t least = parts_.node->copies_from();
  for (std::uint64_t g = (from & mask_) / each; g * each < to - (block << shift_); ++g) {
    const bool found = std::any_of(near.all.begin(), near.all.begin() + near.count, [&](const neighbours::source& s) {
      std::uint64_t time = 0;
      return neighbours::look(s, block, g, least, time) != neighbours::found::nothing;
    });
    if (!found) return false;
  }
  return true;
}

// Takes GAP granule by granule: what a neighbour has is copied, what comes to one is expected, the rest is got.
void cache::get_or_copy(std::uint32_t id, interval gap, const sources& from, arrivals& came) {
  const slot& s = slots_[id];
  const std::uint32_t each = parts_.node->granule_bytes();
  const std::uint64_t now = parts_.node->now();
  std::uint32_t missing = gap.begin;  // from here on nobody has it
  for (std::size_t g = gap.begin / each; g * each < gap.end; ++g) {
    const interval whole = granule_of(s, g);
    const interval part{std::max(gap.begin, whole.begin), std::min(gap.end, whole.end)};
    neighbours::source whose{};
    std::uint64_t time = now;
    const neighbours::found what = take(id, part, g, from, whose, time);
    if (part == whole) came[g] = time;
    if (what == neighbours::found::nothing) continue;
    if (what == neighbours::found::on_its_way) {
      expected_.push_back({id, part, g, whose});
      slots_[id].state |= expects;
    }
    if (missing < part.begin) get(id, {missing, part.begin});
    missing = part.end;
  }
  if (missing < gap.end) get(id, {missing, gap.end});
}

// TIME stays what it was where nobody has PART.
neighbours::found cache::take(std::uint32_t id, interval part, std::size_t g, const sources& from,
                              neighbours::source& whose, std::uint64_t& time) {
  const slot& s = slots_[id];
  const std::uint64_t least = from.count == 0 ? 0 : copies_from(s);
  bool comes = false;
  for (std::size_t i = 0; i < from.count; ++i) {
    std::uint64_t shown = 0;
    const neighbours::found what = neighbours::look(from.all[i], s.block, g, least, shown);
    if (what == neighbours::found::here && copy(id, part, from.all[i], shown)) {
      time = shown;
      return what;
    }
    if (what != neighbours::found::on_its_way || comes) continue;
    comes = true;
    whose = from.all[i];
  }
  if (!comes) return neighbours::found::nothing;
  if (impatience_ != 0) {
    --impatience_;
    return neighbours::found::nothing;
  }
  return neighbours::found::on_its_way;
}

bool cache::copy(std::uint32_t id, interval part, const neighbours::source& from, std::uint64_t time) {
  if (!neighbours::copy(from, part, pool_of(id) + part.begin)) return false;
  slot& s = slots_[id];
  counts_.copied_bytes += part.end - part.begin;
  if (!s.constant) s.generation = std::min(s.generation, time);
  return true;
}

// By this checkout or an earlier one that nobody has waited for: it counts as valid, and is not here.
bool cache::is_expected(std::uint32_t id, std::size_t g) const noexcept {
  return std::any_of(expected_.begin(), expected_.end(),
                     [=](const expectation& e) { return e.id == id && e.granule == g; });
}

// N4, C6.
void cache::show(std::uint32_t id, interval wanted, const arrivals& came) {
  const slot& s = slots_[id];
  const std::uint32_t each = parts_.node->granule_bytes();
  for (std::size_t g = wanted.begin / each; g * each < wanted.end; ++g) {
    if (is_expected(id, g) || !s.valid.contains(granule_of(s, g))) continue;
    const std::uint64_t time = came[g] != 0 ? came[g] : s.generation;
    parts_.node->shows(cache_place(id), g, time, (s.state & fetching) != 0);
  }
}

bool cache::shows_what_is_valid(std::uint32_t id) const noexcept {
  const slot& s = slots_[id];
  if ((s.state & is_cache) == 0) return true;
  for (std::size_t g = 0; g < neighbours::granules; ++g) {
    if (parts_.node->is_shown(cache_place(id), g) && !s.valid.contains(granule_of(s, g))) return false;
  }
  return true;
}

// N6. No other checkout is made meanwhile, so the slots are held.
void cache::await_neighbours() {
  const std::uint64_t until_ns = arch::now_ns() + 2 * usual_wait_ns_ + patience_ns;
  bool all_came = true;
  for (const expectation& e : expected_) {
    if (came_in_time(e, until_ns)) continue;
    all_came = false;
    get(e.id, e.part);
  }
  in_vain_ = all_came ? 0 : std::clamp<std::uint32_t>(2 * in_vain_, 1, most_in_vain);
  impatience_ = in_vain_;
  for (const expectation& e : expected_) {
    slot& s = slots_[e.id];
    s.state &= static_cast<std::uint8_t>(~expects);
    if ((s.state & fetching) != 0) land(s.rank);
    // It came as a whole or not: the slot's generation is no later than any of its bytes.
    if (s.valid.contains(granule_of(s, e.granule))) {
      parts_.node->shows(cache_place(e.id), e.granule, s.generation, false);
    }
  }
  expected_.clear();
}

bool cache::came_in_time(const expectation& e, std::uint64_t until_ns) {
  const slot& s = slots_[e.id];
  const std::uint64_t least = copies_from(s);
  for (unsigned spins = 0;;) {
    std::uint64_t time = 0;
    const neighbours::found what = neighbours::look(e.from, s.block, e.granule, least, time);
    if (what == neighbours::found::here) return copy(e.id, e.part, e.from, time);
    if (what == neighbours::found::nothing || arch::now_ns() > until_ns) return false;
    parts_.net->net().wait(spins);
  }
}

}  // namespace tobi::pgas
