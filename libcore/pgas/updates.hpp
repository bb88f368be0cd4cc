// SPDX-License-Identifier: Apache-2.0
// Updates of numbers at their homes (tobi/accumulate.hpp). What this worker has in its cache is the memory's affair.
//
// U1. A number of one kind is changed in one way. Integers of 64 bits are words that atomics change: the CPU's on
//     mapped memory where these and the fabric's exclude each other, else the fabric's, on this worker's own words too.
//     All others are changed under a lock, by loads and stores on mapped memory and by a get and a put elsewhere.
// U2. The lock of a number is a word at its home, which the number's offset there names. It too is a word that atomics
//     change. It is held within one call, by a worker that needs nothing but the fabric until it gives it up: no lock
//     of another worker, no release. So nobody waits in a circle.
// U3. A worker tries for all locks of a round at once, keeps those that it gets, and has given them up before it tries
//     for the others. Two lots of a round that have one lock are updated in two rounds.
// U4. Scattered numbers of a lot are fetched with what lies between them, and sent home without it: others may write
//     there meanwhile.
//
// U5. Where targets must poll, many numbers of one worker go there in letters (letters.hpp), which that worker executes
//     by U1 and U2.
//
// U6. What is added to few numbers of others waits, and goes on its way with what is added later: at a release, when
//     this worker itself asks for one of them, when there is much of it, or after a while. Meanwhile the cache may
//     fetch what they were, next to other bytes: it forgets that when they are sent.
//
// U7. What is stored (tobi::store_at) waits as numbers do and goes in letters, too, without atomics and locks: it is of
//     one task at a time, as a store is. Where no letters are sent it is a put of its own.
//
// Why not a letter for everything, which needs no lock: a fabric with RMA of its own would have it wait for the
// target's processor, and a letter takes four round trips. Why not a loop of compare-and-swap per number: a fabric
// executes one atomic at a time, where a put brings a thousand numbers. A single number costs the same in both ways: a
// get behind the lock in one chain, and a put before it is given up in another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "libcore/net/batch.hpp"
#include "libcore/pgas/homes.hpp"
#include "libcore/pgas/letters.hpp"
#include "libcore/pgas/numbers.hpp"

namespace tobi::pgas {

/// In each worker's heap region, at the same offset. 0: free; 1: held.
struct update_locks {
  static constexpr std::uint64_t count = 64;
  static constexpr std::uint64_t lot_bytes = 16 * 1024;  // of a home, which one lock is for
  struct alignas(64) lock {
    std::uint64_t word;
  };
  lock all[count];

  /// The lock of what is at OFFSET of a worker's region, as an offset in this structure.
  [[nodiscard]] static constexpr std::uint64_t offset_of(std::uint64_t offset) noexcept {
    return offset / lot_bytes % count * sizeof(lock);
  }
};

struct update_parts {
  net::fabric* net = nullptr;
  const homes* where = nullptr;
  std::uint64_t locks = 0;  // offset of every worker's update_locks in its region
  /// The heap region of a rank in this process's addresses, or null.
  std::function<std::byte*(int)> region_here;
  /// Registered memory, aligned to 64 bytes; null: there is none.
  std::function<std::byte*(std::size_t)> take;
  /// For letters; null box: none are sent.
  letter_parts posting;
  /// Executes what others have written to this worker, while it waits for its own letters.
  std::function<void()> serve;
  /// Forgets what the cache has of the BYTES at AT of the view.
  std::function<void(std::uint64_t at, std::uint64_t bytes)> forget;
};

class updates {
 public:
  explicit updates(const update_parts& parts);

  /// Where a number is. Kept by a call, and not beyond: memory is freed between calls.
  class finder {
   public:
    explicit finder(updates& of) noexcept : of_(of) {}
    struct place {
      int rank;            // -1: there is no such memory
      std::uint64_t home;  // offset in its region
      std::uint64_t left;  // bytes until its run of homes ends
      std::byte* region;   // mapped here, or null
    };
    /// AT: offset in the view.
    [[nodiscard]] place operator()(std::uint64_t at);

   private:
    updates& of_;
    home_run run_{};
    std::byte* region_ = nullptr;
  };

  /// Adds BYTES of numbers at FROM to those at AT of the view, which exist. What was added to few of them on other
  /// workers may wait for send().
  void add(std::uint64_t at, const std::byte* from, std::size_t bytes, number_kind number);
  /// Adds value i to the number PLACES[i] from AT on, which exists, or stores it there. What is for others may wait for
  /// send().
  void add_at(std::uint64_t at, const std::size_t* places, const std::byte* values, std::size_t count,
              number_kind number);
  /// Whether there is something to send, of numbers that are not of the kind OTHER.
  [[nodiscard]] bool waiting() const noexcept { return !numbers_.empty(); }
  [[nodiscard]] std::size_t how_many_wait() const noexcept { return numbers_.size(); }
  [[nodiscard]] bool waiting_of_other_kind(number_kind other) const noexcept { return waiting() && kind_ != other; }
  /// Whether numbers among the BYTES at AT of the view may wait.
  [[nodiscard]] bool waiting_among(std::uint64_t at, std::size_t bytes) const noexcept {
    return waiting() && at < last_ && first_ < at + bytes;
  }
  /// Sends what waits. Complete when it returns.
  void send();
  /// Updates one number by OPERAND; WHAT.old takes what it was.
  void one(std::uint64_t at, const update& what, const void* operand);

 private:
  // A number of an update of many places.
  struct scattered {
    std::uint64_t at;  // in the view
    int rank;
    std::uint64_t home;
    std::byte* region;      // mapped, or null
    std::uint64_t operand;  // its bytes, from the first on

    [[nodiscard]] const std::byte* bytes() const noexcept { return reinterpret_cast<const std::byte*>(&operand); }
  };
  // A part of an update under one lock: numbers next to each other, or some of those in a range.
  struct lot {
    int rank;
    std::uint64_t home;
    std::byte* here;  // mapped, or null
    const std::byte* from;
    std::size_t bytes;
    std::span<const scattered> some;  // by place; empty: all
    std::byte* staged;                // of registered memory, where it is not mapped
    std::uint64_t* found;             // what the lock was
  };
  struct staging;

  [[nodiscard]] bool by_cpu(const finder::place& p) const noexcept {
    return p.region != nullptr && parts_.net->cpu_atomics(p.rank);
  }
  [[nodiscard]] bool by_letter(int rank, const std::byte* region, std::size_t numbers) const noexcept;
  [[nodiscard]] staging& staged();
  [[nodiscard]] std::byte* take(std::size_t bytes);
  void add_word(const finder::place& p, std::uint64_t operand);
  void store(const finder::place& p, const std::byte* bytes);
  void finish_words();
  [[nodiscard]] std::uint64_t change_word(const finder::place& p, const update& what, std::uint64_t operand);
  void split(finder& find, std::uint64_t at, const std::byte* from, std::size_t bytes, const update& what);
  void note(const finder::place& p, std::uint64_t at, const std::byte* operand);
  void sort_and_merge(std::vector<scattered>& all);
  void send_near();
  void finish(const update& what);
  void send_sorted(std::span<const scattered> all);
  void gather(std::span<const scattered> some, const update& what);
  void change(std::byte* region, lot l, const update& what);
  void under_lock(std::byte* region, const lot& l, const update& what);
  [[nodiscard]] bool in_one_put(const lot& l, std::size_t each) const noexcept;
  void put_home(const lot& l, std::size_t each);
  void finish_lots(const update& what);
  void try_locks();
  void move(const update& what);
  [[nodiscard]] std::uint64_t lock_of(const lot& l) const noexcept {
    return parts_.locks + update_locks::offset_of(l.home);
  }

  update_parts parts_;
  net::batch batch_;
  staging* staging_ = nullptr;
  std::size_t noted_ = 0;           // words, that were not posted
  std::vector<lot> lots_;           // that wait for their locks
  std::vector<scattered> near_;     // of one call, which this CPU changes under locks
  std::vector<scattered> numbers_;  // that wait for send(), all of kind_
  number_kind kind_ = number_kind::float64;
  std::uint64_t first_ = 0;  // of the view: they lie in [first_, last_)
  std::uint64_t last_ = 0;
  std::unique_ptr<letter_writer> letters_;  // null: none are sent
};

}  // namespace tobi::pgas
