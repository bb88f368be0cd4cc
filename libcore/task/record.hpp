// Where a child and the task that joins it meet when they have lost sight of each other: the thread entry of the
// CLUSTER 2022 paper (figure 4), reduced to one atomic on each side.
//
// `word` is 0 while the child runs and nobody waits. The child ends with compare-and-swap 0 -> done; a task that must
// wait saves itself and does compare-and-swap (what it saw) -> location of its saved context. Whoever comes second sees
// the other: the joiner finds `done` and goes on, the child finds the waiter and resumes it. The paper's joiner first
// puts its context's location and then does fetch-and-add; with the location inside the word that is one operation.
// Several waiters of a future form a list through their contexts.
//
// Invariants: word goes 0 -> waiter* -> done and never back, so each waiter is resumed exactly once: by the one
// compare-and-swap that replaced its location with `done`. The value is written before `done` (same chain, or a
// release). A record is freed by the last join that read it, and nobody reads it later.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tobi::tasks {

inline constexpr std::uint64_t record_done = 1;
inline constexpr std::uint64_t waiter_has_next = 2;  // tag on a waiter's location: another one waits behind it
inline constexpr std::uint64_t location_tags = 15;

/// What the value bytes of a record are.
enum class record_status : std::uint16_t { value, remote_value, error };

struct record {
  std::uint64_t word;
  std::uint64_t consumers;  // joins to come; 0: until the end of the run
  record_status status;
  std::uint16_t completed_by;  // rank: who runs there sees what the task wrote without a fence
  std::uint32_t bytes;
  std::byte value[40];  // status value: the result; else the location of a remote object with it
};
static_assert(sizeof(record) == 64);

/// The head of an evacuated stack; the bytes of [sp, sp + bytes) follow it.
struct alignas(16) image {
  std::uint64_t sp;
  std::uint64_t bytes;
  std::uint64_t die_record;  // where the task that ends at the top of these frames completes
  std::uint64_t next;        // the next waiter of the same record, or 0
};

/// What is kept of an exception until the join. A handle or record that holds one says so by a tag or by its status.
struct failure {
  char type_name[120];
  char message[200];
  std::int32_t rank;
};
inline constexpr std::uint64_t failure_tag = 1;  // in handle::record: the location of a failure, not of a record

}  // namespace tobi::tasks
