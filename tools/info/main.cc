// tobi-info: what is here, what it can do, and which settings are in force. Everything is gathered as JSON objects
// first, so that the lines for programs and the tables for people cannot differ.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <vector>

#include "arch/clock.hpp"
#include "arch/pages.hpp"
#include "arch/topology.hpp"
#include "libcore/base/log.hpp"
#include "libcore/base/settings.hpp"
#include "transports/transport.hpp"

namespace {

namespace arch = tobi::arch;
namespace base = tobi::base;
namespace transports = tobi::transports;
using json = nlohmann::ordered_json;

// --- gathering ----------------------------------------------------------------------------------------

/// The job that a program started here would be.
struct job_here {
  int workers;
  std::string transport;
};

job_here read_job() {
  const base::settings in_force = base::read_settings();
  job_here job{in_force.workers, in_force.transport};
  const int cores = arch::worker_cores();
  if (job.workers == 0) {
    job.workers = cores;
  } else if (const std::string why = arch::too_many_workers(job.workers, cores, 0); !why.empty()) {
    base::fatal(why, base::exit_usage);
  }
  std::string names = "auto";
  for (const transports::registry_entry& entry : transports::registry()) names.append(", ").append(entry.name);
  if ((", " + names + ",").find(", " + job.transport + ",") == std::string::npos) {
    base::fatal("TOBI_TRANSPORT=" + job.transport + " is not one of " + names + ".", base::exit_usage);
  }
  return job;
}

std::string host() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

// "unlimited" is no number: null.
json limit_json(std::uint64_t bytes) { return bytes == arch::unlimited ? json(nullptr) : json(bytes); }

json machine_json(const job_here& job) {
  const arch::machine& m = arch::this_machine();
  json cores = json::array();
  for (const arch::core& c : m.cores) {
    cores.push_back({{"cpu", c.os_cpu}, {"core", c.id}, {"l3", c.l3}, {"numa", c.numa}, {"package", c.package}});
  }
  return {{"kind", "machine"},
          {"host", host()},
          {"cpu", m.cpu_model},
          {"cores_usable", m.cores.size()},
          {"cores_total", m.cores_total},
          {"cpu_quota", m.cpu_quota > 0 ? json(m.cpu_quota) : json(nullptr)},
          {"workers", job.workers},
          {"cores", cores},
          {"topology_error", m.error},
          {"counter_mhz", 1000 / arch::ns_per_cycle()},
          {"memory_bytes", m.memory_bytes},
          {"memory_available_bytes", limit_json(arch::available_memory())}};
}

json pages_json() {
  const arch::page_facts p = arch::read_pages();
  json huge = json::array();
  for (const arch::huge_pages& h : p.huge) {
    huge.push_back({{"bytes", h.page_bytes}, {"total", h.total}, {"free", h.free}, {"memfd", h.memfd}});
  }
  return {{"kind", "pages"},
          {"page_bytes", p.page_bytes},
          {"huge", huge},
          {"transparent", p.transparent},
          {"transparent_shared", p.transparent_shared},
          {"locked_limit_bytes", limit_json(p.locked_limit)},
          {"locked_limit_hard_bytes", limit_json(p.locked_limit_hard)}};
}

json capabilities_json(const transports::capabilities& c) {
  const std::array<const char*, 3> scopes{"none", "domain", "host"};
  return {{"put_notify", c.put_notify},
          {"notify_ordered", c.notify_ordered},
          {"fetch_add", c.fetch_add},
          {"compare_swap", c.compare_swap},
          {"passive_rma", c.passive_rma},
          {"passive_amo", c.passive_amo},
          {"needs_progress", c.needs_progress},
          {"direct_map", c.direct_map},
          {"reg_any_va", c.reg_any_va},
          {"chain", c.chain},
          {"wait_fd", c.wait_fd},
          {"peer_errors", c.peer_errors},
          {"amo_scope", scopes[static_cast<std::size_t>(c.scope)]},
          {"chain_max", c.chain_max},
          {"inline_max", c.inline_max},
          {"put_max", c.put_max},
          {"msg_max", c.msg_max},
          {"alignment", c.alignment}};
}

// Each transport is asked about the job that would run here. One that serves only a lone worker is asked about that
// too, since its capabilities are of interest all the same.
std::vector<json> transports_json(const job_here& job) {
  std::vector<json> lines;
  bool chosen = false;
  for (const transports::registry_entry& entry : transports::registry()) {
    transports::context where{0, job.workers, {}, base::read_settings()};
    const std::string why_not = entry.unusable(where);
    const bool wanted = job.transport == "auto" ? entry.automatic : job.transport == entry.name;
    const bool takes_it = why_not.empty() && wanted && !chosen;
    chosen = chosen || takes_it;
    json line{{"kind", "transport"}, {"name", entry.name},     {"summary", entry.summary}, {"usable", why_not.empty()},
              {"why_not", why_not},  {"workers", job.workers}, {"chosen", takes_it},       {"capabilities", json()}};
    if (!why_not.empty()) where.size = 1;
    if (entry.unusable(where).empty()) line["capabilities"] = capabilities_json(entry.create(where)->caps());
    lines.push_back(line);
  }
  return lines;
}

json setting_json(const base::setting_row& r) {
  std::string choices(r.choices);
  if (r.name == "TOBI_TRANSPORT") {
    choices = "auto";
    for (const transports::registry_entry& entry : transports::registry()) choices.append("|").append(entry.name);
  }
  return {{"kind", "setting"},          {"name", r.name},   {"type", r.type},     {"choices", choices},
          {"default", r.default_value}, {"value", r.value}, {"source", r.source}, {"help", r.help}};
}

// --- for people ---------------------------------------------------------------------------------------

std::string text(const json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }
std::string text_or(const json& value, const char* otherwise) {
  const bool nothing = value.is_null() || (value.is_string() && value.get<std::string>().empty());
  return nothing ? otherwise : text(value);
}
void print_row(std::string_view name, const std::string& value) { fmt::print("  {:<16} {}\n", name, value); }

std::string bytes(const json& value) {
  if (value.is_null()) return "unlimited";
  const auto n = value.get<std::uint64_t>();
  // Amounts of memory are seldom round: one decimal of a gigabyte tells more than the exact number.
  if (n >= 1u << 30 && n % (1u << 30) != 0) return fmt::format("{:.1f}G", static_cast<double>(n) / (1u << 30));
  return base::format_size(n >= 1u << 20 ? n >> 20 << 20 : n);
}

// Cores that share a cache are neighbours for thieves: one line each.
void print_cores(const json& cores) {
  std::map<std::array<int, 3>, std::string> groups;
  for (const json& c : cores) {
    const std::array<int, 3> group{c["package"].get<int>(), c["numa"].get<int>(), c["l3"].get<int>()};
    groups[group] += " " + text(c["cpu"]);
  }
  const auto id = [](const char* name, int n) { return std::string(name) + " " + (n < 0 ? "-" : std::to_string(n)); };
  for (const auto& [group, cpus] : groups) {
    fmt::print("    {}, {}, {}: cpu{}\n", id("package", group[0]), id("NUMA node", group[1]), id("L3", group[2]), cpus);
  }
}

void print_machine(const json& m) {
  fmt::print("machine\n");
  print_row("host", text(m["host"]));
  print_row("processor", text_or(m["cpu"], "unknown"));
  print_row("cores", text(m["cores_usable"]) + " usable of " + text(m["cores_total"]));
  print_cores(m["cores"]);
  if (!text(m["topology_error"]).empty()) {
    print_row("topology", text(m["topology_error"]) + "; every cpu counts as a core, and none is near another");
  }
  print_row("quota of time",
            m["cpu_quota"].is_null() ? "none" : fmt::format("{:.2f} cores", m["cpu_quota"].get<double>()));
  print_row("workers of a job", text(m["workers"]));
  print_row("cycle counter", fmt::format("{:.1f} MHz", m["counter_mhz"].get<double>()));
  print_row("memory", bytes(m["memory_bytes"]) + ", " + bytes(m["memory_available_bytes"]) + " available");
}

void print_pages(const json& p) {
  print_row("pages", bytes(p["page_bytes"]));
  for (const json& h : p["huge"]) {
    print_row("huge pages",
              fmt::format("{}: {} free of {}; {}", bytes(h["bytes"]), text(h["free"]), text(h["total"]),
                          h["memfd"].get<bool>() ? "memory files can have them" : "memory files cannot have them now"));
  }
  print_row("transparent",
            text_or(p["transparent"], "none") + "; for memory files: " + text_or(p["transparent_shared"], "none"));
  print_row("locked memory",
            bytes(p["locked_limit_bytes"]) + " (ulimit -l), can be raised to " + bytes(p["locked_limit_hard_bytes"]));
}

void print_transport(const json& t) {
  fmt::print("  {:<10} {}\n", text(t["name"]), text(t["summary"]));
  const std::string workers = text(t["workers"]);
  const std::string of = "a job of " + workers + (workers == "1" ? " worker" : " workers");
  if (t["chosen"].get<bool>()) {
    fmt::print("  {:<10} usable, and chosen for {}\n", "", of);
  } else if (t["usable"].get<bool>()) {
    fmt::print("  {:<10} usable, not chosen\n", "");
  } else {
    fmt::print("  {:<10} not usable for {}: {}\n", "", of, text(t["why_not"]));
  }
  std::string can;
  std::string limits;
  for (const auto& [name, value] : t["capabilities"].items()) {
    if (!value.is_boolean()) {
      limits += " " + name + "=" + text(value);
    } else if (value.get<bool>()) {
      can += " " + name;
    }
  }
  if (!limits.empty()) fmt::print("  {:<10} can:{}\n  {:<10} limits:{}\n", "", can, "", limits);
}

void print_setting(const json& s) {
  fmt::print("  {:<20} {:<12} {:<12} {}\n", text(s["name"]), text(s["value"]), text(s["source"]), text(s["choices"]));
  fmt::print("  {:<20} {} (default: {})\n", "", text(s["help"]), text(s["default"]));
}

void print_for_people(const std::vector<json>& lines) {
  const std::map<std::string, std::pair<const char*, void (*)(const json&)>> kinds{
      {"version",
       {nullptr, [](const json& v) { fmt::print("Tobiuo {}, {}\n\n", text(v["version"]), text(v["architecture"])); }}},
      {"machine", {nullptr, print_machine}},
      {"pages", {nullptr, print_pages}},
      {"transport", {"transports", print_transport}},
      {"setting", {"settings: value in force, its source, good values", print_setting}}};
  std::string last;
  for (const json& line : lines) {
    const std::string kind = text(line["kind"]);
    const auto& [title, print] = kinds.at(kind);
    if (kind != last && title != nullptr) fmt::print("{}{}\n", last.empty() ? "" : "\n", title);
    last = kind;
    print(line);
  }
}

constexpr const char* architecture =
#if defined(__x86_64__)
    "x86-64";
#else
    "AArch64";
#endif

}  // namespace

int main(int argc, char** argv) {
  bool only_settings = false;
  bool as_json = false;
  CLI::App app("What Tobiuo finds here: the machine, the transports, the settings.", "tobi-info");
  app.add_flag("--settings", only_settings, "only the table of settings")->disable_flag_override();
  app.add_flag("--json", as_json, "one JSON object a line")->disable_flag_override();
  app.set_version_flag("--version", TOBI_VERSION);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {
    return app.exit(e);
  } catch (const CLI::ExtrasError&) {
    const std::string what = app.remaining().empty() ? "this" : app.remaining().front();
    base::fatal("tobi-info does not know " + what + "; tobi-info --help lists its options.", base::exit_usage);
  } catch (const CLI::ParseError& e) {
    base::fatal("tobi-info: " + std::string(e.what()) + "; tobi-info --help lists its options.", base::exit_usage);
  }

  const job_here job = read_job();
  std::vector<json> lines;
  if (!only_settings) {
    lines.push_back({{"kind", "version"}, {"version", TOBI_VERSION}, {"architecture", architecture}});
    lines.push_back(machine_json(job));
    lines.push_back(pages_json());
    for (json& line : transports_json(job)) lines.push_back(std::move(line));
  }
  for (const base::setting_row& row : base::settings_table()) lines.push_back(setting_json(row));
  bool written = true;
  try {  // fmt throws as soon as the buffer cannot be emptied
    if (as_json) {
      for (const json& line : lines) fmt::print("{}\n", line.dump(-1, ' ', false, json::error_handler_t::replace));
    } else {
      print_for_people(lines);
    }
  } catch (const std::system_error&) {
    written = false;
  }
  if (std::fflush(stdout) != 0 || !written)
    base::fatal("tobi-info could not write all of its output.", base::exit_failure);
  return 0;
}
