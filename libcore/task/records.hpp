// SPDX-License-Identifier: Apache-2.0
// The records of this worker's children, and what it does with anybody's: makes, completes, looks, reads, frees.
// record.hpp has the layout and the protocol.
#pragma once

#include <cstdint>

#include "libcore/net/fabric.hpp"
#include "libcore/net/location.hpp"
#include "libcore/task/failures.hpp"
#include "libcore/task/record.hpp"
#include "libcore/task/shared_objects.hpp"

namespace tobi::tasks {

class records {
 public:
  records(shared_objects& objects, failures& failed) noexcept : objects_(objects), failures_(failed) {}
  void start(net::fabric& net) noexcept { net_ = &net; }

  /// The location word of a fresh record, or 0 where the heap is exhausted.
  std::uint64_t make() noexcept {
    void* room = objects_.try_allocate(sizeof(record));
    return room == nullptr ? 0 : made_in(room);
  }
  /// The same; ends the job instead.
  /// The child of the record at WHERE, which is here and which nobody knows yet, goes on at another node.
  void child_is_sent(net::location where) noexcept;
  /// Whether the record at WHERE is here, and says so.
  [[nodiscard]] bool waits_for_sent(net::location where) const noexcept;
  std::uint64_t need() { return made_in(objects_.need(sizeof(record), "for a join record")); }
  /// Of this worker, and nobody has seen it.
  void drop(std::uint64_t where) noexcept { objects_.free_own(net::location{where}); }

  // --- for the completer -----------------------------------------------------------------------------
  /// What a record says when it is done with the BYTES at VALUE. SERIAL: of a future, else 0.
  [[nodiscard]] record compose(record_status status, const void* value, std::uint32_t bytes, std::uint32_t serial);
  /// Makes the record at WHERE done, where nobody waits in it: MADE is what it says behind its first two words.
  void put_done(net::location where, record& made) noexcept;
  /// The same where somebody may wait: returns what the record's word was before.
  [[nodiscard]] std::uint64_t add_done(net::location where, record& made) noexcept;

  // --- for joiners --------------------------------------------------------------------------------------
  /// Whether the record at WHERE is done; if so COPY is what it says.
  [[nodiscard]] bool finished(std::uint64_t where, record& copy) {
    return read_if_done(*net_, net::location{where}, copy);
  }
  /// A claim of a future, and the same as finished(). SHARES is what they were before.
  [[nodiscard]] bool look(std::uint64_t where, std::uint64_t& shares, record& copy);
  /// What a record says that is known to be done.
  void read_done(std::uint64_t where, record& copy);
  /// The result: BYTES to RESULT.
  void take_result(const record& copy, void* result, std::uint32_t bytes);
  /// Gives up this join's share in the record. The one that gives up the last frees it.
  void consume(std::uint64_t where, const record& copy) noexcept;
  /// Throws the record's exception, and gives up the join's share with it.
  [[noreturn]] void throw_failure(std::uint64_t where, const record& copy);

 private:
  std::uint64_t made_in(void* room) noexcept;

  shared_objects& objects_;
  failures& failures_;
  net::fabric* net_ = nullptr;
};

}  // namespace tobi::tasks
