// SPDX-License-Identifier: Apache-2.0
// One rank's part in moving tasks between rounds: HPDC'12, section 5. What is decided, the balancers decide
// (balance_node.hpp); here is how ranks tell each other, and how the tasks move. All by one-sided operations:
//
//   1. Nodes tell their parents and children. A message lies in its sender's heap; a slot at the receiver says where.
//   2. Each rank now has numbers for the tasks that it gives away, and for those that it gets. Of each node the numbers
//      belong to a directory, of which each of its ranks has an equal part. A donor writes there which rank has the
//      task and where; that is behind a barrier, because parts are made when all numbers are given.
//   3. Behind another barrier a receiver reads that, and gets the task from its donor.
//
// So tasks go from donor to receiver once, and no rank handles more than its own and its part of the directories. What
// arrives needs no place in a ring: it is got into a block of its size and then added as the program adds tasks.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "alloc/heap.hpp"
#include "libcore/net/batch.hpp"
#include "libcore/net/fabric.hpp"
#include "libcore/pool/balance_node.hpp"
#include "libcore/pool/balance_tree.hpp"
#include "libcore/pool/executed_tasks.hpp"
#include "libcore/pool/peers.hpp"
#include "libcore/pool/words.hpp"
#include "tobi/detail/collection.hpp"

namespace tobi::pool {

/// What the ranks add up before they balance. All of it is added.
struct load_sum {
  double known_ns = 0;  // predicted for tasks whose time is known
  std::uint64_t known = 0;
  std::uint64_t unknown = 0;
  std::uint64_t cores = 0;  // ranks that execute tasks
};

/// Of this rank; of all, each is the highest or the sum, as its comment says.
struct balance_result {
  double before_ns = 0;        // highest
  double after_ns = 0;         // highest
  std::uint64_t moved = 0;     // sum
  std::uint64_t messages = 0;  // sum: operations on other ranks' memory
  std::uint64_t ns = 0;        // highest
};

class rebalancing {
 public:
  /// COMPUTES: this rank executes tasks. WAIT is one turn of a loop that waits, and serves others.
  struct ground {
    net::fabric* net;
    alloc::heap* heap;
    peers* others;
    collection_words* own;
    bool computes;
    const std::function<void(unsigned spins)>* wait;
  };
  /// Takes from TASKS what others get. They outlive it. A task is RECORD_BYTES.
  rebalancing(const ground& on, executed_tasks& tasks, std::size_t record_bytes, const balance_options& how);
  ~rebalancing();
  rebalancing(const rebalancing&) = delete;
  rebalancing& operator=(const rebalancing&) = delete;

  // --- in this order; what stands between is for all ranks together ------------------------------------
  [[nodiscard]] load_sum own_load() const noexcept { return own_sum_; }
  // sum of these
  /// Returns the longest task that this rank gives away.
  [[nodiscard]] double give(const load_sum& all);
  // the longest of all
  void open(double longest_ns);
  // barrier
  void plan();
  // barrier
  void tell();
  // barrier
  void fetch();
  [[nodiscard]] balance_result own_result() const noexcept { return result_; }
  // sum, which is a barrier too: nobody needs this object any more

  [[nodiscard]] double average_ns() const noexcept { return terms_.average_ns; }
  [[nodiscard]] std::uint64_t received() const noexcept { return received_; }
  [[nodiscard]] std::size_t record_bytes() const noexcept { return record_bytes_; }
  /// The I-th task that was received.
  [[nodiscard]] const std::byte* record(std::uint64_t i) const noexcept { return received_tasks_ + i * record_bytes_; }

 private:
  // A message's sender says where it is.
  struct slot {
    std::uint64_t at;
    std::uint64_t bytes;
    std::uint64_t ready;
  };
  // A part of a directory: COUNT entries at rank OWNER, from its entry FIRST on.
  struct part {
    int owner;
    std::uint64_t first;
    std::uint64_t count;
  };

  template <class T>
  T* allocate(std::uint64_t count, const char* what);
  void send(std::uint32_t rank, std::size_t to_slot, const std::vector<std::uint64_t>& words);
  std::vector<std::uint64_t> receive(std::size_t in_slot, std::uint32_t from);
  [[nodiscard]] std::size_t up_slot(unsigned level, std::uint32_t seat) const noexcept {
    return 1 + (level - 1) * (tree_.branching() - 1) + seat - 1;
  }
  void pack();
  void make_directory();
  [[nodiscard]] std::uint64_t total_of(unsigned level) const noexcept { return share_.totals[tree_.levels() - level]; }
  [[nodiscard]] std::uint64_t part_of(unsigned level) const noexcept;
  [[nodiscard]] std::uint64_t part_begin(unsigned level) const noexcept;
  [[nodiscard]] std::vector<part> parts_of(const std::vector<flow>& flows) const;
  const balance_places& places_of(int rank) { return places_.at(rank); }
  void learn_places(const std::set<int>& ranks);
  void fetch_tasks(std::vector<std::uint64_t>& entries);

  ground on_;
  executed_tasks& tasks_;
  std::size_t record_bytes_;
  balance_options how_;
  std::uint32_t self_;
  balance_tree tree_;
  balance_terms terms_;
  net::batch batch_;
  load_sum own_sum_;
  time_code unknown_ = 0;  // the code that tasks of unknown time get
  standing standing_;
  slot* slots_ = nullptr;
  share share_;
  std::uint64_t given_ = 0;             // tasks
  std::byte* given_tasks_ = nullptr;    // by bin
  std::uint64_t* directory_ = nullptr;  // this rank's parts: donor << 32 | the task's number there
  std::uint64_t received_ = 0;
  std::byte* received_tasks_ = nullptr;
  std::map<int, balance_places> places_;
  std::vector<void*> blocks_;  // of the heap, until the end
  balance_result result_;
};

}  // namespace tobi::pool
