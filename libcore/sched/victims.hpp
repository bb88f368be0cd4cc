// SPDX-License-Identifier: Apache-2.0
// Which worker to steal from.
//
// `near`: near workers more often than far ones, uniformly within a level. Work that is near is cheap to fetch and its
// caches are shared; far levels keep a share, so that work spreads over the machine. `uniform`: the papers' choice, all
// alike.
//
// A worker can be connected to so many others only, and a job may have ten thousand: to choose among all of them would
// open and close a connection at nearly every attempt. So a worker keeps to a random set of far ranks (those on other
// nodes), of which one is exchanged for another far rank now and then. How often:
//   - Work finds its way without: each worker has random partners of its own, and such a graph is connected and of
//     logarithmic diameter from about three partners on. The exchange is for smaller sets, for a set whose members
//     happen to have nothing, and so that in the end everybody can take from everybody.
//   - A connection costs about as much as some hundred attempts (a datagram, a thread that wakes up at the peer, two
//     queue pairs and their states: a millisecond), also to the peer, which computes. After 256 attempts in vain it is
//     no more than what an idle worker spends on looking anyway.
//   - A larger set offers more places to look at, and there are more workers whose devices make connections: each
//     member is to be asked 64 times before one is exchanged. A worker with 127 partners that finds nothing at all
//     makes some ten to twenty connections per second.
// With `uniform` the same holds for the far part: it is chosen as often as it has members, and each far rank is in
// the set equally long in the end.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "libcore/base/rng.hpp"
#include "libcore/base/settings.hpp"

namespace tobi::sched {

class victims {
 public:
  /// The level of ranks on other nodes.
  static constexpr int far_level = 3;
  static constexpr std::size_t attempts_per_member = 64;
  static constexpr std::size_t attempts_at_least = 256;

  struct rules {
    base::victim_policy policy = base::victim_policy::near;
    std::size_t far_most = 0;  // how many far ranks to keep to; 0: all there are
  };

  /// DISTANCE of each rank from this one, in levels from 0 (near) up to far_level; the entry of SELF is ignored, and so
  /// is a rank at a negative one: there is never work there.
  victims(int self, const std::vector<int>& distance, std::uint64_t seed, const rules& by) : rng_(seed) {
    const bool uniform = by.policy == base::victim_policy::uniform;
    std::vector<std::vector<int>> at(far_level + 1);
    for (std::size_t rank = 0; rank < distance.size(); ++rank) {
      if (static_cast<int>(rank) == self || distance[rank] < 0) continue;
      const int level = distance[rank] == far_level || !uniform ? distance[rank] : 0;
      at[static_cast<std::size_t>(level)].push_back(static_cast<int>(rank));
    }
    for (std::size_t level = 0; level < at.size(); ++level) {
      if (at[level].empty()) continue;
      all_ += at[level].size();
      at[level].shrink_to_fit();  // a job may have a hundred thousand
      levels_.push_back({std::move(at[level]), 0});
      levels_.back().asked = levels_.back().ranks.size();
      if (level == far_level) has_far_ = true;
    }
    by_size_ = uniform;
    if (!has_far_ || by.far_most == 0 || by.far_most >= levels_.back().asked) return;
    levels_.back().asked = by.far_most;
    patience_ = std::max(attempts_at_least, attempts_per_member * by.far_most);
    for (std::size_t i = 0; i < by.far_most; ++i) {
      std::swap(levels_.back().ranks[i], levels_.back().ranks[i + random(levels_.back().ranks.size() - i)]);
    }
  }

  [[nodiscard]] bool none() const noexcept { return levels_.empty(); }

  /// near: half of the choices fall on the nearest level, half of the rest on the next, and what remains on the last.
  [[nodiscard]] int next() noexcept {
    const group& here = levels_[by_size_ ? level_by_size() : level_by_coins()];
    last_is_far_ = has_far_ && &here == &levels_.back();
    return here.ranks[random(here.asked)];
  }

  /// The worker that next() named has no work.
  void in_vain() noexcept {
    if (patience_ == 0 || !last_is_far_ || ++attempts_ < patience_) return;
    attempts_ = 0;
    group& far = levels_.back();
    std::swap(far.ranks[random(far.asked)], far.ranks[far.asked + random(far.ranks.size() - far.asked)]);
  }

 private:
  struct group {
    std::vector<int> ranks;
    std::size_t asked;  // the first so many of them
  };
  [[nodiscard]] std::size_t random(std::size_t n) noexcept {
    return n == 1 ? 0 : static_cast<std::size_t>(rng_.uniform(n));
  }
  [[nodiscard]] std::size_t level_by_coins() noexcept {
    std::size_t at = 0;
    for (std::uint64_t coins = rng_(); at + 1 < levels_.size() && (coins & 1) != 0; coins >>= 1) ++at;
    return at;
  }
  // There are two levels at most: the near ranks and the far ones.
  [[nodiscard]] std::size_t level_by_size() noexcept { return random(all_) < levels_.front().ranks.size() ? 0 : 1; }

  base::rng rng_;
  std::vector<group> levels_;  // from near to far
  std::size_t all_ = 0;        // ranks
  bool by_size_ = false;       // uniform
  bool has_far_ = false;       // the last level is that of other nodes
  bool last_is_far_ = false;   // of the last choice
  std::size_t patience_ = 0;   // attempts in vain after which a member of the set is exchanged; 0: all are asked
  std::size_t attempts_ = 0;   // in vain, since the last exchange
};

}  // namespace tobi::sched
