// SPDX-License-Identifier: Apache-2.0
// The comparison. Each measurement is a process of its own, started in turn peer by peer: threads of one runtime never
// spin next to another's, no peer inherits a binding to a core, and what the machine does over time hits all alike.
#include "tools/bench/peers/peers.hpp"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <tobi/runtime.hpp>
#include <vector>

#include "tools/bench/answers.hpp"
#include "tools/bench/apps/variant.hpp"
#include "tools/bench/deep_stack.hpp"
#include "tools/bench/programs.hpp"
#include "tools/bench/run.hpp"
#include "tools/bench/timing.hpp"
#include "tools/bench/trees.hpp"

namespace tobi_bench {

namespace {

constexpr std::array<const char*, 4> all_peers{"serial", "tobi", "onetbb", "openmp"};

bool is_built(std::string_view peer) {
#ifdef TOBI_HAVE_TBB
  (void)peer;
  return true;
#else
  return peer != "onetbb";
#endif
}

template <class F>
peers::measured timed(F f) {
  std::uint64_t result = 0;
  const double seconds = seconds_of([&] { result = f(); });
  return {result, seconds};
}

struct measurement {
  peers::measured got;
  int workers;
  bool speaks = true;  // of the processes that come here, one prints
};

measurement measure_tobi(const arguments& a) {
  tobi::runtime rt(tobi::options{.workers = a.workers});
  parallel::uts_prepare(a.tree.shape);
  tobi::run([] { return parallel::fib(10); });  // the first run touches the memory
  const std::uint64_t n = a.fib.n;
  const peers::measured m = a.app == "fib" ? timed([=] { return tobi::run([=] { return parallel::fib(n); }); })
                                           : timed([] { return tobi::run([] { return parallel::uts(); }).nodes; });
  return {m, rt.computing(), rt.rank() == 0};
}

measurement measure_serial(const arguments& a) {
  elided::uts_prepare(a.tree.shape);
  measurement m{{}, 1};
  on_deep_stack([&] { m.got = timed([&] { return a.app == "fib" ? elided::fib(a.fib.n) : elided::uts().nodes; }); });
  return m;
}

measurement measure(const arguments& a) {
  const bool fib = a.app == "fib";
  if (a.peers.only == "tobi") return measure_tobi(a);
  if (a.peers.only == "serial") return measure_serial(a);
#ifdef TOBI_HAVE_TBB
  if (a.peers.only == "onetbb")
    return {fib ? peers::onetbb_fib(a.fib.n, a.workers) : peers::onetbb_uts(a.tree.shape, a.workers), a.workers};
#endif
  return {fib ? peers::openmp_fib(a.fib.n, a.workers) : peers::openmp_uts(a.tree.shape, a.workers), a.workers};
}

// Every peer's time is divided by the same number: the forks of the program with tobi::spawn, or the nodes of the tree.
double spawns(const arguments& a, std::uint64_t result) {
  return a.app == "uts" ? static_cast<double>(result) : fib_forks(a.fib.n);
}

// What the process of one measurement said.
struct outcome {
  int status = 1;  // its exit status; 2: it has told the user what was wrong with the request
  peers::measured got{};
  int workers = 0;
};

outcome run_child(const std::string& what, int workers, const std::string& peer) {
  std::string command = fmt::format("exec /proc/{}/exe peers {} --only {}", getpid(), what, peer);
  if (workers > 0) command += fmt::format(" --workers {}", workers);
  FILE* out = popen(command.c_str(), "r");
  if (out == nullptr) return {};
  outcome o;
  unsigned long long result = 0;
  const int fields = std::fscanf(out, "%llu %lf %d", &result, &o.got.seconds, &o.workers);
  o.got.result = result;
  const int ended = pclose(out);
  o.status = WIFEXITED(ended) ? WEXITSTATUS(ended) : 1;
  if (o.status == 0 && fields != 3) o.status = 1;
  return o;
}

bool is_right(const arguments& a, std::uint64_t result) {
  if (a.app == "uts") return result == find_tree(a.tree.name)->nodes;
  return known_answer(right_fib, a, result, {}) == true;
}

void print_line(const arguments& a, std::string_view peer, const outcome& o) {
  fmt::print("{}\n", nlohmann::ordered_json{{"app", a.app},
                                            {"peer", peer},
                                            {"workers", o.workers},
                                            {"seconds", o.got.seconds},
                                            {"ns_per_spawn", o.got.seconds * 1e9 / spawns(a, o.got.result)}}
                         .dump());
  std::fflush(stdout);
}

void print_table(const arguments& a, std::map<std::string, std::vector<double>> seconds, double divisor) {
  const double serial = median(seconds["serial"]);
  const double tobi = median(seconds["tobi"]);
  fmt::print("{} {}, {} worker{} (serial: 1), medians of {} interleaved runs\n", a.app, describe(a), a.workers,
             a.workers == 1 ? "" : "s", a.repeat);
  fmt::print("{:<10}{:>12}{:>12}{:>16}{:>14}\n", "peer", "seconds", a.app == "fib" ? "ns/spawn" : "ns/node",
             "time / serial", "time / tobi");
  for (const char* peer : all_peers) {
    if (!is_built(peer)) continue;
    const double s = median(seconds[peer]);
    fmt::print("{:<10}{:>12.5f}{:>12.3f}{:>16.3f}{:>14.3f}\n", peer, s, s * 1e9 / divisor, s / serial, s / tobi);
  }
}

// Says why a measurement gave nothing, unless its own process did; returns the exit status.
int explain_failure(std::string_view peer, const outcome& o) {
  if (o.status != 2) fmt::print(stderr, "tobi-bench: the run of {} failed with status {}.\n", peer, o.status);
  return o.status == 2 ? 2 : 1;
}

}  // namespace

int run_one_peer(const arguments& a) {
  if (!is_built(a.peers.only)) {
    fmt::print(stderr, "tobi-bench: this build has no {}; install libtbb-dev and build again.\n", a.peers.only);
    return 2;
  }
  measurement m = measure(a);
  if (m.speaks) fmt::print("{} {:.9f} {}\n", m.got.result, m.got.seconds, m.workers);
  return 0;
}

int run_peers(const arguments& asked) {
  arguments a = asked;
  if (a.workers == 0) {  // the runtime decides, and says what is wrong with TOBI_WORKERS if something is
    const outcome o = run_child("fib --n 2", 0, "tobi");
    if (o.status != 0) return explain_failure("tobi", o);
    a.workers = o.workers;
  }
  const std::string what = a.app == "fib" ? fmt::format("fib --n {}", a.fib.n) : "uts --tree " + a.tree.name;
  for (const char* peer : all_peers) {
    if (!is_built(peer))
      fmt::print(stderr, "tobi-bench: this build has no {}; install libtbb-dev and build again.\n", peer);
  }
  std::map<std::string, std::vector<double>> seconds;
  double divisor = 1;
  for (int i = -a.warmup; i < a.repeat; ++i) {
    for (const char* peer : all_peers) {
      if (!is_built(peer)) continue;
      const outcome o = run_child(what, a.workers, peer);
      if (o.status != 0) return explain_failure(peer, o);
      if (!is_right(a, o.got.result)) {
        fmt::print(stderr, "tobi-bench: {} gave {}, which is wrong: {}\n", peer, o.got.result,
                   expectation(program_of(a).right, a));
        return 1;
      }
      if (i < 0) continue;
      divisor = spawns(a, o.got.result);
      seconds[peer].push_back(o.got.seconds);
      if (a.json) print_line(a, peer, o);
    }
  }
  if (!a.json) print_table(a, seconds, divisor);
  return 0;
}

}  // namespace tobi_bench
