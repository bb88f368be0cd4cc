// SPDX-License-Identifier: Apache-2.0
// The caches of a node, as one (SC'23, section 1, leaves a cache that the cores of a node share open): a worker copies
// what a neighbour has fetched, and waits for what a neighbour is fetching.
//
// Each worker keeps its own blocks. So a checkout that finds its bytes here takes no lock, writes nothing that others
// read, and counts no references between processes. What a worker has of its blocks is shown: by its granules, each
// with the time at which it was fetched. Times are counts of the node's clock, which only grows.
//
// Invariants:
//   N1  A fetch takes its time from the clock before it is posted. So what it brings is at least as new as all that was
//       complete at its home when the clock came to that time.
//   N2  A worker that acquires sets the clock forward behind the acquire, and copies nothing older than that. So does
//       one that has changed homes itself (a write-back, an update), when the change is complete and before anything
//       that others run next is shown to them: `copies_from` is the later of both.
//   N3  A worker that goes on with what its neighbour has shown, a stolen task or the end of one, may read all that the
//       neighbour may: the times of N2 are all that it must know, and its own are no earlier than those of the
//       neighbour from then on. A neighbour that has never used global memory says nothing: then it acquires by N2.
//   N4  What is shown is at least as new as its time says: a granule that came as a whole has the time of its fetch, or
//       of the neighbour's that it was copied from, any other one that of its slot's generation. What a worker writes
//       into its own copy later is newer, and of a task that those that may read it have acquired.
//   N5  Before a block's bytes are fetched anew, or their place is given to another block, they are hidden: all times
//       are taken back, then the version is counted up. A copy counts if the version was the same before and after it.
//   N6  Nobody waits for a neighbour for ever: it may compute for long with a fetch on its way. A worker waits
//       for some two of its own fetches, and then fetches.
// tests/models/neighbours.pml checks N1 to N5.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "libcore/pgas/interval_set.hpp"

namespace tobi::pgas {

/// In the control block, at the same offset everywhere. Offsets are in the worker's heap region; 0: not there yet.
struct neighbour_words {
  alignas(64) std::uint64_t clock;        // of the node: that of its first worker counts
  std::uint64_t directory;                // likewise; a net::location
  alignas(64) std::uint64_t copies_from;  // N2; 0: this worker has not used global memory
  std::uint64_t blocks;                   // what it shows of its blocks
  std::uint64_t pool;                     // their bytes
};

struct neighbour_parts {
  int rank = 0;
  std::vector<int> node;  // the workers of this one's node, this one among them; one: nobody to share with
  std::byte* own_region = nullptr;
  neighbour_words* words = nullptr;  // of this worker
  /// The heap region of a neighbour in this process's addresses, or null.
  std::function<std::byte*(int)> region_here;
  /// From the registered heap; null: no room.
  std::function<void*(std::size_t bytes, std::size_t alignment)> take;
  std::function<void(void*)> give_back;
  std::size_t block_bytes = 0;
  std::size_t sub_block_bytes = 0;
  std::size_t cache_blocks = 0;  // of a worker
};

class neighbours {
 public:
  static constexpr std::size_t granules = 16;  // of a block, at most

  /// A neighbour's copy of a block.
  struct shown_block {
    std::atomic<std::uint64_t> block;    // + 1; 0: none
    std::atomic<std::uint64_t> version;  // N5
    /// By granule, 0: nothing; else twice the time of the fetch, + 1 while it is on its way.
    std::array<std::atomic<std::uint64_t>, granules> times;
  };
  struct source {
    const shown_block* shown;
    const std::byte* bytes;
    std::uint64_t version;
  };
  enum class found : std::uint8_t { nothing, on_its_way, here };

  explicit neighbours(neighbour_parts parts);

  /// At the first use of global memory: from now on this worker shares, if it can.
  void join();
  /// Whether there is anybody to copy from.
  [[nodiscard]] bool sharing() const noexcept { return sharing_; }

  // --- times ---------------------------------------------------------------------------------------------
  /// N1: of a fetch that is posted from now on.
  [[nodiscard]] std::uint64_t now() const noexcept { return clock().load(std::memory_order_acquire); }
  /// N2, N3: behind an acquire of what rank FROM has released (-1: somebody); the least time of what may be read of
  /// this worker's own cache from now on.
  std::uint64_t acquired(int from) noexcept;
  /// A time that nothing has which was fetched before this call.
  [[nodiscard]] std::uint64_t later() noexcept { return clock().fetch_add(1, std::memory_order_acq_rel) + 1; }
  /// A change of homes by this worker is complete.
  void changed() noexcept { changed_ = sharing_; }
  /// N2: before what runs next is shown to others, and before copies_from() is used.
  void settle() noexcept {
    if (changed_) [[unlikely]] {
      step();
      changed_ = false;
    }
  }
  /// The least time of what may be copied.
  [[nodiscard]] std::uint64_t copies_from() noexcept {
    settle();
    return from_;
  }

  // --- what this worker shows; SLOT is the number of a cache block ------------------------------------------
  /// The pool is there.
  void open(std::byte* pool);
  /// SLOT is BLOCK's from now on, and nothing of it is here.
  void begins(std::uint32_t slot, std::uint64_t block) noexcept;
  /// N5: nothing of SLOT is to be copied any more.
  void hide(std::uint32_t slot) noexcept;
  /// SLOT is no block's any more.
  void ends(std::uint32_t slot) noexcept;
  /// Granule G of SLOT has come by a fetch of TIME, or is ON_ITS_WAY. What it showed before stays.
  void shows(std::uint32_t slot, std::size_t g, std::uint64_t time, bool on_its_way) noexcept;
  /// Whether something of granule G of SLOT is shown.
  [[nodiscard]] bool is_shown(std::uint32_t slot, std::size_t g) const noexcept {
    return shown_ != nullptr && shown_[slot].times[g].load(std::memory_order_relaxed) != 0;
  }
  /// What was on its way to SLOT is here.
  void landed(std::uint32_t slot) noexcept;

  // --- what the others show ----------------------------------------------------------------------------------
  /// The copies of BLOCK that neighbours show, as many as fit. Returns how many.
  static constexpr std::size_t sources_most = 8;
  std::size_t look_for(std::uint64_t block, std::array<source, sources_most>& at);
  /// What S shows of granule G that is of TIME_LEAST or later; TIME takes which.
  [[nodiscard]] static found look(const source& s, std::uint64_t block, std::size_t g, std::uint64_t time_least,
                                  std::uint64_t& time) noexcept;
  /// Copies PART of S's block. False: it was changed meanwhile, and what was copied means nothing.
  [[nodiscard]] static bool copy(const source& s, interval part, std::byte* to) noexcept;

  [[nodiscard]] std::uint32_t granule_bytes() const noexcept { return granule_; }

 private:
  using word = std::atomic_ref<std::uint64_t>;
  static constexpr std::size_t places = 8;  // of a line of the directory

  [[nodiscard]] word clock() const noexcept { return word(*clock_); }
  void step() noexcept;
  [[nodiscard]] neighbour_words* words_of(int rank);
  void* taken(std::size_t bytes);
  void find_directory();
  void make_directory();
  [[nodiscard]] std::byte* region_of(neighbour_words* theirs) const noexcept;
  [[nodiscard]] std::uint64_t* line_of(std::uint64_t block);
  [[nodiscard]] std::uint64_t entry_of(std::uint32_t slot, std::uint64_t block) const noexcept;

  neighbour_parts parts_;
  std::uint32_t granule_;
  std::uint64_t lines_ = 1;  // of the directory, a power of two
  std::uint64_t* directory_ = nullptr;
  std::uint64_t own_clock_ = 1;
  std::uint64_t* clock_ = &own_clock_;
  std::uint64_t from_ = 1;
  bool changed_ = false;
  bool sharing_ = false;
  shown_block* shown_ = nullptr;
  std::vector<neighbour_words*> words_;  // by place in `node`; null: not looked for, or not mapped here
};

}  // namespace tobi::pgas
