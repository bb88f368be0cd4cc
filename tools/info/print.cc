// SPDX-License-Identifier: Apache-2.0
#include "tools/info/print.hpp"

#include <fmt/format.h>

#include <array>
#include <map>

#include "libcore/base/settings.hpp"
#include "libcore/base/text.hpp"

namespace tobi_info {

namespace {

namespace base = tobi::base;

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
  print_row("kernel", text_or(m["kernel"], "unknown"));
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

void print_under(const std::string& text) { fmt::print("  {:<10} {}\n", "", text); }

std::string duration(double us) {
  if (us < 10) return fmt::format("{:.2f} us", us);
  return us < 10'000 ? fmt::format("{:.0f} us", us) : fmt::format("{:.0f} ms", us / 1000);
}

// "get yes (12 us), put yes (9 us), atomic no (waited for the target, 300 ms)"
std::string measured(const json& t) {
  std::string all;
  const auto add = [&](const char* words, const std::string& name) {
    const json& passive = t["measured_passive_" + name];
    if (passive.is_null()) return;
    const std::string took = duration(t["measured_" + name + "_us"].get<double>());
    base::add_item(all, words).append(passive.get<bool>() ? " yes (" : " no (waited for the target, ");
    all.append(took).append(")");
  };
  add("get", "get");
  add("put", "put");
  add("atomic", "amo");
  return all;
}

// A claim and a measurement that differ are a defect of the transport, or a busy machine.
std::string contradiction(const json& t) {
  std::string all;
  for (const char* what : {"rma", "amo"}) {
    const json& passive = t["measured_passive_" + std::string(what)];
    const json& claims = t["capabilities"];
    if (passive.is_boolean() && claims.is_object() && claims["passive_" + std::string(what)].get<bool>() &&
        !passive.get<bool>())
      base::add_item(all, "passive_", " and ").append(what);
  }
  return all;
}

void print_measurement(const json& t) {
  const std::string found = measured(t);
  const std::string error = text(t["measured_error"]);
  if (!found.empty()) print_under("one-sided as measured: " + found);
  if (error == "not asked for" || !t["usable"].get<bool>()) return;
  if (!error.empty()) print_under((found.empty() ? "not measured: " : "the measurement ended early: ") + error);
  if (const std::string what = contradiction(t); !what.empty())
    print_under("it claims " + what + ", which the measurement contradicts in two tries");
}

void print_devices(const json& t) {
  for (const json& d : t["devices"]) {
    const std::string facts = text(d["facts"]);
    const std::string why = d["usable"].get<bool>() ? "" : "not usable: " + text(d["why_not"]);
    fmt::print("  {:<10}   {:<18} {}{}{}\n", "", text(d["name"]), facts, facts.empty() || why.empty() ? "" : "; ", why);
  }
  if (!text(t["devices_error"]).empty()) print_under("its devices are not known: " + text(t["devices_error"]));
}

void print_transport(const json& t) {
  fmt::print("  {:<10} {}\n", text(t["name"]), text(t["summary"]));
  const std::string workers = text(t["workers"]);
  const std::string of = "a job of " + workers + (workers == "1" ? " worker" : " workers");
  if (t["chosen"].get<bool>()) {
    print_under("usable, and chosen for " + of);
  } else if (t["usable"].get<bool>()) {
    print_under(t["automatic"].get<bool>() ? "usable, not chosen" : "usable, chosen only when TOBI_TRANSPORT names it");
  } else {
    print_under("not usable for " + of + ": " + text(t["why_not"]));
  }
  if (!text(t["describe"]).empty()) print_under("opens: " + text(t["describe"]));
  if (!text(t["route"]).empty()) print_under("routes: " + text(t["route"]));
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
  print_measurement(t);
  print_devices(t);
}

void print_decorator(const json& d) {
  const auto place = d["place"].get<int>();
  fmt::print("  {:<10} {}\n", text(d["name"]), text(d["summary"]));
  if (!text(d["error"]).empty()) {
    print_under("asked for, and refused: " + text(d["error"]));
  } else if (place != 0) {
    print_under("in force, number " + std::to_string(place) + " counted from the transport (TOBI_WRAP)");
  }
}

void print_bootstrap(const json& b) {
  fmt::print("  {:<10} {}\n", text(b["name"]), text(b["summary"]));
  if (!b["usable"].get<bool>()) {
    fmt::print("  {:<10} not usable: {}\n", "", text(b["why_not"]));
  } else if (!text(b["facts"]).empty()) {
    fmt::print("  {:<10} {}\n", "", text(b["facts"]));
  }
}

void print_setting(const json& s) {
  fmt::print("  {:<20} {:<12} {:<12} {}\n", text(s["name"]), text(s["value"]), text(s["source"]), text(s["choices"]));
  const bool gives = text(s["rank0"]) == "gives";
  fmt::print("  {:<20} {} (default: {}{})\n", "", text(s["help"]), text(s["default"]),
             gives ? "; one for all ranks" : "");
}

// "0 to 3, 5"
std::string ranges(const json& numbers) {
  std::string all;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1].get<int>() == numbers[last].get<int>() + 1) ++last;
    base::add_item(all, text(numbers[i]));
    if (last > i) all += " to " + text(numbers[last]);
    i = last + 1;
  }
  return all;
}

void print_host(const json& h) {
  fmt::print("  {:<20} ranks {:<14} {:>4} cores {:>8}  {}{}\n", text(h["host"]), ranges(h["ranks"]),
             text(h["cores_usable"]), text(h["memory"]), text(h["kernel"]),
             h["differs"].get<bool>() ? "  * differs from rank 0" : "");
}

void print_difference(const json& d) {
  fmt::print("  {}\n", text(d["what"]));
  for (const json& v : d["values"]) {
    std::string hosts;
    for (const json& host : v["hosts"]) base::add_item(hosts, text(host), " ");
    const bool one = v["ranks"].size() == 1;
    fmt::print("    {} {} on {}: {}\n", one ? "rank" : "ranks", ranges(v["ranks"]), hosts, text_or(v["value"], "-"));
  }
}

}  // namespace

void print_for_people(const std::vector<json>& lines) {
  const std::map<std::string, std::pair<const char*, void (*)(const json&)>> kinds{
      {"version",
       {nullptr, [](const json& v) { fmt::print("Tobiuo {}, {}\n\n", text(v["version"]), text(v["architecture"])); }}},
      {"machine", {nullptr, print_machine}},
      {"pages", {nullptr, print_pages}},
      {"bootstrap", {"ways to start a job", print_bootstrap}},
      {"transport", {"transports", print_transport}},
      {"decorator", {"decorators around the transport (TOBI_WRAP)", print_decorator}},
      {"setting", {"settings: value in force, its source, good values", print_setting}},
      {"host", {"hosts", print_host}},
      {"difference", {"what differs between the ranks", print_difference}}};
  std::string last;
  for (const json& line : lines) {
    const std::string kind = text(line["kind"]);
    const auto& [title, print] = kinds.at(kind);
    if (kind != last && title != nullptr) fmt::print("{}{}\n", last.empty() ? "" : "\n", title);
    last = kind;
    print(line);
  }
}

}  // namespace tobi_info
