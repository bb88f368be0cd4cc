// SPDX-License-Identifier: Apache-2.0
#include "libcore/pgas/neighbours.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "libcore/base/log.hpp"
#include "libcore/net/location.hpp"

namespace tobi::pgas {

namespace {

// An entry of the directory: {tag:16, rank:20, slot + 1:28}; 0: free. It is a hint: what it names says itself which
// block it is.
constexpr int slot_bits = 28;
constexpr int rank_bits = 20;
constexpr std::uint64_t slot_mask = (std::uint64_t{1} << slot_bits) - 1;
constexpr std::uint64_t rank_mask = (std::uint64_t{1} << rank_bits) - 1;

constexpr std::uint64_t mixed(std::uint64_t block) noexcept {
  block *= 0x9e3779b97f4a7c15u;
  return block ^ block >> 29;
}
constexpr std::uint64_t tag_of(std::uint64_t mix) noexcept { return mix >> 48; }

}  // namespace

neighbours::neighbours(neighbour_parts parts)
    : parts_(std::move(parts)),
      granule_(static_cast<std::uint32_t>(std::max(parts_.sub_block_bytes, parts_.block_bytes / granules))),
      lines_(std::bit_ceil(std::max<std::size_t>(2 * parts_.cache_blocks * parts_.node.size() / places, 1))),
      words_(parts_.node.size()) {}

// Where the first worker's words are not mapped, this one shows nothing and copies nothing. To its neighbours it is one
// that does not use global memory.
void neighbours::join() {
  sharing_ = parts_.node.size() > 1 && words_of(parts_.node.front()) != nullptr;
  if (!sharing_) return;
  clock_ = &words_of(parts_.node.front())->clock;
  step();
}

// Acquire and release: a fetch that reads the new time finds what was complete before it (N1).
void neighbours::step() noexcept {
  from_ = later();
  if (sharing_) word(parts_.words->copies_from).store(from_, std::memory_order_release);
}

std::uint64_t neighbours::acquired(int from) noexcept {
  if (from >= 0 && sharing_) {
    const neighbour_words* const theirs = words_of(from);
    const std::uint64_t time =
        theirs == nullptr ? 0 : word(const_cast<std::uint64_t&>(theirs->copies_from)).load(std::memory_order_acquire);
    if (time != 0) {
      settle();
      if (time > from_) {
        from_ = time;
        word(parts_.words->copies_from).store(from_, std::memory_order_release);
      }
      return time;
    }
  }
  changed_ = false;
  step();
  return from_;
}

neighbour_words* neighbours::words_of(int rank) {
  if (rank == parts_.rank) return parts_.words;
  const auto at = std::lower_bound(parts_.node.begin(), parts_.node.end(), rank);
  if (at == parts_.node.end() || *at != rank) return nullptr;
  neighbour_words*& known = words_[static_cast<std::size_t>(at - parts_.node.begin())];
  if (known == nullptr) {
    std::byte* const region = parts_.region_here(rank);
    if (region == nullptr) return nullptr;
    const auto offset = reinterpret_cast<std::byte*>(parts_.words) - parts_.own_region;
    known = reinterpret_cast<neighbour_words*>(region + offset);
  }
  return known;
}

// --- shown -----------------------------------------------------------------------------------------------

void* neighbours::taken(std::size_t bytes) {
  void* const made = parts_.take(bytes, 64);
  if (made == nullptr) {
    base::fatal("the registered heap has no room for what the workers of a node tell each other of their caches (" +
                std::to_string(bytes) + " bytes); raise TOBI_HEAP_SIZE, or set TOBI_CACHE_SHARED=0.");
  }
  return made;
}

void neighbours::open(std::byte* pool) {
  if (!sharing_) return;
  find_directory();
  if (directory_ == nullptr) make_directory();
  shown_ = static_cast<shown_block*>(taken(parts_.cache_blocks * sizeof(shown_block)));
  std::uninitialized_value_construct_n(shown_, parts_.cache_blocks);
  const auto offset_of = [this](const void* at) {
    return static_cast<std::uint64_t>(static_cast<const std::byte*>(at) - parts_.own_region);
  };
  word(parts_.words->pool).store(offset_of(pool), std::memory_order_relaxed);
  word(parts_.words->blocks).store(offset_of(shown_), std::memory_order_release);
}

// One of the first to cache anything makes it for all. A worker that only uses memory of its node takes no room for it.
void neighbours::make_directory() {
  const std::size_t bytes = lines_ * places * sizeof(std::uint64_t);
  void* const made = taken(bytes);
  std::memset(made, 0, bytes);
  const auto offset = static_cast<std::uint64_t>(static_cast<std::byte*>(made) - parts_.own_region);
  std::uint64_t none = 0;
  // Release: the zeros are there.
  if (!word(words_of(parts_.node.front())->directory)
           .compare_exchange_strong(none, net::location(parts_.rank, offset).word, std::memory_order_acq_rel,
                                    std::memory_order_relaxed)) {
    parts_.give_back(made);
  }
  find_directory();
}

void neighbours::find_directory() {
  const net::location at(word(words_of(parts_.node.front())->directory).load(std::memory_order_acquire));
  if (!at) return;
  neighbour_words* const theirs = words_of(at.rank());
  if (theirs == nullptr) return;
  directory_ = reinterpret_cast<std::uint64_t*>(region_of(theirs) + at.offset());
}

std::byte* neighbours::region_of(neighbour_words* theirs) const noexcept {
  return reinterpret_cast<std::byte*>(theirs) - (reinterpret_cast<std::byte*>(parts_.words) - parts_.own_region);
}

std::uint64_t neighbours::entry_of(std::uint32_t slot, std::uint64_t block) const noexcept {
  return tag_of(mixed(block)) << (slot_bits + rank_bits) | static_cast<std::uint64_t>(parts_.rank) << slot_bits |
         (slot + 1);
}

std::uint64_t* neighbours::line_of(std::uint64_t block) {
  if (directory_ == nullptr) find_directory();
  if (directory_ == nullptr) return nullptr;
  return directory_ + (mixed(block) & (lines_ - 1)) * places;
}

void neighbours::begins(std::uint32_t slot, std::uint64_t block) noexcept {
  if (shown_ == nullptr) return;
  shown_[slot].block.store(block + 1, std::memory_order_relaxed);
  std::uint64_t* const line = line_of(block);
  if (line == nullptr) return;
  const std::uint64_t mine = entry_of(slot, block);
  for (std::size_t i = 0; i < places; ++i) {
    std::uint64_t free = 0;
    // Release: what the entry names is there.
    if (word(line[i]).compare_exchange_strong(free, mine, std::memory_order_release, std::memory_order_relaxed) ||
        free == mine) {
      return;
    }
  }
  word(line[slot % places]).store(mine, std::memory_order_release);  // another one's, which is fetched again at worst
}

void neighbours::hide(std::uint32_t slot) noexcept {
  if (shown_ == nullptr) return;
  shown_block& s = shown_[slot];
  for (auto& time : s.times) time.store(0, std::memory_order_relaxed);
  // Release: a copy that sees the version sees no time from before it. The fence: one that sees a byte which comes from
  // now on sees the version, too.
  s.version.store(s.version.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

void neighbours::ends(std::uint32_t slot) noexcept {
  if (shown_ == nullptr) return;
  const std::uint64_t block = shown_[slot].block.load(std::memory_order_relaxed);
  if (block == 0) return;
  hide(slot);
  shown_[slot].block.store(0, std::memory_order_relaxed);
  std::uint64_t* const line = line_of(block - 1);
  if (line == nullptr) return;
  for (std::size_t i = 0; i < places; ++i) {
    std::uint64_t mine = entry_of(slot, block - 1);
    if (word(line[i]).compare_exchange_strong(mine, 0, std::memory_order_relaxed)) return;
  }
}

void neighbours::shows(std::uint32_t slot, std::size_t g, std::uint64_t time, bool on_its_way) noexcept {
  if (shown_ == nullptr) return;
  std::atomic<std::uint64_t>& at = shown_[slot].times[g];
  if (at.load(std::memory_order_relaxed) != 0) return;
  at.store(time << 1 | (on_its_way ? 1 : 0), std::memory_order_release);
}

void neighbours::landed(std::uint32_t slot) noexcept {
  if (shown_ == nullptr) return;
  for (auto& time : shown_[slot].times) {
    const std::uint64_t now = time.load(std::memory_order_relaxed);
    if ((now & 1) != 0) time.store(now & ~std::uint64_t{1}, std::memory_order_release);
  }
}

// --- looked at ---------------------------------------------------------------------------------------------

std::size_t neighbours::look_for(std::uint64_t block, std::array<source, sources_most>& at) {
  std::uint64_t* const line = sharing_ ? line_of(block) : nullptr;
  if (line == nullptr) return 0;
  std::size_t count = 0;
  for (std::size_t i = 0; i < places; ++i) {
    const std::uint64_t entry = word(line[i]).load(std::memory_order_acquire);
    if (entry == 0 || tag_of(entry) != tag_of(mixed(block))) continue;
    const auto rank = static_cast<int>(entry >> slot_bits & rank_mask);
    if (rank == parts_.rank) continue;
    neighbour_words* const words = words_of(rank);
    if (words == nullptr) continue;
    const std::uint64_t blocks = word(words->blocks).load(std::memory_order_acquire);
    if (blocks == 0) continue;
    const std::uint64_t slot = (entry & slot_mask) - 1;
    const std::byte* const region =
        reinterpret_cast<const std::byte*>(words) - (reinterpret_cast<std::byte*>(parts_.words) - parts_.own_region);
    const auto* const shown = reinterpret_cast<const shown_block*>(region + blocks) + slot;
    const std::uint64_t version = shown->version.load(std::memory_order_acquire);
    if (shown->block.load(std::memory_order_relaxed) != block + 1) continue;
    at[count++] = {shown, region + word(words->pool).load(std::memory_order_relaxed) + slot * parts_.block_bytes,
                   version};
  }
  return count;
}

// The time before the block: behind a time one sees the block that it is of, or a later one, and then another version.
neighbours::found neighbours::look(const source& s, std::uint64_t block, std::size_t g, std::uint64_t time_least,
                                   std::uint64_t& time) noexcept {
  const std::uint64_t said = s.shown->times[g].load(std::memory_order_acquire);
  time = said >> 1;
  if (said == 0 || time < time_least || s.shown->block.load(std::memory_order_relaxed) != block + 1) {
    return found::nothing;
  }
  return (said & 1) != 0 ? found::on_its_way : found::here;
}

bool neighbours::copy(const source& s, interval part, std::byte* to) noexcept {
  std::memcpy(to, s.bytes + part.begin, part.end - part.begin);
  // The bytes before the version.
  std::atomic_thread_fence(std::memory_order_acquire);
  return s.shown->version.load(std::memory_order_relaxed) == s.version;
}

}  // namespace tobi::pgas
