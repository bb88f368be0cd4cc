// tobi-bench: the papers' programs as benchmarks, and the same programs on other runtimes.
#include "tools/bench/arguments.hpp"
#include "tools/bench/memory.hpp"
#include "tools/bench/run.hpp"

int main(int argc, char** argv) {
  const tobi_bench::arguments a = tobi_bench::parse(argc, argv);
  if (a.measure) return tobi_bench::run_measure(a);
  if (tobi_bench::is_memory_program(a.app)) return tobi_bench::run_memory_program(a);
  if (!a.peers) return tobi_bench::run_app(a);
  return a.only.empty() ? tobi_bench::run_peers(a) : tobi_bench::run_one_peer(a);
}
