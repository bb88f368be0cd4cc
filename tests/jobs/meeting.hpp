// SPDX-License-Identifier: Apache-2.0
// Parts of a pattern that are made to run at once, so that it is certain where each of them begins.
#pragma once

#include <cstddef>
#include <tobi/tobi.hpp>

// Parts of a pattern that wait for each other, so that each has a worker of its own, and say where they are.
struct meeting {
  tobi::global_span<int> where;
  tobi::global_span<int> begun;

  explicit meeting(std::size_t parts) : where(tobi::allocate_all<int>(parts)), begun(tobi::allocate_all<int>(1)) {}
  void again() const {
    tobi::fill(where, -1);
    tobi::store(&begun[0], 0);
  }
  void comes(std::size_t part) const {
    tobi::store(&where[part], tobi::detail::tobi_here());
    tobi::fetch_add(&begun[0], 1);
    while (tobi::load_relaxed(&begun[0]) < static_cast<int>(where.size())) tobi::poll();
  }
  [[nodiscard]] bool in_order() const {
    for (std::size_t i = 0; i < where.size(); ++i) {
      if (tobi::load(&where[i]) != static_cast<int>(i)) return false;
    }
    return true;
  }
};

// Ten executions, one after the other, are as they should be. Before that some may not be: a worker that the kernel stops
// at the end of a part loses the next one to a worker that is idle meanwhile. A division that is another one, or thieves
// that take what is dealt, never have ten in a row: all parts are at their workers by luck in a 24th of all executions.
class in_a_row {
 public:
  /// Whether there is need of another one.
  [[nodiscard]] bool wants() noexcept { return right_ < 10 && ++executions_ <= 2000; }
  void was(bool right) noexcept { right_ = right ? right_ + 1 : 0; }
  [[nodiscard]] bool is_sure() const noexcept { return right_ >= 10; }

 private:
  int right_ = 0;
  int executions_ = 0;
};
