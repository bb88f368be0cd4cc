// SPDX-License-Identifier: Apache-2.0
// What the user asked tobi-bench for. Parsed and checked before any process is forked.
#pragma once

#include <cstdint>
#include <string>

#include "tools/bench/apps/memory_program.hpp"
#include "tools/bench/apps/tree.hpp"
#include "tools/bench/apps/variant.hpp"

namespace CLI {
class App;
}

namespace tobi_bench {

/// Of ramp.
struct ramp_sizes {
  std::string shape = "all";
  double leaf_s = 0.05;
  std::uint64_t leaves = 0;  // as many as workers
  bool busy = false;         // else they sleep
};

struct arguments {
  std::string app;  // fib, btc, uts, nqueens, pfor, recpfor, lcs, cilksort; those of memory.hpp; or a measurement
  bool peers = false;
  std::string only;  // peers: run this one peer and print its seconds (the child process of a measurement)

  int workers = 0;  // 0: the runtime decides
  int repeat = 1;
  int warmup = 0;
  bool serial = false;
  bool verify = false;
  bool json = false;
  bool progress = false;
  bool efficiency = false;

  bool measure = false;      // frames, fork-cost, space, steal-breakdown, ramp
  std::uint64_t n = 0;       // fib, nqueens; pfor, recpfor: iterations; lcs: bytes; cilksort: elements
  std::uint64_t k = 5;       // pfor, recpfor: loops
  double m = 10;             // pfor, recpfor: microseconds an iteration
  std::uint64_t rounds = 0;  // the same, in rounds of compute()
  std::uint64_t c = 512;     // lcs: side of the blocks that are not split
  std::uint64_t cutoff = 0;  // nqueens: rows at the end that make no tasks; cilksort: elements of a leaf
  std::uint64_t chunk = 0;   // cilksort: bytes dealt to a worker at a time; 0: equal parts
  cilksort_shape shape_of_sort = cilksort_shape::pairs;
  std::uint64_t iso_stack = 0;  // space
  std::uint64_t depth = 0;
  std::uint64_t iter = 1;
  std::string tree_name;  // empty: own flags
  tree shape;
  memory_sizes memory;  // of the programs on global memory
  ramp_sizes ramp;
};

/// Adds the subcommand of ramp, whose values go to A.
CLI::App* add_ramp(CLI::App& app, arguments& a);

/// Never returns on a bad argument: one sentence on standard error, status 2.
arguments parse(int argc, char** argv);

/// "n=35", "tree=T1": how a run is named in tables and JSON.
std::string describe(const arguments& a);

}  // namespace tobi_bench
