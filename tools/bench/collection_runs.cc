// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/collection_runs.hpp"

#include <fmt/format.h>

#include "tools/bench/hf/hf.hpp"
#include "tools/bench/tce/tce.hpp"

namespace tobi_bench {

namespace {

constexpr struct {
  std::string_view app;
  collection_maker make;
} collection_programs[] = {{"hf", make_hf}, {"tce", make_tce}};

// Collective. One that is not counted right is wrong, whatever it has computed.
bool is_right(tobi::runtime& rt, collection_program& program, const collection_run& r) {
  const bool right = program.right();
  if (r.counted_right || rt.rank() != 0) return right && r.counted_right;
  fmt::print(stderr, "tobi-bench: a task was not executed once in each iteration that it was due in\n");
  return false;
}

}  // namespace

collection_maker find_collection(std::string_view app) {
  for (const auto& p : collection_programs) {
    if (p.app == app) return p.make;
  }
  return nullptr;
}

int run_collection(const arguments& a) {
  tobi::runtime rt(tobi::options{.workers = a.workers});
  bool right = true;
  for (int i = 0; i < a.repeat; ++i) {
    const std::unique_ptr<collection_program> program = find_collection(a.app)(rt, a);
    const collection_run r = run_scheme(rt, *program, a.collection.how, a.collection.iterations, a.verify);
    const bool verified = !a.verify || is_right(rt, *program, r);
    right = right && verified;
    if (rt.rank() == 0) report_collection(a, rt, *program, r, a.verify ? &verified : nullptr);
    rt.barrier();
  }
  return rt.rank() == 0 && !right ? 1 : 0;
}

}  // namespace tobi_bench
