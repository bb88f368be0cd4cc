// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/run.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <optional>
#include <tobi/runtime.hpp>
#include <vector>

#include "tools/bench/deep_stack.hpp"
#include "tools/bench/progress.hpp"
#include "tools/bench/report.hpp"
#include "tools/bench/timing.hpp"
#include "tools/bench/trees.hpp"

namespace tobi_bench {

std::uint64_t* progress_word = nullptr;

namespace {

// A tree has a known answer, or else a serial search finds it; the others compare what they have in memory.
tree_count search(const tree& t) {
  tree_count found{0, 0};
  std::vector<tree_node> open{tree_root(t)};
  while (!open.empty()) {
    const tree_node n = open.back();
    open.pop_back();
    const auto children = static_cast<std::uint32_t>(tree_children(t, n));
    for (std::uint32_t i = 0; i < children; ++i) open.push_back(tree_child(t, n, i));
    const std::uint64_t nodes = found.nodes + 1;
    if (children == 0) found = tree_count::sum(found, tree_count::leaf(static_cast<std::uint64_t>(n.height)));
    found.nodes = nodes;
  }
  return found;
}

bool right_tree(const arguments& a, const tree_count& found) {
  tree_count right{};
  if (const named_tree* known = find_tree(a.tree.name); known != nullptr) {
    const std::uint64_t leaves = known->leaves != 0 ? known->leaves : found.leaves();
    right = {known->nodes, leaves << tree_count::depth_bits | known->depth};
  } else {
    static const tree_count once = search(a.tree.shape);
    right = once;
  }
  if (found.nodes == right.nodes && found.leaves_and_depth == right.leaves_and_depth) return true;
  fmt::print(stderr, "tobi-bench: uts-mem found {} nodes, {} leaves, depth {}, which is wrong: {}, {}, {} are right\n",
             found.nodes, found.leaves(), found.depth(), right.nodes, right.leaves(), right.depth());
  return false;
}

bool right_memory(const program& what, const arguments& a, const phase_result& wrong) {
  if (wrong.number == 0) return true;
  fmt::print(stderr, "tobi-bench: {} {}: {} elements are not what a serial program makes them\n", a.app,
             what.describe(a), wrong.number);
  return false;
}

// How functions of a program are called: as a root task, or as they are.
struct as_root_task {
  static phase_result call(phase_result (*body)()) {
    return tobi::run([=] { return body(); });
  }
  template <class F>
  static double time(F f) {
    return seconds_of(f);
  }
};
struct as_they_are {
  static phase_result call(phase_result (*body)()) {
    phase_result got;
    on_deep_stack([&] { got = body(); });
    return got;
  }
  template <class F>
  static double time(F f) {
    double seconds = 0;
    on_deep_stack([&] { seconds = seconds_of(f); });
    return seconds;
  }
};

// Nobody watches: of the elision.
struct unwatched {
  void begin(const char*, bool) {}
  void end(bool, run_report&) {}
};

// Phases are watched one by one; a program of tasks is one phase.
template <class How, class Watch>
run_report run_once(const program& what, const variant& which, const arguments& a, Watch&& watch) {
  run_report r;
  if (!what.on_memory()) {
    if (which.fill != nullptr) which.fill();
    watch.begin("tasks", true);
    r.seconds = How::time([&] { r.got = which.run(a); });
    watch.end(true, r);
    if (a.verify && which.is_right != nullptr && !which.is_right()) r.got.result = 0;
    return r;
  }
  for (const memory_phase& phase : which.phases->phases) {
    phase_result found;
    watch.begin(phase.name, phase.counts);
    const double seconds = seconds_of([&] {
      if (phase.before != nullptr) phase.before();
      found = How::call(phase.body);
    });
    watch.end(phase.counts, r);
    const answer got{found.number, {found.number, found.second}};
    r.phases.push_back({phase.name, phase.counts, seconds, what.done(a, got, phase.name)});
    if (!phase.counts) continue;
    r.seconds += seconds;
    r.got = got;
  }
  return r;
}

// Checks one answer; false when it is known and wrong. CALL is for all processes, SPEAKS for the one that says so.
template <class How>
bool accept(const program& what, const variant& which, const arguments& a, run_report& r, bool speaks) {
  if (!a.verify) return true;
  if (what.on_memory()) {
    const auto wrong = which.phases->wrong;
    const phase_result elements = wrong == nullptr ? phase_result{} : How::call(wrong);
    if (speaks) r.verified = wrong == nullptr ? right_tree(a, r.got.tree) : right_memory(what, a, elements);
    return r.verified.value_or(true);
  }
  if (!speaks) return true;
  r.verified = known_answer(what.right, a, r.got.result, r.got.tree);
  if (r.verified.value_or(true)) return true;
  fmt::print(stderr, "tobi-bench: {} {} gave {}, which is wrong: {}\n", a.app, what.describe(a), r.got.result,
             expectation(what.right, a));
  return false;
}

// In every process, before the run.
void prepare(const variant& which, const arguments& a) {
  if (which.prepare != nullptr) which.prepare(a);
}

int run_serially(const program& what, const arguments& a) {
  prepare(what.elided, a);
  const std::optional<ideal> best = what.best == nullptr ? std::nullopt : what.best(a);
  bool right = true;
  for (int i = -a.warmup; i < a.repeat; ++i) {
    run_report r = run_once<as_they_are>(what, what.elided, a, unwatched{});
    r.best = best;
    right = accept<as_they_are>(what, what.elided, a, r, true) && right;
    if (i >= 0) report(what, a, {1, 0, 1, "none", "serial", "none", true}, r, i == 0);
  }
  return right ? 0 : 1;
}

// The elision on rank 0, while the others sleep in the barrier behind it.
bool run_beside(const program& what, const arguments& a, run_report& r) {
  run_report alone = run_once<as_they_are>(what, what.elided, a, unwatched{});
  r.serial_seconds = alone.seconds;
  if (what.on_memory()) return accept<as_they_are>(what, what.elided, a, alone, true);
  if (alone.got.result == r.got.result) return true;
  fmt::print(stderr, "tobi-bench: the serial elision gave {}, the tasks {}\n", alone.got.result, r.got.result);
  return false;
}

// The progress line, and what the runtime counts over the phases that count.
class watched {
 public:
  watched(tobi::runtime& rt, progress& shown, bool by_rank) : rt_(rt), shown_(shown), by_rank_(by_rank) {}

  void begin(const char* phase, bool counts) {
    if (counts && !counting_) rt_.reset_stats();
    counting_ = counts;
    shown_.start(phase);
  }
  void end(bool counts, run_report& r) {
    shown_.stop();
    if (!counts) return;
    // Each one's are got one by one.
    if (rt_.rank() == 0 && by_rank_) r.each_worker.resize(static_cast<std::size_t>(rt_.size()));
    r.stats = rt_.stats(r.each_worker.empty() ? nullptr : r.each_worker.data());
  }
  void next_run() { counting_ = false; }

 private:
  tobi::runtime& rt_;
  progress& shown_;
  bool by_rank_;
  bool counting_ = false;
};

}  // namespace

int run_program(const arguments& asked) {
  arguments a = asked;
  const program& what = program_of(a);
  if (what.is_loop) calibrate(a.loop);
  if (a.serial) return run_serially(what, a);
  const std::optional<ideal> best = what.best == nullptr ? std::nullopt : what.best(a);
  progress shown(a.progress && !a.json, what.on_memory() ? false : what.searches_tree, a);
  tobi::runtime rt(tobi::options{.workers = a.workers});
  progress_word = shown.word(rt.rank());
  prepare(what.with_tasks, a);
  if (a.efficiency && rt.rank() == 0) prepare(what.elided, a);
  const setting where{rt.computing(),
                      rt.size() - rt.computing(),
                      rt.nodes(),
                      std::string(rt.transport_name()),
                      std::string(rt.sched_name()),
                      std::string(rt.deque_name()),
                      rt.local_collection()};

  watched watch(rt, shown, a.json && !what.on_memory());
  bool right = true;
  std::vector<run_report> runs;
  for (int i = -a.warmup; i < a.repeat; ++i) {
    watch.next_run();
    run_report r = run_once<as_root_task>(what, what.with_tasks, a, watch);
    r.best = best;
    right = accept<as_root_task>(what, what.with_tasks, a, r, rt.rank() == 0) && right;
    if (rt.rank() == 0 && i >= 0) {
      if (a.efficiency) {
        shown.start("serial elision");
        right = run_beside(what, a, r) && right;
        shown.stop();
      }
      report(what, a, where, r, i == 0);
      runs.push_back(r);
    }
    rt.barrier();
  }
  if (rt.rank() == 0 && a.efficiency && !a.json && !what.on_memory()) print_summary(what, a, runs, rt.computing());
  return rt.rank() == 0 && !right ? 1 : 0;
}

}  // namespace tobi_bench
