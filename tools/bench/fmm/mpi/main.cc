// SPDX-License-Identifier: Apache-2.0
// fmm-mpi: what tobi-bench fmm is compared with. The kernels, the octree and the criterion are the same. What differs
// is what a program of messages has in place of tasks and global memory: a static partition and local essential trees,
// as the MPI program of SC'23 (section 6.4) has them.
#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>

#include "tools/bench/fmm/mpi/direct.hpp"
#include "tools/bench/fmm/mpi/options.hpp"
#include "tools/bench/fmm/mpi/simulation.hpp"

namespace tobi_bench::fmm_mpi {

namespace {

/// A run, of all processes: times are means.
struct report {
  run_times mean;
  double longest_s = 0;  // of a process, without what it waited
  double imbalance =
      0;  // the most work of a process in the last step, over the mean; counted, and so no matter of time
  std::uint64_t cells = 0, pairs = 0, sent_bytes = 0;
  double energy = 0;
  std::optional<fmm_errors> found;

  /// SC'23's table 2.
  [[nodiscard]] double idleness() const { return mean.waiting / mean.seconds; }
  [[nodiscard]] bool is_right(const method& how) const {
    const fmm_errors most = largest_errors(how.order, how.theta);
    return !found || (found->potential <= most.potential && found->force <= most.force);
  }
};

report gather(team& with, const run_times& own) {
  std::vector<double> sums(own.phases.begin(), own.phases.end());
  sums.insert(sums.end(), {own.seconds, own.waiting, static_cast<double>(own.computed.cells),
                           static_cast<double>(own.computed.bodies), static_cast<double>(own.sent_bytes), own.work});
  std::vector<double> most{own.seconds - own.waiting, own.work};
  with.reduce_all(sums, MPI_SUM);
  with.reduce_all(most, MPI_MAX);
  report r;
  const std::size_t phases = own.phases.size();
  for (std::size_t i = 0; i < phases; ++i) r.mean.phases[i] = sums[i] / with.size();
  r.mean.seconds = sums[phases] / with.size();
  r.mean.waiting = sums[phases + 1] / with.size();
  r.longest_s = most[0];
  r.imbalance = sums[phases + 5] == 0.0 ? 1.0 : most[1] * with.size() / sums[phases + 5];
  r.cells = static_cast<std::uint64_t>(sums[phases + 2]);
  r.pairs = static_cast<std::uint64_t>(sums[phases + 3]);
  r.sent_bytes = static_cast<std::uint64_t>(sums[phases + 4]);
  return r;
}

int nodes_of(team& with) {
  std::array<char, MPI_MAX_PROCESSOR_NAME> name{};
  int length = 0;
  MPI_Get_processor_name(name.data(), &length);
  std::set<std::string> names;
  for (const auto& n : with.gather_all(name)) names.insert(n.data());
  return static_cast<int>(names.size());
}

void print_json(const options& o, int ranks, int nodes, const report& r) {
  nlohmann::ordered_json line{{"app", "fmm-mpi"},
                              {"params",
                               {{"n", o.n},
                                {"shape", o.shape_name},
                                {"order", o.how.order},
                                {"theta", o.how.theta},
                                {"ncrit", o.how.ncrit},
                                {"seed", o.seed},
                                {"steps", o.steps},
                                {"balance", o.balance_name}}},
                              {"workers", ranks * o.how.threads},
                              {"processes", ranks},
                              {"nodes", nodes},
                              {"transport", "mpi"},
                              {"seconds", r.mean.seconds}};
  line["cells"] = r.cells;
  line["pairs"] = r.pairs;
  line["energy"] = r.energy;
  line["errors"] = nullptr;
  if (r.found) line["errors"] = {{"potential", r.found->potential}, {"force", r.found->force}};
  line["verified"] = r.found ? nlohmann::ordered_json(r.is_right(o.how)) : nlohmann::ordered_json();
  for (std::size_t i = 0; i < phase_names.size(); ++i) line["phases"][phase_names[i]] = r.mean.phases[i];
  line["phases"]["waiting"] = r.mean.waiting;
  line["idleness"] = r.idleness();
  line["longest_s"] = r.longest_s;
  line["imbalance"] = r.imbalance;
  line["sent_bytes"] = r.sent_bytes;
  fmt::print("{}\n", line.dump());
}

void print_heading(const options& o, int ranks) {
  fmt::print(
      "fmm-mpi n={} shape={} order={} theta={} ncrit={} seed={} steps={} balance={}, {} process{} of {} thread{}\n",
      o.n, o.shape_name, o.how.order, o.how.theta, o.how.ncrit, o.seed, o.steps, o.balance_name, ranks,
      ranks == 1 ? "" : "es", o.how.threads, o.how.threads == 1 ? "" : "s");
  fmt::print("{:>12}", "seconds");
  for (const char* name : phase_names) fmt::print("{:>13}", fmt::format("{} s", name));
  fmt::print("{:>12}{:>10}{:>12}{:>12}{}\n", "waiting s", "idleness", "Mcells", "Mpairs",
             o.check == 0 ? "" : "  potential     force  verified");
}

void print_row(const options& o, const report& r) {
  fmt::print("{:>12.4f}", r.mean.seconds);
  for (const double s : r.mean.phases) fmt::print("{:>13.4f}", s);
  fmt::print("{:>12.4f}{:>9.1f}%{:>12.3f}{:>12.3f}", r.mean.waiting, 100.0 * r.idleness(),
             static_cast<double>(r.cells) / 1e6, static_cast<double>(r.pairs) / 1e6);
  if (r.found) {
    fmt::print("{:>11.1e}{:>10.1e}  {}", r.found->potential, r.found->force, r.is_right(o.how) ? "yes" : "NO");
  }
  fmt::print("\n");
}

/// Returns the program's status.
int run(team& with, const options& asked) {
  const int nodes = nodes_of(with);
  bool is_right = true;
  simulation bodies(with, asked);
  if (with.rank() == 0 && !asked.json) print_heading(asked, with.size());
  for (int i = 0; i < asked.repeat; ++i) {
    report r = gather(with, bodies.run());
    r.energy = energy(with, bodies.bodies());
    if (asked.check > 0) r.found = measured_errors(with, asked, bodies.bodies());
    is_right = is_right && r.is_right(asked.how);
    if (with.rank() != 0) continue;
    asked.json ? print_json(asked, with.size(), nodes, r) : print_row(asked, r);
    std::fflush(stdout);
  }
  if (with.rank() == 0 && std::ferror(stdout) != 0) {
    fmt::print(stderr, "fmm-mpi: not all of the output could be written.\n");
    return 1;
  }
  return is_right ? 0 : 1;
}

}  // namespace

}  // namespace tobi_bench::fmm_mpi

int main(int argc, char** argv) {
  using namespace tobi_bench::fmm_mpi;
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  int status = 0;
  {
    team with(MPI_COMM_WORLD);
    const parsed p = parse(argc, argv);
    if (p.ends) {
      if (with.rank() == 0) std::fputs(p.words.c_str(), p.status == 0 ? stdout : stderr);
      status = p.status;
    } else {
      status = run(with, p.asked);
    }
  }
  MPI_Finalize();
  return status;
}
