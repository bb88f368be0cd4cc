// SPDX-License-Identifier: Apache-2.0
// Checkout and checkin (SC'23, figure 4): blocks of the view are homes that this worker can address, mapped, or copies
// in its cache, fetched.
//
// Invariants, of each block that has a slot:
//   C1  The table names the slot of the block, and no other slot has it.
//   C2  A slot with references keeps its block and its mapping.
//   C3  The dirty bytes of a cache block are among its valid ones, and never fetched over. A slot with dirty bytes is
//       in the list of them, once.
//   C4  Valid bytes count only where their slot's generation has come to the cache's: an acquire sets that forward, in
//       constant time, and a block that is met again keeps its dirty bytes alone. One of an array that nobody writes
//       (set_constant) keeps all: they were fetched behind the last write. Generations are times of the node's clock
//       (libcore/pgas/neighbours.hpp), and a slot's is no later than anything valid in it.
//   C5  What is under way (a fetch, or a write-through) is marked on the block, whose next use waits for it. So does
//       one in a later generation, before it fetches anew: old bytes never land on new ones.
//   C6  What the neighbours are shown of a block, granule by granule, is valid. It is hidden before it is not.
//
// What is fetched before it is asked for (libcore/pgas/read_ahead.hpp, and a prefetch of the program) is an earlier
// fetch and nothing else. It is valid in the generation in which it was posted, behind that generation's acquire. A
// task that may read these bytes and finds them valid has acquired nothing since, so no other task has written them
// since. Nobody waits for it before it is used, and a checkout waits for its own bytes before what follows them is
// posted: a fabric completes what was posted to a target only as a whole. tests/models/read_ahead.pml checks it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "libcore/base/settings.hpp"
#include "libcore/net/batch.hpp"
#include "libcore/pgas/block_table.hpp"
#include "libcore/pgas/call_sites.hpp"
#include "libcore/pgas/held.hpp"
#include "libcore/pgas/homes.hpp"
#include "libcore/pgas/interval_set.hpp"
#include "libcore/pgas/lru_list.hpp"
#include "libcore/pgas/neighbours.hpp"
#include "libcore/pgas/profile.hpp"
#include "libcore/pgas/read_ahead.hpp"
#include "libcore/pgas/view.hpp"
#include "tobi/detail/global.hpp"

namespace tobi::pgas {

/// Counted always, in one worker.
struct cache_counts {
  std::uint64_t checkouts = 0;
  std::uint64_t slow = 0;  // those that had to fetch, map or wait, or span blocks
  std::uint64_t fetched_bytes = 0;
  std::uint64_t copied_bytes = 0;  // from neighbours' caches
  std::uint64_t written_bytes = 0;
  std::uint64_t evictions = 0;
  std::uint64_t remaps = 0;
};

struct cache_parts {
  view* addresses = nullptr;
  homes* where = nullptr;
  net::batch* net = nullptr;
  neighbours* node = nullptr;
  int rank = 0;
  std::byte* own_region = nullptr;  // this worker's heap region, and the memory file that it is mapped from, at 0
  int own_fd = -1;
  /// The heap region of a rank in this process's addresses, or null: it must be fetched.
  std::function<std::byte*(int)> region_here;
  /// Registered memory for the cache's blocks, aligned to them; null: there is none.
  std::function<std::byte*(std::size_t)> take_pool;
  phase_clock* clock = nullptr;        // null: nobody wants times
  call_sites* sites = nullptr;         // null: nobody wants to know for which places bytes are fetched
  std::uint64_t* waited_ns = nullptr;  // what waits for fetches are added to; null: nobody wants to know
  base::cache_policy policy = base::cache_policy::write_back_lazy;
  std::size_t block_bytes = 0;
  std::size_t sub_block_bytes = 0;
  std::size_t cache_bytes = 0;
  std::size_t ahead_bytes = 0;  // that are fetched before they are asked for, per reader; 0: none
};

class cache {
 public:
  explicit cache(const cache_parts& parts);

  /// How many kernel mappings may be made; before the first checkout.
  void limit_maps(std::size_t most) noexcept { maps_left_ = most; }

  /// Figure 4's CHECKOUT. Errors end the job. WAIT false: the bytes may be used after finish().
  [[gnu::always_inline]] void checkout(std::uintptr_t at, std::size_t bytes, access how, bool wait) {
    if (!held_.has_room()) [[unlikely]] {
      grow_and_checkout(at, bytes, how, wait);
      return;
    }
    ++counts_.checkouts;
    held_.add({at, bytes, how});
    const std::uint64_t offset = at - base_;
    if (in_one_block(offset, bytes) && table_[offset >> shift_] == mapped_for_good) [[likely]] {
      return;
    }
    checkout_slot(at, bytes, how, wait);
  }
  /// Whether BYTES at AT can be read as they stand, by an access that is over before this worker does anything else: it
  /// holds nothing, and is checked in nowhere.
  [[nodiscard, gnu::always_inline]] bool readable(std::uintptr_t at, std::size_t bytes) noexcept {
    const std::uint64_t offset = at - base_;
    if (!in_one_block(offset, bytes)) return false;
    const std::uint32_t id = table_[offset >> shift_];
    if (id != mapped_for_good) {
      if (id == nowhere) return false;
      const slot& s = slots_[id];
      const std::uint64_t in_block = offset & mask_;
      const interval wanted{static_cast<std::uint32_t>(in_block), static_cast<std::uint32_t>(in_block + bytes)};
      if (s.state == cached) {
        if (s.generation < generation_ || !s.valid.contains(wanted)) return false;
        cache_lru_.touch(id);
      } else if (s.state == home_slot) {
        home_lru_.touch(id);
      } else {
        return false;
      }
    }
    ++counts_.checkouts;
    return true;
  }
  /// Figure 4's CHECKIN.
  [[gnu::always_inline]] void checkin(std::uintptr_t at, std::size_t bytes, access how) {
    if (!held_.remove({at, bytes, how})) [[unlikely]] {
      unmatched(at, bytes, how);
    }
    const std::uint64_t offset = at - base_;
    if (in_one_block(offset, bytes) && table_[offset >> shift_] == mapped_for_good) [[likely]] {
      return;
    }
    checkin_slot(at, bytes, how);
  }
  /// Waits for what checkouts without waiting have started.
  void finish();
  /// Starts to fetch what of BYTES at AT is of other nodes, as far as the cache has room. Holds nothing, and waits for
  /// nothing. Fatal where they are no global memory.
  void prefetch(std::uintptr_t at, std::size_t bytes);

  /// Sends all dirty bytes home, but for those that are checked out for writing, and waits until they are there.
  void write_back();
  [[nodiscard]] bool dirty() const noexcept { return !dirty_.empty(); }
  /// Waits for the write-through of earlier checkins.
  void settle();
  /// Behind an acquire of what rank FROM has released, -1: somebody. What is older than that, and not dirty, is not
  /// valid any more.
  void invalidate(int from) noexcept { generation_ = std::max(generation_, parts_.node->acquired(from)); }
  /// The memory [OFFSET, OFFSET + BYTES) of the view is about to be freed: what is cached of it means nothing. GONE:
  /// the addresses too.
  void forget(std::uint64_t offset, std::uint64_t bytes, bool gone);

  /// Nobody writes the memory [OFFSET, OFFSET + BYTES) of the view from now on, or it is written again. All workers
  /// have released, and nothing of it is held.
  void set_constant(std::uint64_t offset, std::uint64_t bytes, bool constant);

  /// [OFFSET, OFFSET + BYTES) of the view is about to be changed at its homes: what is dirty of it goes there, complete
  /// when this returns, and nothing of it is valid any more. No checkout of it is held.
  void send_home(std::uint64_t offset, std::uint64_t bytes);

  // --- libcore/pgas/cache_around.cc: without a checkout. The range is global memory, and INTO and FROM lie anywhere.
  // What is posted for them is complete behind land_around(). ---
  /// Copies what a checkout would read to INTO.
  void read_around(std::uint64_t offset, std::uint64_t bytes, std::byte* into);
  /// Copies FROM to the homes, and keeps nothing of the range. No checkout of it is held.
  void write_around(std::uint64_t offset, std::uint64_t bytes, const std::byte* from);
  void land_around();
  /// What is held, and is no checkout.
  void hold(const checkout_key& what);
  [[nodiscard]] bool let_go(const checkout_key& what) noexcept { return held_.remove(what); }

  /// The sentence for a checkout of what nobody may write.
  [[noreturn]] void refuse_writing(std::uintptr_t at, std::size_t bytes, access how) const;

  [[nodiscard]] const held_checkouts& held() const noexcept { return held_; }
  [[nodiscard]] cache_counts& counts() noexcept { return counts_; }
  /// Says in TO what can be used without asking the cache, while it is allowed.
  void describe(detail::plain_memory& to) const noexcept {
    static_assert(detail::plain_memory::plain == mapped_for_good);
    to.base = base_;
    to.blocks = table_.all();
    to.mask = mask_;
    to.shift = shift_;
  }

  /// What of C1 to C5 can be seen between two calls, by a walk over all slots.
  [[nodiscard]] bool is_valid() const noexcept;

 private:
  friend struct cache_from_within;  // of the unit test, which breaks the invariants

  // What the table says of a block that has no slot.
  static constexpr std::uint32_t nowhere = 0;
  static constexpr std::uint32_t mapped_for_good = 1;
  static constexpr std::uint32_t first_slot = 2;
  static constexpr std::uint64_t no_block = ~std::uint64_t{0};

  // Bits of a slot's state. A use takes the fast path when they are `cached` or `home_slot` exactly.
  static constexpr std::uint8_t is_mapped = 1;
  static constexpr std::uint8_t is_cache = 2;
  static constexpr std::uint8_t fetching = 4;  // bytes are on their way here
  static constexpr std::uint8_t storing = 8;   // bytes are on their way home
  static constexpr std::uint8_t expects = 16;  // of bytes that a neighbour fetches
  static constexpr std::uint8_t cached = is_mapped | is_cache;
  static constexpr std::uint8_t home_slot = is_mapped;

  /// Figure 4's MEMBLOCK.
  struct slot {
    std::uint64_t block = no_block;
    std::uint64_t mapped_at = no_block;  // the block where the memory is mapped: another one, or none, after a change
    std::uint64_t home = 0;              // offset of the block's first byte in the region of `rank`
    std::uint64_t generation = 0;
    std::uint32_t references = 0;
    std::uint32_t bytes = 0;  // of the block that exist at its home
    int rank = -1;
    std::uint8_t state = 0;
    bool constant = false;  // nobody writes it at its home: it stays valid
    interval coming{0, 0};  // while it is fetching: around the bytes that are on their way
    interval_set valid;
    interval_set dirty;
  };

  // Not of nothing, and in the view.
  [[nodiscard]] bool in_one_block(std::uint64_t offset, std::size_t bytes) const noexcept {
    return offset < view_bytes_ && bytes - 1 < block_ - (offset & mask_);
  }
  void grow_and_checkout(std::uintptr_t at, std::size_t bytes, access how, bool wait);
  void checkout_slot(std::uintptr_t at, std::size_t bytes, access how, bool wait);
  void checkin_slot(std::uintptr_t at, std::size_t bytes, access how);
  void checkout_slowly(std::uintptr_t at, std::size_t bytes, access how, bool wait);
  void checkin_slowly(std::uintptr_t at, std::size_t bytes, access how);
  [[noreturn]] void unmatched(std::uintptr_t at, std::size_t bytes, access how) const;
  void begin_generation(std::uint32_t id);
  void check_size(std::uint64_t offset, std::size_t bytes) const;
  void make_slots();
  [[nodiscard]] const char* wrong_with(std::uint64_t offset, std::size_t bytes) const;
  std::uint32_t slot_for(std::uint64_t block, std::uint64_t at);
  [[nodiscard]] std::uint32_t cache_place(std::uint32_t id) const noexcept { return id - first_slot; }
  void settle_in(std::uint32_t id, std::uint64_t block, const home_run& run);
  void make_pool();
  [[nodiscard]] bool is_evictable(std::uint32_t id) const noexcept;
  void empty_slot(std::uint32_t id) noexcept;
  std::uint32_t take_cache_slot();
  void came_to(std::uint64_t offset, std::size_t bytes);
  std::uint32_t slot_ahead(std::uint64_t block, std::uint64_t at);
  void fetch_ahead(std::uint64_t begin, std::uint64_t end);
  void tell_fetched(std::uint64_t begin_ns);
  void land(int rank);
  void land_all();
  std::uint32_t take_home_slot();
  void leave(slot& s) noexcept;
  void map_for_good(const home_run& run, const std::byte* from);
  void fetch(std::uint32_t id, interval wanted, bool ahead);
  void get(std::uint32_t id, interval gap);

  [[nodiscard]] std::byte* home_here(const home_run& run, std::uint64_t at) const;
  void read_run(const home_run& run, std::uint64_t from, std::uint64_t to, std::byte* into);

  // --- libcore/pgas/cache_neighbours.cc ---
  struct sources {
    std::array<neighbours::source, neighbours::sources_most> all;
    std::size_t count = 0;
  };
  // Of the granules of a block that a fetch is about: when one that came as a whole was fetched. 0: it did not.
  using arrivals = std::array<std::uint64_t, neighbours::granules>;
  struct expectation {
    std::uint32_t id;
    interval part;
    std::size_t granule;
    neighbours::source from;
  };
  [[nodiscard]] bool sharing() const noexcept { return keep_ && parts_.node->sharing(); }
  [[nodiscard]] std::uint64_t copies_from(const slot& s) noexcept;
  [[nodiscard]] interval granule_of(const slot& s, std::size_t g) const noexcept;
  [[nodiscard]] bool neighbours_have(std::uint64_t block, std::uint64_t from, std::uint64_t to);
  void get_or_copy(std::uint32_t id, interval gap, const sources& from, arrivals& came);
  neighbours::found take(std::uint32_t id, interval part, std::size_t g, const sources& from, neighbours::source& whose,
                         std::uint64_t& time);
  [[nodiscard]] bool copy(std::uint32_t id, interval part, const neighbours::source& from, std::uint64_t time);
  [[nodiscard]] bool is_expected(std::uint32_t id, std::size_t g) const noexcept;
  void show(std::uint32_t id, interval wanted, const arrivals& came);
  [[nodiscard]] bool shows_what_is_valid(std::uint32_t id) const noexcept;
  void await_neighbours();
  [[nodiscard]] bool came_in_time(const expectation& e, std::uint64_t until_ns);
  void map_slot(std::uint32_t id);
  void put_home(std::uint32_t id, interval what);
  [[nodiscard]] interval_set dirty_and_held(const slot& s) const;  // for writing
  [[nodiscard]] std::byte* pool_of(std::uint32_t id) const noexcept {
    return pool_ + static_cast<std::size_t>(id - first_slot) * block_;
  }
  [[nodiscard]] std::byte* at_block(std::uint64_t block) const noexcept {
    return reinterpret_cast<std::byte*>(base_ + (block << shift_));
  }

  cache_parts parts_;
  std::uintptr_t base_;
  std::uint64_t view_bytes_;
  std::uint64_t block_;
  std::uint64_t mask_;
  unsigned shift_;
  bool keep_;                     // the policy keeps what it has fetched
  std::uint64_t generation_ = 1;  // 32 bits come around within hours, and make old bytes valid again
  block_table table_;
  held_checkouts held_;
  std::vector<slot> slots_;
  std::uint32_t cache_blocks_ = 0;
  std::uint32_t home_blocks_ = 0;
  lru_list cache_lru_{first_slot, 0};
  lru_list home_lru_{first_slot, 0};
  std::byte* pool_ = nullptr;
  std::size_t maps_left_ = 0;
  std::vector<std::uint32_t> dirty_;     // slots with dirty bytes
  std::vector<std::uint32_t> fetching_;  // slots with bytes on their way here
  bool awaited_ = false;                 // a checkout that is held is of such a slot
  read_ahead reading_;
  std::vector<read_ahead::range> next_;  // what to fetch when what is awaited is here
  std::vector<std::uint32_t> storing_;   // slots with bytes on their way home
  std::vector<std::uint32_t> to_map_;
  std::uint64_t constant_from_ = ~std::uint64_t{0};  // what is shown of arrays that nobody writes counts from this time
  std::vector<expectation> expected_;                // of checkouts that finish() has not seen
  std::uint64_t usual_wait_ns_ = 50'000;             // for what is fetched; this, until something was
  std::uint32_t in_vain_ = 0;                        // how many neighbours' fetches not to wait for, after one
  std::uint32_t impatience_ = 0;                     // how many of them are left
  struct {
    int home = -1;  // of the last bytes
    std::uint64_t bytes = 0;
    std::uint64_t pieces = 0;
  } coming_;  // while sites are noted: fetched, and not yet in the trace
  cache_counts counts_;
};

}  // namespace tobi::pgas
