// SPDX-License-Identifier: Apache-2.0
// The file of TOBI_TRACE: the JSON of Chrome's trace viewer ("trace event format"), which Perfetto opens. Complete
// events (ph X), each one within its worker's track strictly nested, moments (ph i), and the names of the tracks (ph
// M): nothing has to be matched, so a file that lost its oldest events is still well formed. Behind what goes from one
// worker to another comes an arrow, as two ends (ph s, f): a theft has both, and the news that a task may go on has one
// where it is told and one where the task is in place again.
//
// A node is a process of the viewer, and a worker is a thread of it. Times are microseconds, with three digits behind
// the point, by the clock of rank 0, from the start of the job. One event per line, so that a reader needs no memory
// for the whole:
//
//   {"displayTimeUnit":"ns","otherData":{...},"traceEvents":[
//   {...},
//   {...}
//   ]}
//
// otherData has what the events cannot say: format, version, workers, transport, sched, deque, and for each rank its
// node, how many events it recorded and lost, the clock's offset, drift and bound of error, and the totals that the
// statistics count too. And the places in the program for which bytes of global memory were fetched, over all workers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "libcore/base/per_rank.hpp"
#include "libcore/trace/clock_fit.hpp"
#include "libcore/trace/trace.hpp"
#include "tobi/statistics.hpp"

namespace tobi::trace {

struct trace_rank {
  int node = 0;
  std::uint64_t events = 0;  // in the file
  std::uint64_t lost = 0;    // the oldest, for which the ring had no room
  event_totals totals;
  global_statistics memory;
  clock_line clock;
};

/// A call site and what it is called.
struct named_site {
  std::string name;
  call_site fetched;
};

struct trace_facts {
  std::string transport;
  std::string sched;
  std::string deque;
  std::uint64_t begin_ns = 0;  // of the job, by rank 0's clock
  base::per_rank<trace_rank> ranks;
  std::vector<named_site> sites;
};

/// Appends to TEXT; the caller writes it where it belongs, and clears it, as often as it likes.
class trace_encoder {
 public:
  trace_encoder(std::string& text, const trace_facts& facts) : text_(text), facts_(facts) {}
  void begin();
  void event(int rank, const trace::event& e);
  void end();

 private:
  void line();
  void open(int rank, std::string_view name, char phase, std::uint64_t ns);
  void open_at(int rank, std::string_view name, char phase, double ns);
  [[nodiscard]] double since_begin(int rank, std::uint64_t ns) const;
  void slice(int rank, std::string_view name, std::uint64_t begin, std::uint64_t end);
  void described(int rank, const trace::event& e);
  void arrows(int rank, const trace::event& e);
  void arrow_end(int rank, std::string_view name, char phase, std::string_view id, std::uint64_t of, double ns);

  std::string& text_;
  const trace_facts& facts_;
  bool first_ = true;
  std::uint64_t arrows_ = 0;  // of thefts
};

/// The last line of a file that is whole.
inline constexpr std::string_view trace_last_line = "]}";

}  // namespace tobi::trace
