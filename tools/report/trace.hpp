// SPDX-License-Identifier: Apache-2.0
// A file of TOBI_TRACE (libcore/trace/trace_file.hpp has the format), read line by line and checked: what is not whole,
// or does not agree with itself, is refused with one sentence.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace tobi_report {

/// What is wrong with an input, as one sentence.
struct bad_input : std::runtime_error {
  using std::runtime_error::runtime_error;
};

using ns = std::int64_t;  // since the start of the job

struct interval {
  ns begin = 0, end = 0;
};

/// What a worker does in a run, at each moment one of them.
enum class doing : std::uint8_t {
  computing,
  fetching,      // waits for bytes of global memory
  writing_back,  // sends its own home
  awaiting,      // waits for the release of another worker
  updating,      // waits until numbers of others are changed
  other_wait,    // in a task, waits for the fabric otherwise, as for frees
  switching,     // puts a task aside, or gets it back
  stealing,      // with success
  idle
};
inline constexpr std::size_t doings = 9;

/// A part of a worker's time; those of one worker are in order and do not overlap.
struct piece {
  interval when;
  doing what = doing::idle;
};

/// Bytes of global memory that came or went.
struct transfer {
  ns at = 0;
  std::uint64_t bytes = 0;
  bool home = false;  // were written back
};

/// The program has begun a phase.
struct phase_mark {
  ns at = 0;
  std::string name;
};

/// Bytes that were fetched for a line of the program.
struct fetch_site {
  std::string place;
  std::uint64_t pieces = 0, bytes = 0, waited_ns = 0;
};

struct steal {
  int thief = 0, victim = 0;
  bool ok = false;
  ns begin = 0, end = 0;
  std::uint64_t bytes = 0;
  std::uint64_t attempts = 1;
};

/// A join that had to wait: it can go on, or does.
struct join_event {
  ns at = 0;
  std::uint64_t join = 0;
  bool resumed = false;
};

struct phase_sum {
  std::string name;
  double ns = 0;
  std::uint64_t steals = 0;  // in which it came
};

struct rank_facts {
  int node = 0;
  std::uint64_t events = 0, lost = 0;
  std::int64_t clock_offset_ns = 0;
  std::uint64_t clock_error_ns = 0;
  std::uint64_t steals_ok = 0, steals_failed = 0, outstanding_joins = 0, published = 0, waits = 0;
  std::uint64_t checkouts = 0, hits = 0, fetched_bytes = 0, written_bytes = 0;  // since the job began
  std::uint64_t contexts_stolen = 0;  // lists of ready tasks, taken from another worker
  std::uint64_t contexts_seen = 0;    // in the file
  double waited_ns = 0;               // in the file
};

struct trace {
  std::string file, transport, sched, deque;
  std::vector<rank_facts> ranks;
  std::vector<std::vector<interval>> tasks;  // of each worker, in order
  std::vector<std::vector<interval>> runs;
  std::vector<steal> steals;
  std::vector<join_event> joins;  // in order
  std::vector<phase_sum> phases;
  std::vector<std::vector<piece>> time;  // of each worker
  std::uint64_t updates = 0;             // for which a worker waited, and how many numbers they changed
  std::uint64_t updated_numbers = 0;
  std::vector<transfer> transfers;  // by time
  std::vector<phase_mark> marks;    // by time
  std::vector<fetch_site> sites;

  [[nodiscard]] std::uint64_t lost() const {
    std::uint64_t sum = 0;
    for (const rank_facts& r : ranks) sum += r.lost;
    return sum;
  }
};

/// Whether FILE's first line is that of a trace. Throws bad_input when it cannot be read or is empty.
bool looks_like_trace(const std::string& file);
/// Throws bad_input.
trace read_trace(const std::string& file);

}  // namespace tobi_report
