// The comparison. Each measurement is a process of its own, started in turn peer by peer: threads of one runtime never
// spin beside another's, no peer inherits a binding to a core, and what the machine does over time hits all alike.
#include "tools/bench/peers/peers.hpp"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <tobi/runtime.hpp>
#include <vector>

#include "tools/bench/answers.hpp"
#include "tools/bench/apps/variant.hpp"
#include "tools/bench/run.hpp"

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
  const auto begin = std::chrono::steady_clock::now();
  const std::uint64_t result = f();
  return {result, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count()};
}

peers::measured measure_tobi(const arguments& a, bool& speak) {
  tobi::runtime rt(tobi::options{.workers = a.workers});
  speak = rt.rank() == 0;
  parallel::uts_prepare(a.shape);
  tobi::run([] { return parallel::fib(10); });  // the first run touches the memory
  const std::uint64_t n = a.n;
  if (a.app == "fib") return timed([=] { return tobi::run([=] { return parallel::fib(n); }); });
  return timed([] { return tobi::run([] { return parallel::uts(); }).nodes; });
}

peers::measured measure(const arguments& a, bool& speak) {
  const bool fib = a.app == "fib";
  if (a.only == "tobi") return measure_tobi(a, speak);
  if (a.only == "openmp") return fib ? peers::openmp_fib(a.n, a.workers) : peers::openmp_uts(a.shape, a.workers);
#ifdef TOBI_HAVE_TBB
  if (a.only == "onetbb") return fib ? peers::onetbb_fib(a.n, a.workers) : peers::onetbb_uts(a.shape, a.workers);
#endif
  elided::uts_prepare(a.shape);
  return timed([&] { return fib ? elided::fib(a.n) : elided::uts().nodes; });
}

// Forks of the program with tobi::spawn: fib(n) forks fib(n + 1) - 1 times. Every peer's time is divided by the same
// number; for UTS it is the number of nodes.
double spawns(const arguments& a, std::uint64_t result) {
  if (a.app == "uts") return static_cast<double>(result);
  std::uint64_t before = 0;
  std::uint64_t at = 1;
  for (std::uint64_t i = 1; i < a.n + 1; ++i) {
    const std::uint64_t next = before + at;
    before = at;
    at = next;
  }
  return static_cast<double>(at - 1);
}

std::optional<peers::measured> run_child(const arguments& a, const std::string& peer) {
  const std::string what = a.app == "fib" ? "--n " + std::to_string(a.n) : "--tree " + a.tree_name;
  const std::string command = "exec /proc/" + std::to_string(getpid()) + "/exe peers " + a.app + " " + what +
                              " --workers " + std::to_string(a.workers) + " --only " + peer;
  FILE* out = popen(command.c_str(), "r");
  if (out == nullptr) return std::nullopt;
  peers::measured m{};
  unsigned long long result = 0;
  const int fields = std::fscanf(out, "%llu %lf", &result, &m.seconds);
  m.result = result;
  const int status = pclose(out);
  if (fields != 2 || status != 0) return std::nullopt;
  return m;
}

}  // namespace

int run_one_peer(const arguments& a) {
  bool speak = true;
  const peers::measured m = measure(a, speak);
  if (speak) fmt::print("{} {:.9f}\n", m.result, m.seconds);
  return 0;
}

int run_peers(const arguments& asked) {
  arguments a = asked;
  if (a.workers == 0) a.workers = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  std::map<std::string, std::vector<double>> seconds;
  double divisor = 1;
  for (const char* peer : all_peers) {
    if (!is_built(peer))
      fmt::print(stderr, "tobi-bench: this build has no {}: install libtbb-dev and build again.\n", peer);
  }
  for (int i = -a.warmup; i < a.repeat; ++i) {
    for (const char* peer : all_peers) {
      if (!is_built(peer)) continue;
      const auto m = run_child(a, peer);
      if (!m) {
        fmt::print(stderr, "tobi-bench: the run of {} failed.\n", peer);
        return 1;
      }
      if (known_answer(a, m->result, {m->result, 0}) == false && a.app == "fib") {
        fmt::print(stderr, "tobi-bench: {} gave {}, which is wrong: {}\n", peer, m->result, expectation(a));
        return 1;
      }
      if (i < 0) continue;
      divisor = spawns(a, m->result);
      seconds[peer].push_back(m->seconds);
      if (a.json) {
        fmt::print("{}\n", nlohmann::ordered_json{{"app", a.app},
                                                  {"peer", peer},
                                                  {"workers", std::string_view(peer) == "serial" ? 1 : a.workers},
                                                  {"seconds", m->seconds},
                                                  {"ns_per_spawn", m->seconds * 1e9 / divisor}}
                               .dump());
        std::fflush(stdout);
      }
    }
  }
  if (a.json) return 0;
  const auto median = [](std::vector<double> v) {
    std::sort(v.begin(), v.end());
    return v[v.size() / 2];
  };
  const double serial = median(seconds["serial"]);
  fmt::print("{} {}, {} workers, medians of {} interleaved runs\n", a.app, describe(a), a.workers, a.repeat);
  fmt::print("{:<10} {:>12} {:>12} {:>14}\n", "peer", "seconds", a.app == "fib" ? "ns/spawn" : "ns/node",
             "time / serial");
  for (const char* peer : all_peers) {
    if (!is_built(peer)) continue;
    const double s = median(seconds[peer]);
    fmt::print("{:<10} {:>12.5f} {:>12.3f} {:>14.3f}\n", peer, s, s * 1e9 / divisor, s / serial);
  }
  return 0;
}

}  // namespace tobi_bench
