// The global memory of this worker, put together: the view, the homes, the cache, on the job's registered heap.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "alloc/heap.hpp"
#include "alloc/segment.hpp"
#include "libcore/base/settings.hpp"
#include "libcore/pgas/memory.hpp"
#include "libcore/task/fabric.hpp"
#include "libcore/task/window.hpp"

namespace tobi::job {

/// The words of a worker's control block that belong to its global memory.
struct global_words {
  std::uint64_t epoch;            // of its releases
  pgas::gathered_words gathered;  // what it says in a collective call
  pgas::shown_checkouts shown;    // TOBI_DEBUG_GLOBAL
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
  /// UNUSABLE: why there is none, or "". BARRIER is the job's.
  void start(const alloc::segment& memory, alloc::heap& heap, tasks::fabric& net, global_words& words,
             std::uint64_t objects_from, tasks::steal_window& window, std::function<void()> barrier,
             std::string unusable);
  [[nodiscard]] pgas::memory* memory() noexcept { return memory_.get(); }

 private:
  std::vector<pgas::gathered_words> gather(const pgas::gathered_words& mine);

  base::settings settings_;
  pgas::view view_;
  global_words* words_ = nullptr;
  tasks::fabric* net_ = nullptr;
  std::function<void()> barrier_;
  std::unique_ptr<alloc::remote_objects> objects_;
  std::unique_ptr<pgas::homes> homes_;
  std::unique_ptr<pgas::remote> remote_;
  std::unique_ptr<pgas::memory> memory_;
};

}  // namespace tobi::job
