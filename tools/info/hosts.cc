// SPDX-License-Identifier: Apache-2.0
#include "tools/info/hosts.hpp"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <utility>

#include "arch/topology.hpp"
#include "bootstrap/host_names.hpp"
#include "bootstrap/layout.hpp"
#include "libcore/base/plain_text.hpp"
#include "libcore/base/settings.hpp"

namespace tobi_info {

namespace {

using facts = std::map<std::string, std::string>;

std::string text_of_value(const json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

// What is said of a line elsewhere, the same on all hosts, or never twice the same on one.
bool is_compared(const std::string& field) {
  constexpr std::string_view left_out[] = {
      "kind",    "name",  "summary", "help",   "choices",     "default",   "type",
      "rank0",   "host",  "cores",   "source", "counter_mhz", "automatic", "memory_available_bytes",
      "workers", "chosen"};
  return std::find(std::begin(left_out), std::end(left_out), field) == std::end(left_out) &&
         !field.starts_with("measured_");
}

void add_facts(facts& to, const std::string& name, const json& value) {
  if (value.is_object()) {
    for (const auto& [field, inner] : value.items()) add_facts(to, name + " " + field, inner);
  } else if (value.is_array()) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      const json& one = value[i];
      const bool is_named = one.is_object() && (one.contains("name") || one.contains("bytes"));
      const std::string which = !is_named              ? std::to_string(i)
                                : one.contains("name") ? text_of_value(one["name"])
                                                       : tobi::base::format_size(one["bytes"].get<std::uint64_t>());
      add_facts(to, name + " " + which, one);
    }
  } else {
    to[name] = text_of_value(value);
  }
}

// The kernel takes another part of the memory for itself on each host, so the amount is compared as people say it.
facts facts_of(const std::vector<json>& lines) {
  facts all;
  for (const json& line : lines) {
    std::string name = text_of_value(line["kind"]);
    if (name == "transport" && line["name"] == "self") continue;  // it depends on the cores, and serves no two hosts
    if (line.contains("name"))
      name = name == "setting" ? text_of_value(line["name"]) : name + " " + text_of_value(line["name"]);
    for (const auto& [field, value] : line.items()) {
      if (!is_compared(field)) continue;
      const bool is_setting = text_of_value(line["kind"]) == "setting";
      if (field == "memory_bytes" && value.is_number()) {
        all["machine memory"] = fmt::format("{:.1f}G", value.get<double>() / (1u << 30));
      } else {
        add_facts(all, is_setting || name == field ? name : name + " " + field, value);
      }
    }
  }
  return all;
}

double now_s() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

void put_text(tobi::bootstrap::exchange& processes, std::string_view key, const std::string& text) {
  processes.put(key, std::as_bytes(std::span(text.data(), text.size())));
  processes.fence();
}
std::string text_at(tobi::bootstrap::exchange& processes, int rank, std::string_view key) {
  const auto bytes = processes.get(rank, key);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

struct found {
  std::string host;
  std::size_t cores = 0;
  facts all;
};

// What only a comparison with process 0 says.
void add_clock(found& of, double ahead_s) {
  constexpr double noticed_s = 2;  // the processes do not look at their clocks at the same moment
  of.all["clock of the day"] = std::abs(ahead_s) < noticed_s ? "as rank 0's"
                                                             : fmt::format("{:.0f} s {} rank 0's", std::abs(ahead_s),
                                                                           ahead_s > 0 ? "ahead of" : "behind");
}
void add_build(found& of, const std::string& first, const std::string& theirs, const std::string& name) {
  using tobi::bootstrap::layout;
  const std::string why = first == theirs ? ""
                                          : tobi::bootstrap::difference(layout::from_text(first),
                                                                        layout::from_text(theirs), "rank 0", name);
  of.all["program and libraries"] = why.empty() ? "as rank 0's" : why;
}

json host_line(const std::vector<found>& all, std::size_t first) {
  json ranks = json::array();
  for (std::size_t r = 0; r < all.size(); ++r) {
    if (all[r].host == all[first].host) ranks.push_back(r);
  }
  const found& f = all[first];
  const auto of_machine = [&](const char* name) {
    const auto at = f.all.find(name);
    return at == f.all.end() ? std::string() : at->second;
  };
  return {{"kind", "host"},
          {"host", f.host},
          {"ranks", ranks},
          {"cores_usable", f.cores},
          {"memory", of_machine("machine memory")},
          {"kernel", of_machine("machine kernel")},
          {"differs", f.all != all[0].all}};
}

// A process that has nothing to say of a fact has "" there.
std::vector<json> differences(const std::vector<found>& all) {
  facts names;
  for (const found& f : all) names.insert(f.all.begin(), f.all.end());
  std::vector<json> lines;
  for (const auto& [name, ignored] : names) {
    json values = json::array();  // in the order of the first rank that has each
    for (std::size_t r = 0; r < all.size(); ++r) {
      const auto at = all[r].all.find(name);
      const std::string value = at == all[r].all.end() ? "" : at->second;
      const auto same = std::find_if(values.begin(), values.end(), [&](const json& v) { return v["value"] == value; });
      json& of = same != values.end()
                     ? *same
                     : (values.push_back({{"value", value}, {"hosts", json::array()}, {"ranks", json::array()}}),
                        values.back());
      of["ranks"].push_back(r);
      if (std::find(of["hosts"].begin(), of["hosts"].end(), all[r].host) == of["hosts"].end())
        of["hosts"].push_back(all[r].host);
    }
    if (values.size() > 1) lines.push_back({{"kind", "difference"}, {"what", name}, {"values", values}});
  }
  return lines;
}

}  // namespace

std::vector<json> compare_hosts(tobi::bootstrap::exchange& processes, const std::vector<json>& lines) {
  put_text(
      processes, "found",
      json{to_text(tobi::bootstrap::this_host()), tobi::arch::this_machine().cores.size(), json(facts_of(lines))}.dump(
          -1, ' ', false, json::error_handler_t::replace));
  put_text(processes, "layout", tobi::bootstrap::own_layout().to_text());
  put_text(processes, "clock", fmt::format("{:.6f}", now_s()));  // all have just left one fence
  std::vector<json> told;
  if (processes.rank() == 0) {
    std::vector<found> all;
    const std::string layout = text_at(processes, 0, "layout");
    const double clock = std::stod(text_at(processes, 0, "clock"));
    std::vector<tobi::bootstrap::host_card> hosts;
    for (int r = 0; r < processes.size(); ++r) {
      const json f = json::parse(text_at(processes, r, "found"));
      tobi::base::text_in host(f[0].get<std::string>());
      (void)read_host(host, hosts.emplace_back());
      all.push_back({"", f[1], f[2].get<facts>()});
    }
    const std::vector<std::string> names = names_of_hosts(hosts);
    for (int r = 0; r < processes.size(); ++r) {
      all[r].host = names[r];
      add_clock(all[r], std::stod(text_at(processes, r, "clock")) - clock);
      add_build(all[r], layout, text_at(processes, r, "layout"), fmt::format("rank {} on {}", r, names[r]));
    }
    for (std::size_t r = 0; r < all.size(); ++r) {
      const bool is_first = std::none_of(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(r),
                                         [&](const found& f) { return f.host == all[r].host; });
      if (is_first) told.push_back(host_line(all, r));
    }
    for (json& line : differences(all)) told.push_back(std::move(line));
  }
  processes.finalize();
  return told;
}

}  // namespace tobi_info
