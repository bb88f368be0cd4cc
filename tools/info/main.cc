// SPDX-License-Identifier: Apache-2.0
// tobi-info: what is here, what it can do, and which settings are in force.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "bootstrap/bootstrap.hpp"
#include "libcore/base/log.hpp"
#include "tools/info/gather.hpp"
#include "tools/info/hosts.hpp"
#include "tools/info/print.hpp"
#include "tools/info/probe.hpp"
#include "tools/output.hpp"

namespace {

namespace base = tobi::base;
using namespace tobi_info;

constexpr const char* architecture =
#if defined(__x86_64__)
    "x86-64";
#else
    "AArch64";
#endif

struct arguments {
  bool only_settings = false;
  bool json = false;
  bool measure = true;
  std::string probe;  // what this program asks its own children
};

arguments parse(int argc, char** argv) {
  arguments a;
  CLI::App app("What Tobiuo finds here: the machine, the transports, the settings.", "tobi-info");
  app.add_flag("--settings", a.only_settings, "only the table of settings")->disable_flag_override();
  app.add_flag("--json", a.json, "one JSON object per line")->disable_flag_override();
  app.add_flag(
         "--measure,!--no-measure", a.measure,
         "let two processes find out whether each transport is one-sided here (the default); --no-measure: do not")
      ->disable_flag_override();
  app.add_option("--probe", a.probe)->group("");
  app.set_version_flag("--version", TOBI_VERSION);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {
    std::exit(app.exit(e));
  } catch (const CLI::ExtrasError&) {
    const std::string what = app.remaining().empty() ? "this" : app.remaining().front();
    base::fatal("tobi-info does not know " + what + "; tobi-info --help lists its options.", base::exit_usage);
  } catch (const CLI::ParseError& e) {
    base::fatal("tobi-info: " + std::string(e.what()) + "; tobi-info --help lists its options.", base::exit_usage);
  }
  return a;
}

}  // namespace

int main(int argc, char** argv) {
  tobi_tools::must_be_written("tobi-info");
  const arguments a = parse(argc, argv);
  if (!a.probe.empty()) return run_probe(a.probe);
  const job_here job = read_job();
  std::vector<json> lines;
  if (!a.only_settings) {
    lines.push_back({{"kind", "version"}, {"version", TOBI_VERSION}, {"architecture", architecture}});
    lines.push_back(machine_json(job));
    lines.push_back(pages_json());
    for (json& line : bootstraps_json()) lines.push_back(std::move(line));
    for (json& line : transports_json(job, a.measure)) lines.push_back(std::move(line));
    for (json& line : decorators_json(job)) lines.push_back(std::move(line));
  }
  for (const base::setting_row& row : base::settings_table()) lines.push_back(setting_json(row));
  if (const auto processes = tobi::bootstrap::launched_processes(job.settings);
      processes != nullptr && processes->size() > 1) {
    for (json& line : compare_hosts(*processes, lines)) lines.push_back(std::move(line));
    if (processes->rank() != 0) return 0;
  }
  if (a.json) {
    for (const json& line : lines) fmt::print("{}\n", line.dump(-1, ' ', false, json::error_handler_t::replace));
  } else {
    print_for_people(lines);
  }
  return 0;
}
