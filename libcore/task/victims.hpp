// Whom to steal from: near workers more often than far ones, uniformly within a level. Work that is near is cheap to
// fetch and its caches are shared; far levels keep a share, so that work spreads over the machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "libcore/base/rng.hpp"

namespace tobi::tasks {

class victims {
 public:
  /// DISTANCE of each rank from this one, in levels from 0 (near) up; the entry of SELF is ignored, and so is a rank at
  /// a negative one: there is never work there.
  victims(int self, const std::vector<int>& distance, std::uint64_t seed) : rng_(seed) {
    int deepest = -1;
    for (std::size_t rank = 0; rank < distance.size(); ++rank) {
      if (static_cast<int>(rank) != self && distance[rank] > deepest) deepest = distance[rank];
    }
    for (int level = 0; level <= deepest; ++level) {
      std::vector<int> here;
      for (std::size_t rank = 0; rank < distance.size(); ++rank) {
        if (static_cast<int>(rank) != self && distance[rank] == level) here.push_back(static_cast<int>(rank));
      }
      if (!here.empty()) levels_.push_back(std::move(here));
    }
  }

  [[nodiscard]] bool none() const noexcept { return levels_.empty(); }

  /// Half of the choices fall on the nearest level, half of the rest on the next, and what remains on the last.
  [[nodiscard]] int next() noexcept {
    std::size_t level = 0;
    for (std::uint64_t coins = rng_(); level + 1 < levels_.size() && (coins & 1) != 0; coins >>= 1) ++level;
    const std::vector<int>& here = levels_[level];
    return here[here.size() == 1 ? 0 : static_cast<std::size_t>(rng_.uniform(here.size()))];
  }

 private:
  base::rng rng_;
  std::vector<std::vector<int>> levels_;
};

}  // namespace tobi::tasks
