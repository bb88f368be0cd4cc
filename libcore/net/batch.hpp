// SPDX-License-Identifier: Apache-2.0
// Gets, puts and atomics on many blocks, collected, posted in chains to each target, and waited for together (SC'23,
// section 4.3.1: one wait at the end of a checkout). What goes wrong, and how one waits, is the fabric's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "libcore/base/per_rank.hpp"
#include "libcore/net/fabric.hpp"

namespace tobi::net {

class batch {
 public:
  explicit batch(fabric& net);

  [[nodiscard]] fabric& net() noexcept { return net_; }

  /// Notes one operation on RANK's heap region; nothing moves before post(). LOCAL stays the transport's until wait().
  void get(int rank, std::uint64_t from, void* local, std::uint64_t bytes);
  void put(int rank, std::uint64_t to, const void* local, std::uint64_t bytes);
  /// Notes one atomic on an aligned word of RANK's heap region. FOUND, what the word was, stays the transport's too.
  void fetch_add(int rank, std::uint64_t word, std::uint64_t operand, std::uint64_t* found);
  void compare_swap(int rank, std::uint64_t word, std::uint64_t expected, std::uint64_t desired, std::uint64_t* found);
  /// Posts OPS to RANK now, as one chain, in no order with what is noted. Where there are no chains it waits for each.
  void post_in_order(int rank, std::span<const transports::op> ops);
  /// Posts what was noted, a chain for each run of operations with one target.
  void post();
  /// Something was posted and not waited for.
  [[nodiscard]] bool busy() const noexcept { return !under_way_.empty(); }
  /// Waits until all that was posted is complete, here and at the targets.
  void wait();
  /// Waits until all that was posted to RANK is.
  void wait(int rank);
  /// Whether all that was posted to RANK is. Waits for nothing.
  [[nodiscard]] bool is_done(int rank);

 private:
  struct noted {
    int rank;
    transports::op what;
  };
  void note(int rank, transports::op_kind kind, std::uint64_t at, void* local, std::uint64_t bytes);
  void post_chain(int rank, std::size_t first, std::size_t count);
  void is_under_way(int rank);

  fabric& net_;
  std::vector<noted> noted_;
  base::per_rank<char> waiting_for_;  // by rank
  std::vector<int> under_way_;        // ranks that something was posted to
};

}  // namespace tobi::net
