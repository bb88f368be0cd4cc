// SPDX-License-Identifier: Apache-2.0
// Where a worker looks for work that has found none for so long that it sleeps between its attempts.
//
// An eager thief chooses its victims at random: it has a core, and an attempt costs it nothing. A sleeping one may wake
// up among many others on few cores, and each attempt counts. So it first glances at the words that the workers of its
// node show, which are mapped memory and cost a cache miss each, and goes where work is; a blind choice would find the
// last busy one of n after n naps. At other nodes it looks at what sights.hpp tells, and goes where work is, too.
//
// What a neighbour has shown to other nodes is theirs for as long as their sleepers need to come by, and for any then.
//
// What is taken by the fabric is left to a few sleepers of a node, two per core: most of such an attempt is waiting,
// and what they bring home is seen by all the others. That also holds for a neighbour's work that the CPU must not
// take: else all that sleep would come for the one entry, and its owner would serve their operations before it served
// itself.
//
// The naps grow with the number of those that sleep, so that all of them together leave the cores to the others. Those
// that try other nodes are few, and sleep less.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "arch/clock.hpp"
#include "libcore/base/rng.hpp"
#include "libcore/deque/deque.hpp"
#include "libcore/sched/sights.hpp"
#include "libcore/sched/victims.hpp"

namespace tobi::sched {

class lookout {
 public:
  /// NEAR: the ranks of this node that run tasks, without this one, whose windows WORK can glance at. FAR: there are
  /// others, at which FAR_SIGHTS looks. CORES: of this node, for all of its workers. LOOKS_FAR: steal_window's, in this
  /// process's memory.
  void start(deque::deque& work, victims& choice, sights& far_sights, std::vector<int> near, bool far, int cores,
             std::uint32_t& looks_far, std::uint64_t seed) {
    work_ = &work;
    sights_ = &far_sights;
    choice_ = &choice;
    near_ = std::move(near);
    is_far_ = far;
    cores_ = static_cast<std::uint64_t>(std::max(cores, 1));
    rng_ = base::rng(seed);
    idle_ = 0;
    looks_far_ = &looks_far;
    far_now_ = false;
  }

  /// Which worker to try now; -1: nobody. When that is over tried() is to be called. May look at another node, unless
  /// NEAR_ALONE: a round trip.
  [[nodiscard]] int next(bool near_alone = false) noexcept {
    int busy = -1;
    int by_fabric = -1;
    idle_ = 1;
    asked_ = -1;
    far_last_ = false;
    const std::size_t n = near_.size();
    std::size_t at = n < 2 ? 0 : static_cast<std::size_t>(rng_.uniform(n));
    for (std::size_t i = 0; i < n; ++i, at = at + 1 == n ? 0 : at + 1) {
      switch (work_->glance(near_[at])) {
        case deque::sight::work:
        case deque::sight::near_work:
          return near_[at];
        case deque::sight::far_work:
          by_fabric = near_[at];
          break;
        case deque::sight::busy:
          if (busy < 0) busy = near_[at];
          break;
        case deque::sight::leaf:
          break;
        case deque::sight::nothing:
          ++idle_;
          break;
      }
    }
    if (by_fabric >= 0 && is_left_over()) return may_look_far() ? by_fabric : busy;
    if (by_fabric < 0) shown_since_ns_ = 0;
    if (!is_far_ || near_alone) return busy;
    if ((busy < 0 || (rng_() & 1) != 0) && may_look_far()) return someone_far();
    return busy;
  }
  /// Behind a next() that named nobody: the worker whose whole node it saw to have nothing; -1: it looked at none.
  [[nodiscard]] int saw_nothing_at() const noexcept { return asked_; }
  void tried() noexcept {
    if (!far_now_) return;
    far_now_ = false;
    far_last_ = true;
    std::atomic_ref(*looks_far_).fetch_sub(1, std::memory_order_relaxed);
  }

  /// How long to sleep before the next attempt.
  [[nodiscard]] std::uint64_t nap_ns() const noexcept {
    const std::uint64_t fair = idle_ * (is_far_ ? far_share_ns : near_share_ns) / cores_;
    return std::max(shortest_nap_ns, far_last_ ? fair / lookers_sooner : fair);
  }

 private:
  // An attempt takes so long of a core that with naps like these all sleepers of a node together take a third of them.
  static constexpr std::uint64_t shortest_nap_ns = 50'000;
  static constexpr std::uint64_t near_share_ns = 20'000;
  static constexpr std::uint64_t far_share_ns = 120'000;
  static constexpr std::uint64_t lookers_per_core = 2;
  static constexpr std::uint64_t lookers_sooner = 8;  // times
  static constexpr std::uint64_t blind_looks = 32;    // one of them goes by chance: what is seen is a hint
  static constexpr std::uint64_t naps_of_others = 2;

  // Whether what neighbours show to other nodes has been there for so long that nobody comes for it. They sleep about
  // as long as this node's.
  [[nodiscard]] bool is_left_over() noexcept {
    const std::uint64_t now = arch::now_ns();
    if (shown_since_ns_ == 0) shown_since_ns_ = now;
    return now - shown_since_ns_ >= naps_of_others * idle_ * far_share_ns / cores_;
  }

  // Relaxed: a count, and nothing else goes by it.
  [[nodiscard]] bool may_look_far() noexcept {
    const std::atomic_ref count(*looks_far_);
    if (count.load(std::memory_order_relaxed) >= lookers_per_core * cores_) return false;
    far_now_ = true;
    if (count.fetch_add(1, std::memory_order_relaxed) < lookers_per_core * cores_) return true;
    tried();
    return false;
  }

  [[nodiscard]] int someone_far() {
    const int partner = some_far_rank();
    if (partner < 0 || rng_.uniform(blind_looks) == 0) return partner;
    const int chosen = sights_->choose(partner, rng_);
    if (chosen >= 0) return chosen;
    choice_->in_vain();
    asked_ = partner;
    return -1;
  }
  [[nodiscard]] int some_far_rank() noexcept {
    constexpr int draws = 16;
    for (int i = 0; i < draws; ++i) {
      const int rank = choice_->next();
      if (std::find(near_.begin(), near_.end(), rank) == near_.end()) return rank;
    }
    return -1;
  }

  deque::deque* work_ = nullptr;
  victims* choice_ = nullptr;
  sights* sights_ = nullptr;
  std::vector<int> near_;
  bool is_far_ = false;
  std::uint64_t cores_ = 1;
  std::uint32_t* looks_far_ = nullptr;
  int asked_ = -1;
  bool far_now_ = false;              // this worker is counted there
  bool far_last_ = false;             // it was, in its last attempt
  std::uint64_t idle_ = 0;            // of this node, with this one, when they were looked at last
  std::uint64_t shown_since_ns_ = 0;  // some neighbour shows something to other nodes; 0: none did
  base::rng rng_{1};
};

}  // namespace tobi::sched
