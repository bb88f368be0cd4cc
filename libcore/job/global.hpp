// SPDX-License-Identifier: Apache-2.0
// The global memory of this worker, put together: the view, the homes, the cache, on the job's registered heap.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "alloc/heap.hpp"
#include "alloc/segment.hpp"
#include "libcore/base/settings.hpp"
#include "libcore/deque/window.hpp"
#include "libcore/job/assembly.hpp"
#include "libcore/net/fabric.hpp"
#include "libcore/pgas/memory.hpp"

namespace tobi::job {

/// The words of a worker's control block that belong to its global memory.
struct global_words {
  static constexpr std::uint32_t first_homes = 64;
  static constexpr std::uint32_t more_homes = 20;

  std::uint64_t epoch;            // of its releases
  pgas::gathered_words gathered;  // what it says in a collective call
  // Where in its region its share of each collective allocation lies, by the allocation's slot. Those of higher slots
  // are in pieces of the heap, each twice as large as the one before, and this is where: 0, or an offset. No piece
  // moves.
  std::uint64_t homes[first_homes];
  std::uint64_t homes_in[more_homes];
  pgas::shown_checkouts shown;  // TOBI_DEBUG_GLOBAL
  pgas::update_locks locks;
  pgas::letter_box letters;
  pgas::neighbour_words neighbours;
};

class global {
 public:
  /// Fatal, status 2, when the sizes do not fit together.
  static void check(const base::settings& in_force);

  /// Reserves the view for SIZE workers with heap regions of REGION_BYTES.
  global(const base::settings& in_force, int size, std::uint64_t region_bytes);
  ~global();
  global(const global&) = delete;
  global& operator=(const global&) = delete;

  /// Where the view is, for the others to compare; null: nowhere.
  [[nodiscard]] std::byte* base() const noexcept { return view_.base(); }
  /// NODE: the workers of this one's, this one among them. TOGETHER: the job's. TRACED: the job is. ENTER: the program
  /// has called it here. UNUSABLE: why there is none, or "".
  void start(const alloc::segment& memory, alloc::heap& heap, net::fabric& net, global_words& words,
             std::uint64_t objects_from, std::vector<int> node, deque::steal_window& window, assembly& together,
             bool traced, std::function<void(call)> enter, std::string unusable);
  [[nodiscard]] pgas::memory* memory() noexcept { return memory_.get(); }

 private:
  pgas::neighbour_parts near_parts(const pgas::cache_parts& caching, std::vector<int> node, global_words& words);
  pgas::extremes agree(const pgas::extremes& mine, pgas::collective which);
  std::vector<pgas::gathered_words> everybody();
  void keep_home(std::uint32_t slot, std::uint64_t home);
  std::uint64_t home_of(int rank, std::uint32_t slot);

  base::settings settings_;
  pgas::view view_;
  global_words* words_ = nullptr;
  net::fabric* net_ = nullptr;
  alloc::heap* heap_ = nullptr;
  assembly* together_ = nullptr;
  std::function<void(call)> enter_;
  std::unique_ptr<alloc::remote_objects> objects_;
  std::unique_ptr<alloc::small_objects> small_objects_;
  std::unique_ptr<pgas::homes> homes_;
  std::unique_ptr<net::batch> batch_;
  std::unique_ptr<pgas::neighbours> neighbours_;
  std::unique_ptr<pgas::memory> memory_;
};

}  // namespace tobi::job
