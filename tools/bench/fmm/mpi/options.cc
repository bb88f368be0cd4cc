// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/fmm/mpi/options.hpp"

#include <CLI/CLI.hpp>
#include <limits>
#include <sstream>

#include "tools/command_line.hpp"

namespace tobi_bench::fmm_mpi {

namespace {

void add_options(CLI::App& app, options& o) {
  // A process numbers its bodies by 32 bits.
  constexpr std::uint64_t many = std::numeric_limits<std::uint32_t>::max();
  app.add_option("--n", o.n, "bodies, such as 10M")
      ->capture_default_str()
      ->transform(CLI::AsSizeValue(true))
      ->check(CLI::Range(std::uint64_t{1}, many));
  app.add_option("--shape", o.shape_name, "where they are")
      ->capture_default_str()
      ->check(CLI::IsMember({"cube", "sphere", "plummer"}));
  app.add_option("--order", o.how.order, "terms of an expansion: P")
      ->capture_default_str()
      ->check(CLI::Range(1u, laplace::max_order));
  app.add_option("--theta", o.how.theta, "two cells are far if theta times their distance is over the sum of radii")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1.0));
  app.add_option("--ncrit", o.how.ncrit, "the most bodies of a leaf")
      ->capture_default_str()
      ->check(CLI::Range(std::uint32_t{1}, std::uint32_t{1} << 20));
  app.add_option("--seed", o.seed, "of the bodies")->capture_default_str();
  app.add_option("--steps", o.steps, "time steps, of which each computes all fields")
      ->capture_default_str()
      ->check(CLI::Range(1, 1'000'000));
  app.add_option("--balance", o.balance_name, "what each process has the same of: bodies, or work of the step before")
      ->capture_default_str()
      ->check(CLI::IsMember({"count", "work"}));
  app.add_option("--threads", o.how.threads, "OpenMP's, of each process")
      ->capture_default_str()
      ->check(CLI::Range(1, 1024));
  app.add_option("--check", o.check, "compare the fields of so many bodies with sums over all pairs")
      ->transform(CLI::AsSizeValue(true))
      ->check(CLI::Range(std::uint64_t{0}, many));
  app.add_option("--repeat", o.repeat, "run so often")->capture_default_str()->check(CLI::Range(1, 1000));
  app.add_flag("--json", o.json, "one JSON object per run");
}

}  // namespace

parsed parse(int argc, char** argv) {
  parsed p;
  CLI::App app(
      "The fast multipole method of tobi-bench fmm as a program of MPI: a static partition, and local essential trees.",
      "fmm-mpi");
  options& o = p.asked;
  add_options(app, o);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {
    std::ostringstream text;
    app.exit(e, text, text);
    return {{}, true, 0, text.str()};
  } catch (const CLI::ParseError& e) {
    return {{}, true, 2, "fmm-mpi: " + tobi_tools::sentence_of(e) + " (fmm-mpi --help says more)\n"};
  }
  o.shape = o.shape_name == "cube"     ? particle_shape::cube
            : o.shape_name == "sphere" ? particle_shape::sphere
                                       : particle_shape::plummer;
  o.by = o.balance_name == "work" ? balance::work : balance::count;
  return p;
}

}  // namespace tobi_bench::fmm_mpi
