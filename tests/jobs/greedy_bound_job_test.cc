// SPDX-License-Identifier: Apache-2.0
// soak: compares times with a bound; rendezvous_job_test has the same events without a clock
// What a scheduler promises: a program ends within T1 / P + O(Tinf), whatever its graph. Random graphs of long tasks
// are run on 16 workers, and each must end within the bound of coarse.hpp. GRAPH_SEED=17 runs that graph alone and says
// what it took.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/jobs/in_job.hpp"
#include "tests/jobs/random_graph.hpp"

namespace {

constexpr int workers = 16;

// Known to all workers: mapped before they are forked.
struct board {
  std::atomic<std::uint32_t> leaves{0};
  bool right = false;  // by rank 0, between barriers
  bool late = false;
};
board* shared() {
  static auto* const at =
      new (mmap(nullptr, sizeof(board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) board;
  return at;
}

// Runs the graph of SEED. Says on rank 0 what was wrong, or, if it is to be LOUD, what was measured. All ranks agree on
// the result; true: all is well.
bool keeps_the_bound(tobi::runtime& rt, std::uint64_t seed, bool loud) {
  random_graph::graph& g = random_graph::description;
  g.make(seed);
  const double most = coarse::bound_ms(g.work_ms, g.span_ms, workers);
  board& b = *shared();
  // Again where it was late, and later each time: another program may have had the cores, but a task that nobody can
  // reach is late each time.
  constexpr int attempts = 12;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    if (rt.rank() == 0) b.leaves = 0;
    rt.barrier();
    const double took = coarse::time_ms([&] { tobi::run([count = &b.leaves] { random_graph::run(0, {}, count); }); });
    if (rt.rank() == 0) {
      b.right = b.leaves == g.leaves;
      b.late = took > most;
      if (!b.right) std::fprintf(stderr, "GRAPH_SEED=%lu: %u of %u leaves ran\n", seed, b.leaves.load(), g.leaves);
      if (loud || (b.late && attempt + 1 == attempts))
        std::fprintf(stderr, "GRAPH_SEED=%lu: %u leaves took %.1f ms, %s %.1f (T1 %.1f, Tinf %.1f)\n", seed, g.leaves,
                     took, b.late ? "more than" : "within", most, g.work_ms, g.span_ms);
    }
    rt.barrier();
    if (!b.right || !b.late) return b.right;
    if (attempt >= attempts / 3) coarse::sleep_ms(100.0 * attempt);
  }
  return false;
}

// How many of the graphs [FIRST, FIRST + HOW_MANY) were not right, as exit status, by one job that runs all of them.
void expect_bounds(std::uint64_t first, std::uint64_t how_many, environment env) {
  const char* chosen = std::getenv("GRAPH_SEED");
  if (chosen != nullptr) {
    first = std::strtoull(chosen, nullptr, 10);
    how_many = 1;
  }
  (void)shared();
  const outcome o = in_job(workers, env, [=](tobi::runtime& rt) {
    int wrong = 0;
    for (std::uint64_t seed = first; seed < first + how_many; ++seed)
      wrong += keeps_the_bound(rt, seed, chosen != nullptr) ? 0 : 1;
    return wrong;
  });
  EXPECT_EQ(o.status, 0) << "of " << how_many << " graphs were late or lost leaves:\n" << o.said;
  if (chosen != nullptr) std::fputs(o.said.c_str(), stdout);
}

TEST(greedy_bound, holds_on_one_node) { expect_bounds(1, 100, {{"TOBI_TRANSPORT", "shm"}}); }

TEST(greedy_bound, holds_between_nodes) { expect_bounds(101, 100, {{"TOBI_TRANSPORT", "sim"}, {"TOBI_NODES", "2"}}); }

}  // namespace
