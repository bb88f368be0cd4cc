// SPDX-License-Identifier: Apache-2.0
// TOBI_TRACE for the whole job: puts the clocks of the nodes together, and gathers the rings in one file when it ends.
//
// Rank 0 gathers over the job's own transport: each worker copies a piece of its ring to its registered heap, a
// barrier, rank 0 gets all pieces and writes them, a barrier. So nothing has to be shared between nodes, neither a file
// system nor memory, and rank 0 needs room for one piece. Until then nothing is written: a job that is killed leaves no
// file that looks whole (libcore/job/whole_file.hpp).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "alloc/heap.hpp"
#include "alloc/remote_objects.hpp"
#include "libcore/base/per_rank.hpp"
#include "libcore/net/fabric.hpp"
#include "libcore/trace/clock_fit.hpp"
#include "libcore/trace/trace.hpp"
#include "libcore/trace/trace_file.hpp"

namespace tobi::job {

/// What rank 0 gets of each worker at the end.
struct trace_card {
  std::uint64_t events;
  std::uint64_t lost;
  std::uint64_t piece;  // location of the buffer for pieces of the ring
  trace::event_totals totals;
  global_statistics memory;
};

/// Words of a worker that others put to, at the same offset everywhere.
struct trace_words {
  std::uint64_t ping;       // here, by rank 0
  std::uint64_t answer[2];  // at rank 0: stamp, and then the number of the ping that it is for
  trace_card card;
};

class job_trace {
 public:
  /// What the job lends. `turn(spins)` is one turn of a waiting loop.
  struct parts {
    net::fabric* net;
    alloc::remote_objects* objects;
    trace_words* words;
    std::uint64_t words_at;        // their offset in the heap region
    base::per_rank<int> clock_of;  // of each rank: the rank whose clock it reads, the first one of its node
    base::per_rank<int> nodes;
    std::function<void()> barrier;
    std::function<std::uint64_t(std::uint64_t)> most_of_all;  // a barrier, too
    std::function<void(unsigned)> turn;
  };

  /// Collective. Rank 0 has called whole_file::check.
  job_trace(std::string file, std::size_t ring_bytes, parts lent);
  /// Stops recording.
  ~job_trace();
  job_trace(const job_trace&) = delete;
  job_trace& operator=(const job_trace&) = delete;

  /// Collective, outside of runs: measures the clocks again and has rank 0 write the file. Fatal, one sentence, when
  /// that fails.
  /// FACTS, of the job: what this does not find out itself. MEMORY: of this worker.
  void write(trace::trace_facts facts, const global_statistics& memory);

 private:
  base::per_rank<trace::clock_offset> measure_clocks();
  void answer_pings();
  trace::clock_offset ping(int rank);

  std::string file_;
  parts lent_;
  trace::tracer tracer_;
  std::uint64_t begin_ns_ = 0;
  std::uint64_t pings_ = 0;  // sent to or returned by this worker so far
  base::per_rank<trace::clock_offset> at_start_;
};

}  // namespace tobi::job
