// SPDX-License-Identifier: Apache-2.0
// tobi-bench: the papers' programs as benchmarks, and the same programs on other runtimes.
#include "tools/bench/arguments.hpp"
#include "tools/bench/collection_runs.hpp"
#include "tools/bench/run.hpp"
#include "tools/output.hpp"

int main(int argc, char** argv) {
  tobi_tools::must_be_written("tobi-bench");
  const tobi_bench::arguments a = tobi_bench::parse(argc, argv);
  using kind = tobi_bench::arguments::kind;
  if (a.what == kind::measure) return tobi_bench::run_measure(a);
  if (a.what == kind::collection) return tobi_bench::run_collection(a);
  if (a.what == kind::program) return tobi_bench::run_program(a);
  return a.peers.only.empty() ? tobi_bench::run_peers(a) : tobi_bench::run_one_peer(a);
}
