// Where a worker looks for work that has found none for so long that it sleeps between its attempts.
//
// An eager thief chooses its victims at random: it has a core, and an attempt costs it nothing. A sleeping one may wake
// up beside many others on few cores, and each attempt counts. So it first glances at the words that the workers of its
// node show, which are mapped memory and cost a cache miss each, and goes where work is; a blind choice would find the
// last busy one of n after n naps. Ranks of other nodes cannot be glanced at. A few sleepers of a node try them, as
// many as it has cores: what they bring home is seen by all the others.
//
// The naps grow with the number of those that sleep, so that all of them together leave the cores to the others.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "libcore/base/rng.hpp"
#include "libcore/task/deque.hpp"
#include "libcore/task/victims.hpp"

namespace tobi::tasks {

class lookout {
 public:
  /// NEAR: the ranks of this node that run tasks, without this one, whose windows WORK can glance at. FAR: there are
  /// others. CORES: of this node, for all of its workers. LOOKS_FAR: steal_window's, in this process's memory.
  void start(deque& work, victims& choice, std::vector<int> near, bool far, int cores, std::uint32_t& looks_far,
             std::uint64_t seed) {
    work_ = &work;
    choice_ = &choice;
    near_ = std::move(near);
    is_far_ = far;
    cores_ = static_cast<std::uint64_t>(std::max(cores, 1));
    rng_ = base::rng(seed);
    idle_ = 0;
    looks_far_ = &looks_far;
    far_now_ = false;
  }

  /// Whom to try now; -1: nobody. When that is over tried() is to be called.
  [[nodiscard]] int next() noexcept {
    int busy = -1;
    idle_ = 1;
    const std::size_t n = near_.size();
    std::size_t at = n < 2 ? 0 : static_cast<std::size_t>(rng_.uniform(n));
    for (std::size_t i = 0; i < n; ++i, at = at + 1 == n ? 0 : at + 1) {
      switch (work_->glance(near_[at])) {
        case sight::work:
          return near_[at];
        case sight::busy:
          if (busy < 0) busy = near_[at];
          break;
        case sight::leaf:
          break;
        case sight::nothing:
          ++idle_;
          break;
      }
    }
    if (is_far_ && (busy < 0 || (rng_() & 1) != 0) && may_look_far()) return some_far_rank();
    return busy;
  }
  void tried() noexcept {
    if (!far_now_) return;
    far_now_ = false;
    std::atomic_ref(*looks_far_).fetch_sub(1, std::memory_order_relaxed);
  }

  /// How long to sleep before the next attempt.
  [[nodiscard]] std::uint64_t nap_ns() const noexcept {
    return std::max(shortest_nap_ns, idle_ * (is_far_ ? far_share_ns : near_share_ns) / cores_);
  }

 private:
  // An attempt takes so long of a core that with naps like these all sleepers of a node together take a third of them.
  static constexpr std::uint64_t shortest_nap_ns = 50'000;
  static constexpr std::uint64_t near_share_ns = 20'000;
  static constexpr std::uint64_t far_share_ns = 60'000;

  // Relaxed: a count, and nothing else goes by it.
  [[nodiscard]] bool may_look_far() noexcept {
    const std::atomic_ref count(*looks_far_);
    if (count.load(std::memory_order_relaxed) >= cores_) return false;
    far_now_ = true;
    if (count.fetch_add(1, std::memory_order_relaxed) < cores_) return true;
    tried();
    return false;
  }

  [[nodiscard]] int some_far_rank() noexcept {
    constexpr int draws = 16;
    for (int i = 0; i < draws; ++i) {
      const int rank = choice_->next();
      if (std::find(near_.begin(), near_.end(), rank) == near_.end()) return rank;
    }
    return -1;
  }

  deque* work_ = nullptr;
  victims* choice_ = nullptr;
  std::vector<int> near_;
  bool is_far_ = false;
  std::uint64_t cores_ = 1;
  std::uint32_t* looks_far_ = nullptr;
  bool far_now_ = false;    // this worker is counted there
  std::uint64_t idle_ = 0;  // of this node, with this one, when they were looked at last
  base::rng rng_{1};
};

}  // namespace tobi::tasks
