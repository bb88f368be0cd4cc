// SPDX-License-Identifier: Apache-2.0
// What the user asked tobi-perf for. Parsed and checked before any process is started.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/perf/work.hpp"

namespace tobi_perf {

/// The operation that measures all of them, for a cost sheet.
inline constexpr const char* sheet_op = "all";

struct arguments {
  std::string op;
  std::vector<std::uint64_t> sizes;
  std::vector<std::string> transports;
  std::vector<std::uint64_t> windows = {0};  // bw and rate: operations posted at once; 0: as the size says
  std::vector<std::string> loads;            // get, put and amo-faa: for parse_load(); none: one waits for the other
  std::vector<int> cpus;                     // of the ranks of a machine, in turn; none: its cores
  std::uint64_t iterations = 0;              // 0: as many as take some tenths of a second
  std::uint64_t warmup = 100;
  int workers = 0;  // barrier; 0: the runtime decides
  int pairs = 1;    // of processes, which measure at once
  crowd with = crowd::none;
  int ranks = 0;  // of the crowd that work
  bool responder_idle = false;
  bool both_ways = false;  // bw and rate: rank 1 does the same meanwhile
  bool raw = false;        // measure the library's own calls too
  bool best = false;       // and the quickest of them
  bool json = false;
  std::string provenance;  // the first line of --json
  std::string plot;        // the file, or ""
  std::string html;        // all: the page's file, or ""
  std::string samples;     // the file, or ""
  bool histogram = false;
  double duration_s = 0;      // of a row; 0: some tenths of a second
  bool meets = false;         // --listen or --connect
  bool sheet = false;         // rows are for a cost sheet, which wants the parts of a steal too
  bool last_listens = false;  // a child of one of two hosts that have met: the one that connects is rank 0
  int place = 0;              // a child on another host: its rank
  bool child = false;         // this process measures one transport and prints rows for the one that started it
};

/// What rank 0 gives to the others.
[[nodiscard]] std::string to_text(const arguments& a);
void from_text(const std::string& text, arguments& a);

/// Never returns on a bad argument: one sentence on standard error, status 2.
arguments parse(int argc, char** argv);
[[noreturn]] void refuse(const std::string& why);

/// Whether the operation is measured through the public interface, by a program with tasks.
bool uses_runtime(const std::string& op);
/// Without those that serve.
int processes_of(const arguments& a);
/// Whether --size changes it.
bool has_sizes(const std::string& op);

}  // namespace tobi_perf
