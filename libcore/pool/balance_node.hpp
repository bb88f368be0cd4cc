// SPDX-License-Identifier: Apache-2.0
// An inner node of a balancer's tree: HPDC'12, section 5, algorithms 1 and 2. Pure: what it is told and what it tells
// is passed by value. The ranks of a job drive it (rebalancing.hpp), and so does tobi-bench lb-synthetic.
//
// The listing of algorithm 2 leaves three things open. They are read so:
//   - The loop behind "if processor is not root" is run by inner nodes, not by leaves: figure 1 (b), and "each core
//     above the first level in the tree then receives the tasks and load from each child". Behind it the listing has no
//     sendToParent. The text has it: a core "sends the total surplus or deficit in its sub-tree, together with donated
//     tasks left over from the distribution, to its parent".
//   - "assign" in that loop sends nothing. What is assigned there goes down with what the node's parent sends it
//     (figure 1 (b): "saves work for underloaded children").
//   - Where a load is as low as another, the task goes to the first of the two children.
//
// Algorithm 1 is the root of a tree whose leaves are all its children: it has no loop with a limit, and assigns all
// that it is told of.
//
// The paper's nodes hand tasks on, so the root of a large machine handles as many as must cross it. Here nodes exchange
// numbers of tasks by bin. Where a node assigns tasks of one child to another it numbers them: both children are told
// the numbers, and pass them on to theirs. In the end the donor of each task and its receiver know the same number, and
// meet at the rank that keeps the node's directory of that number (rebalancing.hpp).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "libcore/pool/greedy.hpp"

namespace tobi::pool {

/// COUNT tasks of BIN, which a node of LEVEL has numbered from PLACE on.
struct flow {
  std::uint64_t place;
  std::uint32_t count;
  std::uint16_t bin;
  std::uint16_t level;
};
static_assert(sizeof(flow) == 16);

/// What a node tells a child.
struct share {
  std::vector<flow> out;              // of one bin in the order of the child's surplus; all of that
  std::vector<flow> in;               // for the child
  std::vector<std::uint64_t> totals;  // numbered by each node above, the lowest last
};

/// Tasks in FLOWS.
[[nodiscard]] std::uint64_t tasks_in(const std::vector<flow>& flows) noexcept;

/// What all nodes know alike.
struct balance_terms {
  double average_ns = 0;  // load of a core
  double limit_ns = 0;    // D times that
  double longest_ns = 0;  // task that any core has given away
  time_bins bins{1};
  /// Loads that differ by less are joined on the way up.
  [[nodiscard]] double unit_ns() const noexcept { return average_ns / 256; }
};

/// up() once, then down() once.
class balance_node {
 public:
  balance_node(std::vector<standing> children, unsigned level, bool is_root, const balance_terms& terms);

  /// Returns what the node's parent is to know.
  [[nodiscard]] standing up();
  /// FROM is what the parent tells; nothing, of the root. Returns what each child is told.
  [[nodiscard]] std::vector<share> down(const share& from);

  /// As assign() counts them, and one for each entry of a message.
  [[nodiscard]] std::uint64_t steps() const noexcept { return steps_; }

 private:
  void match(const assign_limits& limits);
  void tell_of(const portion& from, std::uint32_t to, std::uint64_t count);

  std::vector<standing> children_;
  unsigned level_;
  bool is_root_;
  balance_terms terms_;
  std::vector<portion> surplus_;  // of the children, what is not assigned: the longest times first, by child
  std::vector<share> told_;       // to each child
  std::uint64_t numbered_ = 0;
  std::uint64_t steps_ = 0;
};

}  // namespace tobi::pool
