// SPDX-License-Identifier: Apache-2.0
#include "libcore/pgas/cache.hpp"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <string>
#include <utility>

#include "arch/clock.hpp"
#include "libcore/base/invariants.hpp"
#include "libcore/base/log.hpp"

namespace tobi::pgas {

namespace {

const char* name_of(access how) noexcept {
  return how == access::read ? "read" : how == access::write ? "write" : "read_write";
}

std::string described(std::uintptr_t at, std::size_t bytes, access how) {
  char address[32];
  std::snprintf(address, sizeof address, "%#zx", static_cast<std::size_t>(at));
  return std::to_string(bytes) + " bytes at " + address + " (" + name_of(how) + ")";
}

}  // namespace

cache::cache(const cache_parts& parts)
    : parts_(parts),
      base_(reinterpret_cast<std::uintptr_t>(parts.addresses->base())),
      view_bytes_(parts.addresses->bytes()),
      block_(parts.block_bytes),
      mask_(parts.block_bytes - 1),
      shift_(static_cast<unsigned>(std::countr_zero(parts.block_bytes))),
      keep_(parts.policy != base::cache_policy::none),
      table_(view_bytes_ >> shift_),
      slots_(first_slot),
      // All readers together have a small part of the cache.
      reading_(keep_ ? std::min(parts.ahead_bytes, parts.cache_bytes / 32) : 0, parts.sub_block_bytes,
               parts.block_bytes) {}

// Made when the first block needs one: a job on one node, with its memory in large pieces, never does.
void cache::make_slots() {
  const std::size_t cache_wanted = std::max<std::size_t>(parts_.cache_bytes >> shift_, 1);
  // Each block that is mapped somewhere in the reservation may split it: two entries (SC'23, section 4.3.2).
  if (maps_left_ < 2 * cache_wanted + 2) {
    base::fatal("a cache of " + std::to_string(cache_wanted) + " blocks may need " + std::to_string(2 * cache_wanted) +
                " kernel mappings and only " + std::to_string(maps_left_) +
                " are left for the global memory; raise vm.max_map_count or TOBI_MAP_LIMIT, or lower TOBI_CACHE_SIZE.");
  }
  maps_left_ -= 2 * cache_wanted;
  // Half of the rest is for homes that come and go, the other half for those that stay.
  const std::size_t home_wanted = std::min<std::size_t>(maps_left_ / 4, std::size_t{1} << 15);
  maps_left_ -= 2 * home_wanted;
  cache_blocks_ = static_cast<std::uint32_t>(cache_wanted);
  home_blocks_ = static_cast<std::uint32_t>(home_wanted);
  slots_.resize(first_slot + cache_blocks_ + home_blocks_);
  cache_lru_ = lru_list(first_slot, cache_blocks_);
  home_lru_ = lru_list(first_slot + cache_blocks_, home_blocks_);
}

void cache::leave(slot& s) noexcept {
  if (s.block == no_block) return;
  if ((s.state & is_cache) != 0) parts_.node->ends(cache_place(static_cast<std::uint32_t>(&s - slots_.data())));
  table_[s.block] = nowhere;
  s.block = no_block;
  s.state = static_cast<std::uint8_t>(s.state & is_cache);
  ++counts_.evictions;
}

void cache::make_pool() {
  pool_ = parts_.take_pool(static_cast<std::size_t>(cache_blocks_) << shift_);
  if (pool_ == nullptr) {
    base::fatal("out of global memory: the registered heap has no room for a cache of " +
                base::format_size(parts_.cache_bytes) + "; raise TOBI_HEAP_SIZE or lower TOBI_CACHE_SIZE.");
  }
  if (sharing()) parts_.node->open(pool_);
}

// A block that is neither in use, nor dirty, nor on the way.
bool cache::is_evictable(std::uint32_t id) const noexcept {
  const slot& s = slots_[id];
  return s.references == 0 && s.dirty.empty() && (s.state & (fetching | storing)) == 0;
}

void cache::empty_slot(std::uint32_t id) noexcept {
  slot& s = slots_[id];
  leave(s);
  s.valid.clear();
  s.state = is_cache;
}

std::uint32_t cache::take_cache_slot() {
  if (pool_ == nullptr) make_pool();
  const auto free = [this](std::uint32_t id) { return is_evictable(id); };
  std::uint32_t id = cache_lru_.find(free);
  if (id == lru_list::none) {
    land_all();
    settle();
    write_back();
    id = cache_lru_.find(free);
  }
  if (id == lru_list::none) {
    base::fatal("the cache of " + std::to_string(cache_blocks_) + " blocks is full of checkouts that are held (" +
                std::to_string(held_.size()) + " of them, the newest of " +
                described(held_.newest().at, held_.newest().bytes, held_.newest().how) +
                "); check in earlier, or raise TOBI_CACHE_SIZE.");
  }
  empty_slot(id);
  return id;
}

std::uint32_t cache::take_home_slot() {
  const std::uint32_t id = home_lru_.find([this](std::uint32_t i) { return slots_[i].references == 0; });
  if (id == lru_list::none) {
    base::fatal("the limit of kernel mappings is reached: " + std::to_string(home_blocks_) +
                " blocks of this node are mapped and checked out; check in earlier, or raise vm.max_map_count or "
                "TOBI_MAP_LIMIT.");
  }
  leave(slots_[id]);
  slots_[id].state = 0;
  return id;
}

// A run that is mapped once and stays, because there are few: the whole heap of a worker of this node, or its part of a
// block distribution.
void cache::map_for_good(const home_run& run, const std::byte* from) {
  if (maps_left_ < 2) {
    base::fatal(
        "the limit of kernel mappings is reached by the allocations of this node; raise vm.max_map_count or "
        "TOBI_MAP_LIMIT.");
  }
  maps_left_ -= 2;
  ++counts_.remaps;
  std::byte* const at = reinterpret_cast<std::byte*>(base_ + run.begin);
  if (run.rank == parts_.rank) {
    parts_.addresses->map(at, run.bytes, parts_.own_fd, run.home, false);
  } else {
    parts_.addresses->map_again(at, run.bytes, from);
  }
  for (std::uint64_t b = run.begin >> shift_; b << shift_ < run.begin + run.bytes; ++b) table_[b] = mapped_for_good;
}

// Figure 4's GETMEMBLOCK: the slot that holds BLOCK from now on, or mapped_for_good.
std::uint32_t cache::slot_for(std::uint64_t block, std::uint64_t at) {
  if (const std::uint32_t known = table_[block]; known != nowhere) return known;
  const home_run run = parts_.where->find(at);
  if (run.rank < 0) {
    base::fatal("a checkout of " + described(held_.newest().at, held_.newest().bytes, held_.newest().how) +
                " names memory that was freed, or never allocated.");
  }
  std::byte* const region = run.rank == parts_.rank ? parts_.own_region : parts_.region_here(run.rank);
  if (region != nullptr && run.few) {
    map_for_good(run, region + run.home);
    return mapped_for_good;
  }
  if (slots_.size() == first_slot) make_slots();
  const std::uint32_t id = region != nullptr ? take_home_slot() : take_cache_slot();
  settle_in(id, block, run);
  return id;
}

void cache::settle_in(std::uint32_t id, std::uint64_t block, const home_run& run) {
  slot& s = slots_[id];
  const std::uint64_t into = (block << shift_) - run.begin;
  s.block = block;
  s.rank = run.rank;
  s.home = run.home + into;
  s.bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(block_, run.bytes - into));
  s.generation = parts_.node->now();
  s.constant = run.constant;
  table_[block] = id;
  if ((s.state & is_cache) != 0) parts_.node->begins(cache_place(id), block);
}

void cache::map_slot(std::uint32_t id) {
  ++counts_.remaps;
  slot& s = slots_[id];
  // The old mapping goes first, to spare the kernel's table (figure 4, line 27).
  if (s.mapped_at != no_block && s.mapped_at != s.block && (table_[s.mapped_at] == nowhere)) {
    parts_.addresses->unmap(at_block(s.mapped_at), block_);
  }
  if ((s.state & is_cache) != 0) {
    parts_.addresses->map(at_block(s.block), block_, parts_.own_fd,
                          static_cast<std::uint64_t>(pool_of(id) - parts_.own_region), true);
  } else if (s.rank == parts_.rank) {
    parts_.addresses->map(at_block(s.block), block_, parts_.own_fd, s.home, false);
  } else {
    parts_.addresses->map_again(at_block(s.block), block_, parts_.region_here(s.rank) + s.home);
  }
  s.mapped_at = s.block;
  s.state |= is_mapped;
}

// Lines 17 to 21: whole sub-blocks, without what is valid.
void cache::fetch(std::uint32_t id, interval wanted, bool ahead) {
  slot& s = slots_[id];
  if (keep_) {  // without a cache nobody will use what lies around
    const auto sub = static_cast<std::uint32_t>(parts_.sub_block_bytes);
    wanted.begin = wanted.begin / sub * sub;
    wanted.end = std::min((wanted.end + sub - 1) / sub * sub, s.bytes);
  }
  if (!sharing()) {
    s.valid.for_each_gap(wanted, [&](interval gap) { get(id, gap); });
    s.valid.add(wanted);
    return;
  }
  sources near;
  if (!ahead) near.count = parts_.node->look_for(s.block, near.all);
  arrivals came{};
  s.valid.for_each_gap(wanted, [&](interval gap) { get_or_copy(id, gap, near, came); });
  s.valid.add(wanted);
  show(id, wanted, came);
}

void cache::get(std::uint32_t id, interval gap) {
  slot& s = slots_[id];
  const std::uint32_t bytes = gap.end - gap.begin;
  parts_.net->get(s.rank, s.home + gap.begin, pool_of(id) + gap.begin, bytes);
  counts_.fetched_bytes += bytes;
  if (parts_.sites != nullptr) {
    parts_.sites->fetches(bytes);
    coming_ = {s.rank, coming_.bytes + bytes, coming_.pieces + 1};
  }
  if ((s.state & fetching) == 0) {
    fetching_.push_back(id);
    s.coming = gap;
  }
  s.coming = {std::min(s.coming.begin, gap.begin), std::max(s.coming.end, gap.end)};
  s.state |= fetching;
}

// Why there is no global memory of BYTES at OFFSET, or null.
const char* cache::wrong_with(std::uint64_t offset, std::size_t bytes) const {
  if (offset >= view_bytes_ || bytes > view_bytes_ - offset) return " names memory that is not global.";
  if (parts_.where->find(offset).rank < 0 || parts_.where->find(offset + bytes - 1).rank < 0) {
    return " names memory that was freed, or never allocated.";
  }
  return nullptr;
}

void cache::refuse_writing(std::uintptr_t at, std::size_t bytes, access how) const {
  base::fatal("a checkout of " + described(at, bytes, how) +
              " is of an array that tobi::set_read_only was given; call tobi::set_writable before it is written.");
}

// What is valid in a slot that an acquire has passed since: what this worker has written, or all of what nobody writes.
void cache::begin_generation(std::uint32_t id) {
  slot& s = slots_[id];
  if (!s.constant) {
    parts_.node->hide(cache_place(id));
    s.valid = s.dirty;
  }
  s.generation = parts_.node->now();
}

void cache::check_size(std::uint64_t offset, std::size_t bytes) const {
  const std::uint64_t first = offset >> shift_;
  const std::uint64_t last = (offset + bytes - 1) >> shift_;
  const std::uint64_t most = std::max<std::size_t>(parts_.cache_bytes >> shift_, 1);
  if (last - first < most) return;
  std::uint64_t fetched = 0;  // blocks that the cache must hold; the other ones are mapped
  for (std::uint64_t b = first; b <= last && fetched <= most;) {
    const home_run run = parts_.where->find(std::max(b << shift_, offset));
    if (run.rank < 0) return;  // said where the block is looked for
    const std::uint64_t behind = std::min((run.begin + run.bytes + block_ - 1) >> shift_, last + 1);
    if (run.rank != parts_.rank && parts_.region_here(run.rank) == nullptr) fetched += behind - b;
    b = behind;
  }
  if (fetched <= most) return;
  base::fatal("a checkout of " + std::to_string(bytes) + " bytes needs " + std::to_string(last - first + 1) +
              " blocks, more than the " + std::to_string(most) + " of the cache (" +
              base::format_size(parts_.cache_bytes) + "); check out smaller parts, or raise TOBI_CACHE_SIZE.");
}

void cache::grow_and_checkout(std::uintptr_t at, std::size_t bytes, access how, bool wait) {
  held_.grow();
  checkout(at, bytes, how, wait);
}

void cache::checkout_slot(std::uintptr_t at, std::size_t bytes, access how, bool wait) {
  const std::uint64_t offset = at - base_;
  if (in_one_block(offset, bytes)) {
    if (const std::uint32_t id = table_[offset >> shift_]; id != nowhere) {
      slot& s = slots_[id];
      const auto begin = static_cast<std::uint32_t>(offset & mask_);
      const interval wanted{begin, begin + static_cast<std::uint32_t>(bytes)};
      if (s.state == home_slot || (s.state == cached && s.generation >= generation_ && s.valid.contains(wanted))) {
        ++s.references;
        (s.state == home_slot ? home_lru_ : cache_lru_).touch(id);
        return;
      }
    }
  }
  checkout_slowly(at, bytes, how, wait);
}

void cache::checkout_slowly(std::uintptr_t at, std::size_t bytes, access how, bool wait) {
  ++counts_.slow;
  if (bytes == 0) return;
  const std::uint64_t offset = at - base_;
  if (const char* wrong = wrong_with(offset, bytes); wrong != nullptr) {
    base::fatal("a checkout of " + described(at, bytes, how) + wrong);
  }
  check_size(offset, bytes);
  const std::uint64_t first = offset >> shift_;
  const std::uint64_t last = (offset + bytes - 1) >> shift_;
  to_map_.clear();
  bool late = false;  // some of it has to come first
  for (std::uint64_t b = first; b <= last; ++b) {
    const std::uint32_t id = slot_for(b, std::max(b << shift_, offset));
    if (id == mapped_for_good) continue;
    slot& s = slots_[id];
    ++s.references;  // at once: the next block must not evict this one
    if ((s.state & is_cache) == 0) {
      home_lru_.touch(id);
    } else {
      cache_lru_.touch(id);
      if ((s.state & storing) != 0) settle();
      if (s.constant && how != access::read) refuse_writing(at, bytes, how);
      if (s.generation < generation_) {
        if (!s.constant && (s.state & fetching) != 0) land(s.rank);  // old bytes
        begin_generation(id);
      }
      const std::uint64_t begin = std::max(b << shift_, offset) & mask_;
      const std::uint64_t end = std::min(offset + bytes - (b << shift_), block_);
      const interval wanted{static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)};
      if (how == access::write) {
        s.valid.add(wanted);
      } else if (!s.valid.contains(wanted)) {
        fetch(id, wanted, false);
        late = true;
      }
      const bool comes = wanted.begin < s.coming.end && s.coming.begin < wanted.end;
      late = late || ((s.state & fetching) != 0 && comes) || (s.state & expects) != 0;
    }
    if ((s.state & is_mapped) == 0) to_map_.push_back(id);
  }
  if (late) {
    awaited_ = true;
    if (how != access::write) came_to(offset, bytes);
  }
  // The kernel changes mappings while the bytes are on their way: they land in the pool, wherever it is mapped.
  parts_.net->post();
  for (const std::uint32_t id : to_map_) map_slot(id);
  if (wait) finish();
}

void cache::came_to(std::uint64_t offset, std::size_t bytes) {
  if (!reading_.on()) return;
  const read_ahead::range next = reading_.came_to({offset, offset + bytes});
  if (!next.empty()) next_.push_back(next);
}

// Waits for what is held, and not for what was fetched ahead of it from elsewhere.
void cache::finish() {
  if (!awaited_) return;
  awaited_ = false;
  const timed get(parts_.clock, global_phase::get);
  const std::uint64_t begin_ns = parts_.sites == nullptr && parts_.waited_ns == nullptr ? 0 : arch::now_ns();
  parts_.net->post();
  const auto held = [this](std::uint32_t id) { return slots_[id].references != 0; };
  const bool fetches = sharing() && std::any_of(fetching_.begin(), fetching_.end(), held);
  const std::uint64_t since_ns = fetches ? arch::now_ns() : 0;
  for (auto id = fetching_.begin(); (id = std::find_if(fetching_.begin(), fetching_.end(), held)) != fetching_.end();) {
    const int from = slots_[*id].rank;
    if (coming_.home < 0) coming_.home = from;
    land(from);
  }
  if (fetches) usual_wait_ns_ += (arch::now_ns() - since_ns) / 8 - usual_wait_ns_ / 8;
  // Behind what is fetched here: a neighbour may wait for that.
  if (!expected_.empty()) await_neighbours();
  if (parts_.waited_ns != nullptr) *parts_.waited_ns += arch::now_ns() - begin_ns;
  if (parts_.sites != nullptr && coming_.home >= 0) {  // not of what was copied alone
    parts_.sites->waited(arch::now_ns() - begin_ns);
    tell_fetched(begin_ns);
  }
  if (next_.empty()) return;
  for (const read_ahead::range& next : next_) fetch_ahead(next.begin, next.end);
  next_.clear();
}

void cache::tell_fetched(std::uint64_t begin_ns) {
  if (trace::tracing != nullptr) trace::tracing->fetched(coming_.home, coming_.bytes, coming_.pieces, begin_ns);
  coming_ = {};
}

// Waits for all that is on its way from or to RANK.
void cache::land(int rank) {
  parts_.net->post();
  parts_.net->wait(rank);
  const auto arrived = [this, rank](std::uint32_t id) {
    slot& s = slots_[id];
    if (s.rank != rank) return false;
    if ((s.state & fetching) != 0) parts_.node->landed(cache_place(id));
    if ((s.state & storing) != 0) parts_.node->changed();
    s.state &= static_cast<std::uint8_t>(~(fetching | storing));
    return true;
  };
  std::erase_if(fetching_, arrived);
  std::erase_if(storing_, arrived);
}

void cache::land_all() {
  if (!expected_.empty()) await_neighbours();
  while (!fetching_.empty()) land(slots_[fetching_.back()].rank);
}

void cache::settle() {
  while (!storing_.empty()) land(slots_[storing_.back()].rank);
}

// The slot for what is fetched of BLOCK without being asked for; `nowhere` where there is nothing to fetch, or no room
// without waiting.
std::uint32_t cache::slot_ahead(std::uint64_t block, std::uint64_t at) {
  std::uint32_t id = table_[block];
  if (id == mapped_for_good) return nowhere;
  if (id == nowhere) {
    const home_run run = parts_.where->find(at);
    if (run.rank < 0 || run.rank == parts_.rank || parts_.region_here(run.rank) != nullptr) return nowhere;
    // Behind the last object of a heap that grows there may be nothing yet.
    if (!parts_.net->net().heaps().knows(run.rank, run.home + ((block + 1) << shift_) - run.begin)) return nowhere;
    if (slots_.size() == first_slot) make_slots();
    if (pool_ == nullptr) make_pool();
    id = cache_lru_.find([this](std::uint32_t one) { return is_evictable(one); });
    if (id == lru_list::none) return nowhere;
    empty_slot(id);
    settle_in(id, block, run);
  }
  slot& s = slots_[id];
  if ((s.state & is_cache) == 0 || (s.state & storing) != 0) return nowhere;
  if (s.generation < generation_) {
    if (!s.constant && (s.references != 0 || (s.state & fetching) != 0)) return nowhere;
    begin_generation(id);
  }
  return id;
}

void cache::fetch_ahead(std::uint64_t begin, std::uint64_t end) {
  to_map_.clear();
  // A fetch of its own in the trace: nobody may wait for it.
  const auto awaited = std::exchange(coming_, {});
  const std::uint64_t begin_ns = parts_.sites == nullptr ? 0 : arch::now_ns();
  for (std::uint64_t b = begin >> shift_; b << shift_ < std::min(end, view_bytes_); ++b) {
    const std::uint64_t from = std::max(b << shift_, begin);
    const std::uint64_t to = std::min(end, (b + 1) << shift_);
    if (sharing() && neighbours_have(b, from, to)) continue;
    const std::uint32_t id = slot_ahead(b, from);
    if (id == nowhere) continue;
    cache_lru_.touch(id);
    fetch(id, {static_cast<std::uint32_t>(from & mask_), static_cast<std::uint32_t>(to - (b << shift_))}, true);
    if ((slots_[id].state & is_mapped) == 0) to_map_.push_back(id);
  }
  parts_.net->post();
  for (const std::uint32_t id : to_map_) map_slot(id);
  if (coming_.bytes != 0) tell_fetched(begin_ns);
  coming_ = awaited;
}

void cache::prefetch(std::uintptr_t at, std::size_t bytes) {
  if (bytes == 0) return;
  const std::uint64_t offset = at - base_;
  // As a checkout of it: on one node a program that prefetches is as fast as one that does not.
  if (in_one_block(offset, bytes) && table_[offset >> shift_] == mapped_for_good) return;
  if (const char* wrong = wrong_with(offset, bytes); wrong != nullptr) {
    base::fatal("a prefetch of " + std::to_string(bytes) + " bytes" + wrong);
  }
  if (keep_) fetch_ahead(offset, offset + std::min<std::uint64_t>(bytes, parts_.cache_bytes / 4));
}

void cache::put_home(std::uint32_t id, interval what) {
  slot& s = slots_[id];
  parts_.net->put(s.rank, s.home + what.begin, pool_of(id) + what.begin, what.end - what.begin);
  counts_.written_bytes += what.end - what.begin;
  if ((s.state & storing) == 0) storing_.push_back(id);
  s.state |= storing;
}

interval_set cache::dirty_and_held(const slot& s) const {
  interval_set both;
  const std::uint64_t begin = s.block << shift_;
  for (const checkout_key& k : held_.all()) {
    const std::uint64_t offset = k.at - base_;
    if ((k.how != access::write && k.how != access::read_write) || offset >= begin + block_ ||
        offset + k.bytes <= begin)
      continue;
    const auto from = static_cast<std::uint32_t>(std::max(offset, begin) - begin);
    const auto to = static_cast<std::uint32_t>(std::min(offset + k.bytes, begin + block_) - begin);
    for (const interval& part : s.dirty) both.add({std::max(part.begin, from), std::min(part.end, to)});
  }
  return both;
}

// The attendant comes here while its worker computes, with checkouts in use. What is checked out for writing stays: the
// worker may be writing it at this moment, and a fabric is not to read a buffer that changes (fi_rma(3)). No task waits
// for it: another task that used these bytes now would race with the one that holds them, and one that may use them
// later waits for the release behind their checkin.
void cache::write_back() {
  std::erase_if(dirty_, [this](std::uint32_t id) {
    slot& s = slots_[id];
    interval_set stays;
    if (s.references != 0) stays = dirty_and_held(s);
    for (const interval& part : s.dirty) {
      stays.for_each_gap(part, [&](interval gap) { put_home(id, gap); });
    }
    s.dirty = std::move(stays);
    return s.dirty.empty();
  });
  settle();
  base::expect_valid(*this);
}

void cache::checkin_slot(std::uintptr_t at, std::size_t bytes, access how) {
  const std::uint64_t offset = at - base_;
  if (in_one_block(offset, bytes)) {
    slot& s = slots_[table_[offset >> shift_]];
    if (s.state == home_slot || (s.state == cached && how == access::read && keep_)) {
      --s.references;
      return;
    }
  }
  checkin_slowly(at, bytes, how);
}

void cache::checkin_slowly(std::uintptr_t at, std::size_t bytes, access how) {
  if (bytes == 0) return;
  const std::uint64_t offset = at - base_;
  const std::uint64_t first = offset >> shift_;
  const std::uint64_t last = (offset + bytes - 1) >> shift_;
  finish();  // a checkout that was never waited for
  for (std::uint64_t b = first; b <= last; ++b) {
    const std::uint32_t id = table_[b];
    if (id < first_slot) continue;
    slot& s = slots_[id];
    --s.references;
    if ((s.state & is_cache) == 0) continue;
    if (s.constant && how != access::read) refuse_writing(at, bytes, how);
    const std::uint64_t begin = std::max(b << shift_, offset) & mask_;
    const std::uint64_t end = std::min(offset + bytes - (b << shift_), block_);
    const interval touched{static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)};
    if (how != access::read) {
      if (parts_.policy == base::cache_policy::none || parts_.policy == base::cache_policy::write_through) {
        put_home(id, touched);
      } else {
        if (s.dirty.empty()) dirty_.push_back(id);
        s.dirty.add(touched);
      }
    }
    if (!keep_ && s.references == 0) s.valid.clear();
  }
  parts_.net->post();
}

void cache::forget(std::uint64_t offset, std::uint64_t bytes, bool gone) {
  land_all();
  settle();
  const std::uint64_t last = (offset + bytes - 1) >> shift_;
  for (std::uint64_t b = offset >> shift_; b <= last; ++b) {
    const std::uint32_t id = table_[b];
    if (id == nowhere) continue;
    if (id == mapped_for_good) {  // one mapping per run
      if (!gone) continue;
      if (parts_.where->find(b << shift_).begin == b << shift_) maps_left_ += 2;
      table_[b] = nowhere;
      continue;
    }
    slot& s = slots_[id];
    if ((s.state & is_cache) != 0) {
      parts_.node->hide(cache_place(id));
      const std::uint64_t begin = std::max(b << shift_, offset) & mask_;
      const std::uint64_t end = std::min(offset + bytes - (b << shift_), block_);
      const interval dead{static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)};
      const bool was_dirty = !s.dirty.empty();
      s.valid.remove(dead);
      s.dirty.remove(dead);
      if (was_dirty && s.dirty.empty()) std::erase(dirty_, id);
    }
    if (gone) {
      leave(s);
      s.mapped_at = no_block;
    }
  }
  if (gone) parts_.addresses->unmap(reinterpret_cast<std::byte*>(base_ + offset), bytes);
  base::expect_valid(*this);
}

void cache::set_constant(std::uint64_t offset, std::uint64_t bytes, bool constant) {
  forget(offset, bytes, false);  // it may be of any generation
  if (constant) constant_from_ = parts_.node->later();
  const std::uint64_t last = (offset + bytes - 1) >> shift_;
  for (std::uint64_t b = offset >> shift_; b <= last; ++b) {
    if (table_[b] >= first_slot) slots_[table_[b]].constant = constant;
  }
}

void cache::send_home(std::uint64_t offset, std::uint64_t bytes) {
  const std::uint64_t last = (offset + bytes - 1) >> shift_;
  for (std::uint64_t b = offset >> shift_; b <= last; ++b) {
    const std::uint32_t id = table_[b];
    if (id < first_slot || (slots_[id].state & is_cache) == 0) continue;
    slot& s = slots_[id];
    if ((s.state & fetching) != 0) land(s.rank);  // what is on its way here would land on what is fetched next
    if ((s.state & storing) != 0) settle();
    parts_.node->hide(cache_place(id));
    const std::uint64_t begin = std::max(b << shift_, offset) & mask_;
    const std::uint64_t end = std::min(offset + bytes - (b << shift_), block_);
    const interval gone{static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)};
    if (!s.dirty.empty()) {
      for (const interval& part : s.dirty) {
        const interval both{std::max(part.begin, gone.begin), std::min(part.end, gone.end)};
        if (both.begin < both.end) put_home(id, both);
      }
      s.dirty.remove(gone);
      if (s.dirty.empty()) std::erase(dirty_, id);
    }
    s.valid.remove(gone);
  }
  settle();
  base::expect_valid(*this);
}

bool cache::is_valid() const noexcept {
  const auto listed = [](const std::vector<std::uint32_t>& list, std::uint32_t id) {
    return std::count(list.begin(), list.end(), id);
  };
  for (std::uint32_t id = first_slot; id < slots_.size(); ++id) {
    const slot& s = slots_[id];
    const bool under_way = (s.state & (fetching | storing)) != 0;
    if (s.block == no_block) {
      if (!base::holds("C2: a slot without a block has no references", s.references == 0 && !under_way)) return false;
      continue;
    }
    const bool dirty_is_valid =
        std::all_of(s.dirty.begin(), s.dirty.end(), [&s](const interval& part) { return s.valid.contains(part); });
    if (!base::holds("C1: the table names the slot of each block", table_[s.block] == id) ||
        !base::holds("C2: a slot with references is mapped where its block is",
                     s.references == 0 || ((s.state & is_mapped) != 0 && s.mapped_at == s.block)) ||
        !base::holds("C3: dirty bytes are valid", dirty_is_valid) ||
        !base::holds("C3: a slot with dirty bytes is listed once", listed(dirty_, id) == (s.dirty.empty() ? 0 : 1)) ||
        !base::holds("C6: what is shown is valid", shows_what_is_valid(id)) ||
        !base::holds("C4: no slot is of a generation that has not begun", s.generation <= parts_.node->now()) ||
        !base::holds("C5: what is under way is listed",
                     listed(fetching_, id) == ((s.state & fetching) != 0 ? 1 : 0) &&
                         listed(storing_, id) == ((s.state & storing) != 0 ? 1 : 0))) {
      return false;
    }
  }
  return true;
}

void cache::unmatched(std::uintptr_t at, std::size_t bytes, access how) const {
  const std::string what = "a checkin of " + described(at, bytes, how) + " matches no checkout";
  const auto begins_there = [at](const checkout_key& k) { return k.at == at; };
  std::optional<checkout_key> other = held_.find(begins_there);
  if (!other) other = in_place::find(begins_there);
  if (other) {
    base::fatal(what + ": what is held there is " + described(other->at, other->bytes, other->how) +
                "; a checkin repeats the arguments of its checkout.");
  }
  base::fatal(what + "; each checkout is checked in once, by the task that made it, before it forks or joins.");
}

}  // namespace tobi::pgas
