// SPDX-License-Identifier: Apache-2.0
// One rank's part of a task collection: HPDC'12, sections 4 and 6. What all ranks do together around it, and the C++
// types of tasks, are above (job/collections.hpp, tobi/task_collection.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "alloc/heap.hpp"
#include "libcore/net/fabric.hpp"
#include "libcore/pool/executed_tasks.hpp"
#include "libcore/pool/giver.hpp"
#include "libcore/pool/mail.hpp"
#include "libcore/pool/message_thief.hpp"
#include "libcore/pool/peers.hpp"
#include "libcore/pool/queue.hpp"
#include "libcore/pool/rebalancing.hpp"
#include "libcore/pool/termination.hpp"
#include "libcore/pool/thief.hpp"
#include "libcore/sched/attendant.hpp"
#include "libcore/sched/victims.hpp"
#include "libcore/task/fences.hpp"
#include "tobi/detail/collection.hpp"

namespace tobi::pool {

/// What a collection stands on. All of it outlives the collection.
struct ground {
  net::fabric* net;
  alloc::heap* heap;
  collection_places* places;
  tasks::coherence* memory;  // null: there is no global memory
  sched::victims* choice;
  std::vector<int> near;  // the other ranks of this node that are mapped
  bool serves_only;       // this rank is here for the others' operations: others take what is added to it
  bool must_poll;         // the transport stands still unless it is polled, here or at its targets
  unsigned workers_per_core;
  std::function<void(unsigned spins)> wait;  // one turn of a loop that waits, and serves others
};

class collection final : public sched::attended, private mail::reader {
 public:
  /// The NUMBER-th, on all ranks alike. Ends the job where the heap has no room. POST: by which ranks steal; null: they
  /// steal by one-sided operations.
  collection(const ground& on, std::size_t number, const detail::collection_type& type, const collection_options& how,
             mail* post);
  ~collection() override;
  collection(const collection&) = delete;
  collection& operator=(const collection&) = delete;

  [[nodiscard]] std::size_t number() const noexcept { return number_; }
  /// All ranks have made theirs: finds those of this node, so that the first process() does not wait for page faults.
  void find_neighbours();
  /// Adds the task of FUNCTION at TASK: before process(), or in a task of this collection.
  void add(std::uint32_t function, const void* task);

  // --- process(): the parts between which all ranks meet -------------------------------------------------
  /// Before they meet.
  void begin();
  /// Executes tasks until no rank has any.
  void work();
  /// After they have met again.
  void end() noexcept { state_ = state::processed; }
  /// Where what the first task here that has thrown threw is kept; 0: none has.
  [[nodiscard]] std::uint64_t failure() const noexcept { return failure_; }

  /// Sends thieves what was marked for them. Called in each turn of each loop that waits, inside process() and behind
  /// it.
  void send_what_is_given();

  /// What the next process() executes here: the tasks that were executed here, or those that were added here.
  void restore();

  // --- rebalance(): job/collections.cc has what stands between -------------------------------------------
  /// Ends the job where nothing was processed.
  [[nodiscard]] std::unique_ptr<rebalancing> rebalance(const balance_options& how);
  /// All have ended DONE, and what they did is WHAT.
  void rebalanced(const rebalancing& done, const balance_statistics& what);
  [[nodiscard]] const balance_statistics& balanced() const noexcept { return balanced_; }

  /// Nothing; the collection is as new.
  void clear();

  [[nodiscard]] const collection_statistics& counted() const noexcept { return counted_; }

  // --- of the attendant ----------------------------------------------------------------------------------
  bool attend() noexcept override;
  [[nodiscard]] bool may_sleep() const noexcept override;
  [[nodiscard]] std::uint64_t sign_of_life() const noexcept override;

 private:
  enum class state : std::uint8_t { filling, processing, processed };
  // In front of each task.
  struct head {
    std::uint32_t function;
    std::uint32_t added;  // by a task: it is added again when that task is executed again
  };

  [[nodiscard]] bool asked(int thief, const mail::request& what) override;
  void delivered(std::uint64_t count) override;
  void serve();
  void serve_at_times(std::uint64_t now) noexcept;
  [[nodiscard]] time_code execute();
  void keep(const std::byte* record);
  void keep_executed(time_code took);
  void refuse_add() const;
  void make_thief();
  void start_attendant();

  ground on_;
  detail::collection_type type_;
  collection_options how_;
  std::size_t number_;
  std::size_t record_bytes_;
  collection_words* words_;
  peers peers_;
  std::unique_ptr<queue> queue_;
  mail* mail_;
  std::unique_ptr<giver> giver_;  // where thieves ask
  std::unique_ptr<thief> thief_;
  message_thief* asking_thief_ = nullptr;  // thief_, where thieves ask
  std::uint64_t served_ = 0;               // cycles: when messages were read last between two tasks
  std::unique_ptr<termination> end_;
  std::unique_ptr<sched::attendant> attendant_;  // null: there are no thieves, or none can be let in
  tasks::fences fences_;
  state state_ = state::filling;
  executed_tasks executed_;        // what restore() gives back where it retains
  std::vector<std::byte> kept_;    // records that it gives back where it does not
  std::vector<std::byte> record_;  // the task that is executed, aligned for any
  std::byte* now_ = nullptr;       // in record_
  std::vector<std::byte> added_;   // the task that is added
  std::uint64_t failure_ = 0;
  collection_statistics counted_;
  balance_statistics balanced_;
};

}  // namespace tobi::pool
