// SPDX-License-Identifier: Apache-2.0
// Memory (uni-address paper, section 5 and table 4): how much of its stack region a worker ever used, how much address
// space it reserved for it, and what iso-address would have to reserve in every process: a stack of its own for each
// thread that may be alive anywhere in the job, because none may have another's addresses.
#include <fmt/format.h>

#include <cstdio>
#include <iterator>
#include <nlohmann/json.hpp>
#include <tobi/runtime.hpp>
#include <tobi/task.hpp>
#include <vector>

#include "tools/bench/apps/variant.hpp"
#include "tools/bench/measures.hpp"
#include "tools/bench/trees.hpp"

namespace tobi_bench {

namespace {

// Bytes of the mapping that ADDRESS lies in, as the kernel has it.
std::uint64_t mapping_of(std::uint64_t address) {
  std::FILE* maps = std::fopen("/proc/self/maps", "r");
  if (maps == nullptr) return 0;
  unsigned long low = 0;
  unsigned long high = 0;
  std::uint64_t bytes = 0;
  char line[512];
  while (std::fgets(line, sizeof line, maps) != nullptr) {
    if (std::sscanf(line, "%lx-%lx", &low, &high) == 2 && low <= address && address < high) bytes = high - low;
  }
  std::fclose(maps);
  return bytes;
}

// Threads of one chain of parents that are alive at once: levels of the tree, each with its children forked in a row.
struct measured_program {
  const char* name;
  std::uint64_t threads;
  std::uint64_t (*run)();
};

constexpr std::uint64_t depth = 20;
constexpr std::uint64_t queens = 11;
const measured_program all_programs[] = {
    {"btc --depth 20", depth + 1, [] { return tobi::run([] { return parallel::btc(depth, 1); }); }},
    {"btc --depth 10 --iter 2", 11, [] { return tobi::run([] { return parallel::btc(10, 2); }); }},
    {"uts --tree T1", 11, [] { return tobi::run([] { return parallel::uts().nodes; }); }},
    {"nqueens --n 11", queens* queens, [] { return tobi::run([] { return parallel::nqueens(queens, 0); }); }},
};

// A spine of 38 levels, the depth of the paper's largest binary tree, whose 2^39 tasks nobody waits for here: what is
// on a stack at once is a chain of parents, so a tree whose other children are leaves uses as much.
std::uint64_t spine(std::uint64_t levels) {
  if (levels == 0) return 1;
  auto left = tobi::spawn([=] { return spine(levels - 1); });
  auto right = tobi::spawn([] { return spine(0); });
  return 1 + left.join() + right.join();
}
constexpr std::uint64_t spine_levels = 38;

}  // namespace

int measure_space(const arguments& a) {
  tobi::runtime rt(tobi::options{.workers = a.workers});
  const named_tree* t1 = find_tree("T1");
  parallel::uts_prepare(t1->shape);
  const std::uint64_t somewhere = tobi::run([] {
    const auto frame = reinterpret_cast<std::uint64_t>(__builtin_frame_address(0));
    return frame;
  });
  const std::uint64_t reserved = mapping_of(somewhere);
  if (rt.rank() == 0 && !a.json) {
    fmt::print("space: {} workers; the region of the task stacks has {} bytes of addresses in each\n", rt.size(),
               reserved);
    fmt::print("{:>28}{:>16}{:>14}{:>22}\n", "", "result", "peak stack", "iso-address reserves");
  }
  // What a worker has ever used of its region stays used: the smallest program comes first.
  const measured_program chain{"btc, a chain of depth 38", spine_levels + 1,
                               [] { return tobi::run([] { return spine(spine_levels); }); }};
  std::vector<measured_program> all{chain};
  all.insert(all.end(), std::begin(all_programs), std::end(all_programs));
  for (const measured_program& p : all) {
    const std::uint64_t result = p.run();
    const std::uint64_t peak = rt.stats().peak_stack_bytes;
    if (rt.rank() != 0) continue;
    const std::uint64_t iso = p.threads * static_cast<std::uint64_t>(rt.size()) * a.space.iso_stack;
    if (a.json) {
      fmt::print("{}\n", nlohmann::ordered_json{{"app", "space"},
                                                {"program", p.name},
                                                {"workers", rt.size()},
                                                {"result", result},
                                                {"peak_stack_bytes", peak},
                                                {"reserved_bytes", reserved},
                                                {"iso_threads_per_worker", p.threads},
                                                {"iso_reserved_bytes", iso}}
                             .dump());
    } else {
      fmt::print("{:>28}{:>16}{:>14}{:>22}\n", p.name, result, peak, iso);
    }
  }
  return 0;
}

}  // namespace tobi_bench
