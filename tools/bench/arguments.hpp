// SPDX-License-Identifier: Apache-2.0
// What the user asked tobi-bench for. Parsed and checked before any process is forked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tools/bench/apps/memory_program.hpp"
#include "tools/bench/apps/tree.hpp"
#include "tools/bench/apps/variant.hpp"
#include "tools/bench/collection_schemes.hpp"

namespace tobi_bench {

struct fib_options {
  std::uint64_t n = 35;
};
struct btc_options {
  std::uint64_t depth = 20;
  std::uint64_t iter = 1;
};
struct nqueens_options {
  std::uint64_t n = 12;
  std::uint64_t cutoff = 0;  // rows at the end that make no tasks
};
/// Of uts and uts-mem.
struct tree_options {
  std::string name = "T1";  // empty: own flags
  tree shape;
};
/// Of pfor and recpfor.
struct loop_options {
  std::uint64_t n = 1024;  // iterations
  std::uint64_t k = 5;     // loops
  double m = 10;           // microseconds per iteration
  bool sleeps = false;     // and does nothing else
  iteration one;           // what takes so long; see calibrate()
};
struct lcs_options {
  std::uint64_t n = 8192;  // bytes of each string
  std::uint64_t c = 512;   // side of the blocks that are not split
};
struct cilksort_options {
  std::uint64_t n = 1'000'000;   // elements
  std::uint64_t cutoff = 16384;  // elements of a leaf
  std::uint64_t chunk = 0;       // bytes dealt to a worker at a time; 0: equal parts
  cilksort_shape shape = cilksort_shape::pairs;
};

struct frames_options {
  std::uint64_t n = 27;
};
struct fork_cost_options {
  std::uint64_t forks = 1'000'000;
};
struct space_options {
  std::uint64_t iso_stack = 16384;  // bytes of a thread's stack under iso-address
};
struct breakdown_options {
  std::uint64_t pairs = 20'000;
};
struct ramp_options {
  std::string shape = "all";
  double leaf_s = 0.05;
  std::uint64_t leaves = 0;  // 0: as many as workers
  bool busy = false;         // else they sleep
};
/// Of lb-synthetic. The spread is the one that gives the two imbalances that the paper names, of 252 % on 2400 cores
/// and of 691 % on 38,400 with n and m of 4 (section 7.3): 253 % and 675 %.
struct lb_options {
  std::vector<std::uint32_t> cores{2400, 4800, 9600, 19200, 38400};
  std::vector<std::uint32_t> strides{4};
  std::vector<std::uint32_t> favours{4};
  std::uint64_t tasks = 213'000;
  std::uint64_t tasks_per_core = 0;  // 0: `tasks` of all
  double spread = 0.5;
  std::uint64_t seed = 1;
  std::string balancer = "both";
  std::uint32_t branching = 3;
  double c = 1.003;
  double d = 1.003;
  unsigned bins = 16;
  double message_us = 1;
  double gbytes = 5;
  std::uint64_t task_bytes = 64;
};
struct peers_options {
  std::string only;  // run this one peer and print its seconds (the child process of a measurement)
};

/// Of all programs over task collections.
struct collection_options {
  scheme how = scheme::steal_retentive;
  int iterations = 20;  // behind iteration 0, at most
};
struct hf_options {
  std::string molecule = "be";
  std::string basis;  // empty: what is usual for the molecule
  std::string layout = "chain";
  int atoms = 80;
  int tile = 12;
  double threshold = 1e-10;
};
struct tce_options {
  std::vector<std::size_t> blocks{24, 18, 10, 21};  // values of i, j, k and l in each spatial block
  std::vector<std::size_t> inner{10, 12, 10, 10};   // of a and b
  std::size_t tile = 10;                            // values of an index along a tile
  std::uint64_t seed = 1;
};

/// What is run, a program, a measurement, a program over a collection or a comparison of peers, and how. Behind that, a
/// struct for each subcommand.
struct arguments {
  enum class kind : std::uint8_t { program, measure, collection, peers };

  std::string app;  // the subcommand's name
  kind what = kind::program;
  int workers = 0;  // 0: the runtime decides
  int repeat = 0;   // 0: 1 of a program, 5 of a measurement
  int warmup = 0;
  bool serial = false;
  bool verify = false;
  bool json = false;
  bool progress = false;
  bool efficiency = false;

  fib_options fib;
  btc_options btc;
  nqueens_options nqueens;
  tree_options tree;
  loop_options loop;
  lcs_options lcs;
  cilksort_options cilksort;
  gups_options gups;
  stream_options stream;
  stencil_options stencil;
  graph_options graph;
  fmm_options fmm;
  frames_options frames;
  fork_cost_options fork_cost;
  space_options space;
  breakdown_options breakdown;
  ramp_options ramp;
  collection_options collection;
  hf_options hf;
  tce_options tce;
  lb_options lb;
  peers_options peers;
};

/// Never returns on a bad argument: one sentence on standard error, status 2.
arguments parse(int argc, char** argv);

/// "n=35", "tree=T1": how a run is named in tables and JSON.
std::string describe(const arguments& a);

}  // namespace tobi_bench
