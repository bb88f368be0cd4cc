// SPDX-License-Identifier: Apache-2.0
// The task collections of a job: what its ranks do together around each rank's part (pool/collection.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>

#include "libcore/job/assembly.hpp"
#include "libcore/pool/collection.hpp"
#include "libcore/pool/mail.hpp"

namespace tobi::job {

class collections {
 public:
  /// ENTER: the program has come to a collective call; MEET: the barrier of programs.
  collections(pool::ground on, assembly& together, std::function<void(call)> enter, std::function<void()> meet);

  /// Collective.
  [[nodiscard]] pool::collection* make(const detail::collection_type& type, const collection_options& how);
  /// Collective.
  void end(pool::collection* part);
  /// Collective.
  void process(pool::collection& part);
  /// Null: there is none of that number.
  [[nodiscard]] pool::collection* find(std::size_t number) const noexcept {
    return number < parts_.size() ? parts_[number].get() : nullptr;
  }
  [[nodiscard]] bool any() const noexcept;
  /// Messages of thieves are read in each turn of each loop that waits: a rank that has left a process() is still asked
  /// by others, until all have.
  void serve();
  /// Collective.
  void rebalance(pool::collection& part, const balance_options& how);
  /// Whether a process() is under way.
  [[nodiscard]] bool processing() const noexcept { return processing_; }

 private:
  [[nodiscard]] bool steal_by_messages(const collection_options& how) const;
  [[nodiscard]] pool::mail& all_mail();
  void check(const balance_options& how);

  pool::ground on_;
  assembly& together_;
  std::function<void(call)> enter_;
  std::function<void()> meet_;
  std::unique_ptr<pool::mail> mail_;  // null: no collection has needed it
  std::array<std::unique_ptr<pool::collection>, pool::collections_max> parts_;
  bool processing_ = false;
};

}  // namespace tobi::job
