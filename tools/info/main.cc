// tobi-info: what is here, what it can do, and which settings are in force.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "arch/pages.hpp"
#include "arch/topology.hpp"
#include "libcore/base/settings.hpp"
#include "transports/transport.hpp"

namespace {

using json = nlohmann::ordered_json;
using tobi::transports::amo_scope;
using tobi::transports::capabilities;

std::string host() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

json machine_json() {
  const tobi::arch::machine& m = tobi::arch::this_machine();
  const tobi::arch::page_facts p = tobi::arch::read_page_facts();
  json cores = json::array();
  for (const tobi::arch::core& c : m.cores) {
    cores.push_back({{"cpu", c.os_cpu}, {"core", c.id}, {"l3", c.l3}, {"numa", c.numa}, {"package", c.package}});
  }
  return {{"kind", "machine"},
          {"host", host()},
          {"cpu", m.cpu_model},
          {"cores_usable", m.cores.size()},
          {"cores_total", m.cores_total},
          {"cpu_quota", m.cpu_quota},
          {"workers_by_default", tobi::arch::worker_cores()},
          {"cores", cores},
          {"memory_bytes", p.memory_bytes},
          {"memory_available_bytes", p.available_bytes},
          {"page_bytes", p.page_bytes},
          {"huge_page_bytes", p.huge_page_bytes},
          {"huge_pages_free", p.huge_pages_free},
          {"transparent_huge_pages", p.transparent},
          {"locked_memory_limit_bytes", p.locked_limit_bytes}};
}

std::string_view to_string(amo_scope s) {
  return s == amo_scope::none ? "none" : s == amo_scope::domain ? "domain" : "host";
}

json capabilities_json(const capabilities& c) {
  return {{"put_notify", c.put_notify},      {"notify_ordered", c.notify_ordered},
          {"fetch_add", c.fetch_add},        {"compare_swap", c.compare_swap},
          {"amo_scope", to_string(c.scope)}, {"passive_rma", c.passive_rma},
          {"passive_amo", c.passive_amo},    {"direct_map", c.direct_map},
          {"reg_any_va", c.reg_any_va},      {"chain", c.chain},
          {"chain_max", c.chain_max},        {"wait_fd", c.wait_fd},
          {"peer_errors", c.peer_errors},    {"put_max", c.put_max},
          {"alignment", c.alignment}};
}

// A transport is asked about the job that would run here: alone, or on as many workers as the machine has cores for.
json transport_json(const tobi::transports::registry_entry& entry) {
  const int workers = std::max(2, tobi::arch::worker_cores());
  tobi::transports::context where{0, workers, true};
  std::string why_not = entry.unusable(where);
  if (!why_not.empty()) {
    where.size = 1;
    if (entry.unusable(where).empty()) why_not = "usable with one worker only";
  }
  json j{{"kind", "transport"},
         {"name", entry.name},
         {"summary", entry.summary},
         {"usable", why_not.empty()},
         {"why_not", why_not}};
  if (entry.unusable(where).empty()) j["capabilities"] = capabilities_json(entry.create(where)->caps());
  return j;
}

json setting_json(const tobi::base::setting_row& r) {
  return {{"kind", "setting"},          {"name", r.name},   {"type", r.type},     {"choices", r.choices},
          {"default", r.default_value}, {"value", r.value}, {"source", r.source}, {"help", r.help}};
}

void print_machine(const json& m) {
  using tobi::base::format_size;
  fmt::print("machine\n");
  fmt::print("  host             {}\n", m["host"].get<std::string>());
  fmt::print("  cpu              {}\n", m["cpu"].get<std::string>());
  fmt::print("  cores            {} usable of {}", m["cores_usable"].get<int>(), m["cores_total"].get<int>());
  if (m["cpu_quota"].get<double>() > 0) fmt::print(", quota of {:.2f}", m["cpu_quota"].get<double>());
  fmt::print("; {} workers by default\n", m["workers_by_default"].get<int>());
  for (const json& c : m["cores"]) {
    fmt::print("    cpu {:<4} core {:<4} L3 {:<4} NUMA node {:<3} package {}\n", c["cpu"].get<int>(),
               c["core"].get<int>(), c["l3"].get<int>(), c["numa"].get<int>(), c["package"].get<int>());
  }
  fmt::print("  memory           {} MiB, {} MiB available\n", m["memory_bytes"].get<std::uint64_t>() >> 20,
             m["memory_available_bytes"].get<std::uint64_t>() >> 20);
  fmt::print("  pages            {}, huge {} ({} free), transparent: {}\n",
             format_size(m["page_bytes"].get<std::uint64_t>()), format_size(m["huge_page_bytes"].get<std::uint64_t>()),
             m["huge_pages_free"].get<std::uint64_t>(), m["transparent_huge_pages"].get<std::string>());
  const auto locked = m["locked_memory_limit_bytes"].get<std::uint64_t>();
  fmt::print("  locked memory    {}\n\n",
             locked == tobi::arch::unlimited ? "unlimited" : "at most " + format_size(locked) + " (ulimit -l)");
}

void print_transport(const json& t) {
  fmt::print("  {:<8} {:<8} {}\n", t["name"].get<std::string>(), t["usable"].get<bool>() ? "usable" : "no",
             t["summary"].get<std::string>());
  if (!t["usable"].get<bool>()) fmt::print("  {:17} {}\n", "", t["why_not"].get<std::string>());
  if (!t.contains("capabilities")) return;
  std::string text;
  for (const auto& [name, value] : t["capabilities"].items()) {
    if (value.is_boolean()) {
      if (value.get<bool>()) text += " " + name;
    } else if (value.is_string()) {
      text += " " + name + "=" + value.get<std::string>();
    } else {
      text += " " + name + "=" + value.dump();
    }
  }
  fmt::print("  {:17}{}\n", "", text);
}

void print_setting(const json& s) {
  fmt::print("  {:<20} {:<12} {:<12} {}\n", s["name"].get<std::string>(), s["value"].get<std::string>(),
             s["source"].get<std::string>(), s["help"].get<std::string>());
  fmt::print("  {:<20} {} {}, default {}\n", "", s["type"].get<std::string>(), s["choices"].get<std::string>(),
             s["default"].get<std::string>());
}

}  // namespace

int main(int argc, char** argv) {
  bool only_settings = false;
  bool as_json = false;
  CLI::App app("What Tobiuo finds here: the machine, the transports, the settings.", "tobi-info");
  app.add_flag("--settings", only_settings, "only the table of settings");
  app.add_flag("--json", as_json, "one JSON object a line");
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    std::fprintf(stderr, "tobi-info: %s (tobi-info --help says more)\n", e.what());
    return 2;
  }
  std::vector<json> lines;
  if (!only_settings) {
    lines.push_back(machine_json());
    for (const auto& entry : tobi::transports::registry()) lines.push_back(transport_json(entry));
  }
  for (const auto& row : tobi::base::settings_table()) lines.push_back(setting_json(row));
  if (as_json) {
    for (const json& line : lines) fmt::print("{}\n", line.dump());
    return 0;
  }
  std::string section;
  if (!only_settings) fmt::print("Tobiuo {}\n\n", TOBI_VERSION);
  for (const json& line : lines) {
    const auto kind = line["kind"].get<std::string>();
    if (kind == "machine") {
      print_machine(line);
      continue;
    }
    if (kind != section)
      fmt::print("{}{}\n", section.empty() ? "" : "\n",
                 kind == "transport" ? "transports" : "settings: value, source, meaning");
    section = kind;
    kind == "transport" ? print_transport(line) : print_setting(line);
  }
}
