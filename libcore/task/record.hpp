// SPDX-License-Identifier: Apache-2.0
// Where a child and the task that joins it meet when they have lost sight of each other: the thread entry of the
// CLUSTER 2022 paper (figure 4), reduced to one atomic on each side.
//
// `word` is 0 while the child runs and nobody waits. The child ends with fetch-and-add of the done bit; a task that
// must wait saves itself and does compare-and-swap (what it saw, without that bit) -> location of its saved context.
// The one that comes second sees the other: the joiner finds the bit and goes on, the child finds the waiter, which its
// own addition has left in the word, and resumes it. The paper's joiner first puts its context's location and then does
// fetch-and-add; with the location inside the word that is one operation. Several waiters of a future form a list
// through their contexts (waiters.hpp).
//
// Invariants: word goes 0 -> waiter* -> done and never back, so each waiter is resumed exactly once: by the one
// fetch-and-add that found no done bit. The value is written before the bit (same chain, or a release). A record is
// freed by the last join that read it, and nobody reads it later.
//
// A second set of the same record adds once more, finds the bit, and ends the job. Until the job has ended others may
// look: two bits count, so that the record is done to them as before, and no third set finds a waiter.
//
// A child that is sent to another node begins a part of a loop there, and its parent has one here. Where both end at
// about the same time, the worker that comes second would have the parent go on: its frames follow from node to node,
// and so do its next loops. So the parent waits for such a child in its worker's own queue (wait_queue.hpp), and the
// record says `sent`, which its maker alone reads.
//
// That is the greedy join. Under the other schedulers no task waits in a record: word goes 0 -> done by a put.
//
// A future's record counts twice, in one word: the claims that its consumers still have, and the readings that are to
// come. A join claims with its first look, in the same chain, so that one too many is found at once and costs no round
// trip; the last reading frees. The memory of a freed record keeps what it said until it is used again, and then has
// another serial number: a join or a set that comes too late finds no claim, `done`, or a number that is not its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "libcore/deque/image.hpp"
#include "libcore/net/location.hpp"

namespace tobi::net {
class fabric;
}

namespace tobi::tasks {

inline constexpr std::uint64_t record_done = 1;  // what a completion adds
inline constexpr std::uint64_t completions = 3;  // where it is counted
inline constexpr std::uint64_t waiter_is_finish =
    8;  // tag on a location: not a task waits but a finish (finish_counts.hpp)
static_assert((completions & deque::one_tree) == 0 && (waiter_is_finish & deque::one_tree) == 0);

[[nodiscard]] constexpr bool is_done(std::uint64_t word) noexcept { return (word & completions) != 0; }

/// What the value bytes of a record are; until it is done, what it was made for.
enum class record_status : std::uint8_t { value, remote_value, error, child, spawned, promised, finishing, sent };
[[nodiscard]] constexpr bool is_result(record_status s) noexcept { return s <= record_status::error; }

struct record {
  std::uint64_t word;
  std::uint64_t shares;  // {claims:32, readings:32} to come; no readings: until the end of the run
  record_status status;
  std::uint8_t unwritten_alike : 4;  // bit i: word i of the value is what `unwritten` is, and is written
  std::uint8_t by_high : 4;          // see by()
  std::uint16_t by_low;
  std::uint32_t serial;   // of a future, among those of its maker; 0: of a task
  std::uint64_t done_ns;  // when it was completed, where that is wanted for the statistics and known, else 0
  std::byte value[32];    // status value: the result; else the location of a remote object with it

  [[nodiscard]] std::uint64_t readings() const noexcept { return shares & 0xffffffffu; }
  /// The rank whose clock done_ns is.
  [[nodiscard]] int by() const noexcept { return by_high << 16 | by_low; }
  void set_by(int rank) noexcept {
    by_high = static_cast<std::uint8_t>(rank >> 16 & 15);
    by_low = static_cast<std::uint16_t>(rank);
  }
  /// Of a large result or a failure: the object that it lies in.
  [[nodiscard]] net::location elsewhere() const noexcept {
    net::location where;
    std::memcpy(&where.word, value, sizeof where.word);
    return where;
  }
  void set_elsewhere(net::location where) noexcept { std::memcpy(value, &where.word, sizeof where.word); }
};
static_assert(sizeof(record) == 64);
static_assert(net::location::rank_bits <= 20, "what by() holds");

// A worker that looks at a record from afar gets all of it at once. A device may read the words of one get, or two gets
// of one chain, in any order, so a word that says done may come with a value from before. The record itself says
// whether it did: no round trip more, and no chain. Each word that the completion writes says something else before it
// than after it. The first one has a status that is no result; those of the value hold `unwritten`, and where a result
// happens to be that, the first one says so. The time alone may come too early, and is 0 then: it is a statistic's. So
// bytes that came too early are known with certainty, not by a checksum that may fit; they are read once more, behind
// the first look, whose word has told that they are there. An aligned word does not tear (the contract), and the record
// was made before anybody knew where it is.
inline constexpr std::uint64_t unwritten = 0x6e6f742079657421;  // "not yet!"
/// A record at HERE, which nobody knows yet.
void make_unwritten(record& here, record_status made_for) noexcept;
/// Before MADE goes to where it was made for.
void seal(record& made) noexcept;
/// Whether what was READ is what a completion has written, all of it.
[[nodiscard]] bool is_written(const record& read) noexcept;

/// Whether the record at WHERE is done; if so INTO is what it says. One round trip where it lies elsewhere; two when it
/// is completed at the very moment of the look.
bool read_if_done(net::fabric& net, net::location where, record& into);
/// INTO was got from WHERE, and its word says done: gets it once more where the rest came too early.
void read_what_is_left(net::fabric& net, net::location where, record& into);
inline constexpr std::uint64_t one_claim = std::uint64_t{1} << 32;

/// "the promise #3 of rank 0, which nobody has set": a record that RANK made, for messages about what waits for it.
std::string describe(const record& what, int rank);
/// Ends the job. A record is completed once; a task's is, by the task: so this is a future's.
[[noreturn]] void set_twice(std::uint32_t serial, int rank);

/// Where the part begins that the completing task writes, before it changes the word.
inline constexpr std::size_t record_head = offsetof(record, status);
inline void fill_record(record& here, const record& made) noexcept {
  std::memcpy(reinterpret_cast<std::byte*>(&here) + record_head, &made.status, sizeof made - record_head);
}

/// What is kept of an exception until the join. A handle or record that holds one says so by a tag or by its status.
struct failure {
  char type_name[120];
  char message[200];
  std::int32_t rank;
  std::uint64_t next;  // of the same finish
};
inline constexpr std::uint64_t failure_tag = 1;  // in handle::record: the location of a failure, not of a record

}  // namespace tobi::tasks
