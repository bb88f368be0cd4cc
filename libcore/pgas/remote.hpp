// The transport as the cache uses it: gets and puts of many blocks are collected, posted in chains to each home, and
// waited for together (SC'23, section 4.3.1: one wait at the end of a checkout).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "transports/transport.hpp"

namespace tobi::pgas {

class remote {
 public:
  /// REGION_OF(rank) answers the heap region of a rank, attached; called once a rank.
  remote(transports::transport& over, int size, std::function<transports::region_id(int)> region_of);

  [[nodiscard]] transports::transport& transport() noexcept { return over_; }
  [[nodiscard]] transports::region_id region(int rank);

  /// Notes one operation on RANK's heap region; nothing moves before post(). LOCAL stays the transport's until wait().
  void get(int rank, std::uint64_t from, void* local, std::uint64_t bytes);
  void put(int rank, std::uint64_t to, const void* local, std::uint64_t bytes);
  /// Posts what was noted, a chain for each run of operations with one target.
  void post();
  /// Something was posted and not waited for.
  [[nodiscard]] bool busy() const noexcept { return !under_way_.empty(); }
  /// Waits until all that was posted is complete, here and at the targets.
  void wait();
  /// The word at OFFSET of RANK's heap region: one round trip.
  [[nodiscard]] std::uint64_t read_word(int rank, std::uint64_t offset);
  /// One turn of a loop that waits for another worker; gives the core away as SPINS grows.
  void idle(unsigned& spins) noexcept;

 private:
  struct noted {
    int rank;
    transports::op what;
  };
  void note(int rank, transports::op_kind kind, std::uint64_t at, void* local, std::uint64_t bytes);
  void post_chain(int rank, std::size_t first, std::size_t count);
  [[noreturn]] void lost(int rank, status why) const;

  transports::transport& over_;
  std::function<transports::region_id(int)> region_of_;
  std::vector<std::int64_t> regions_;  // by rank; -1: not attached
  std::vector<noted> noted_;
  std::vector<char> waiting_for_;  // by rank
  std::vector<int> under_way_;     // ranks that something was posted to
  std::uint64_t word_ = 0;
};

}  // namespace tobi::pgas
