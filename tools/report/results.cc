// SPDX-License-Identifier: Apache-2.0
#include "tools/report/results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string_view>

#include "tools/report/trace.hpp"

namespace tobi_report {

namespace {

std::string text_of(const line& l, const char* name) {
  const auto at = l.find(name);
  if (at == l.end() || at->is_null()) return "";
  return at->is_string() ? at->get<std::string>() : at->dump();
}

}  // namespace

void read_results(const std::string& file, std::vector<line>& into) {
  std::error_code why;
  if (std::filesystem::is_directory(file, why)) throw bad_input(file + " is a folder, not a file");
  std::ifstream in(file, std::ios::binary);
  if (!in) throw bad_input(file + " cannot be read; is the name right?");
  std::string text;
  std::size_t number = 0;
  bool any = false;
  while (std::getline(in, text)) {
    ++number;
    if (text.empty()) continue;
    line l = line::parse(text, nullptr, false);
    const bool known = l.is_object() && (l.contains("app") || l.contains("op") || l.contains("kind"));
    if (!known) {
      throw bad_input(
          fmt::format("{}: line {} is neither a trace nor what tobi-bench, tobi-perf or tobi-info print with --json",
                      file, number));
    }
    into.push_back(std::move(l));
    any = true;
  }
  if (!any) throw bad_input(file + " is empty");
}

std::string key_of(const line& l) {
  constexpr std::array kept{"for",
                            "app",
                            "peer",
                            "params",
                            "scheme",
                            "op",
                            "size",
                            "raw",
                            "best",
                            "pairs",
                            "workers",
                            "nodes",
                            "transport",
                            "provider",
                            "mask",
                            "server",
                            "sched",
                            "deque",
                            "local_collection",
                            "cache_policy"};
  std::string key;
  if (!(l.contains("app") && l.contains("seconds")) && !l.contains("op")) return key;
  for (const char* name : kept) key += text_of(l, name) + "\n";
  return key;
}

std::optional<double> time_of(const line& l) {
  const auto number = [&](const char* name, double unit) -> std::optional<double> {
    const auto at = l.find(name);
    if (at == l.end() || !at->is_number() || at->get<double>() <= 0) return std::nullopt;
    return at->get<double>() * unit;
  };
  if (!l.contains("op")) return number("seconds", 1);
  const std::string name = text_of(l, "op");
  return number(name.starts_with("bw") || name.starts_with("rate") ? "mean_us" : "median_us", 1e-6);
}

std::vector<line> medians(const std::vector<line>& lines) {
  std::vector<std::vector<line>> groups;
  std::map<std::string, std::size_t> place;
  for (const line& l : lines) {
    const std::string key = key_of(l);
    if (key.empty() || !place.contains(key)) {
      if (!key.empty()) place[key] = groups.size();
      groups.push_back({l});
    } else {
      groups[place[key]].push_back(l);
    }
  }
  const auto seconds = [](const line& l) { return time_of(l).value_or(0); };
  std::vector<line> out;
  for (std::vector<line>& g : groups) {
    std::stable_sort(g.begin(), g.end(), [&](const line& a, const line& b) { return seconds(a) < seconds(b); });
    line chosen = g[(g.size() - 1) / 2];
    if (!key_of(chosen).empty()) {
      chosen["runs"] = g.size();
      chosen["seconds_min"] = seconds(g.front());
      chosen["seconds_max"] = seconds(g.back());
    }
    out.push_back(std::move(chosen));
  }
  return out;
}

std::string title_of(const line& l) {
  if (l.contains("op")) {
    return fmt::format("{} {}{}{}", text_of(l, "op"), text_of(l, "transport"),
                       text_of(l, "size").empty() ? "" : ", " + text_of(l, "size") + " bytes",
                       text_of(l, "best") == "true"  ? ", the library's quickest calls"
                       : text_of(l, "raw") == "true" ? ", the library's own calls"
                                                     : "");
  }
  if (l.contains("kind")) return text_of(l, "kind") + " " + text_of(l, "name");
  std::string title = text_of(l, "app");
  if (const auto params = l.find("params"); params != l.end() && params->is_object()) {
    for (const auto& [name, value] : params->items()) {
      title += fmt::format(" {} {}", name, value.is_string() ? value.get<std::string>() : value.dump());
    }
  }
  if (l.contains("peer")) title += " (" + text_of(l, "peer") + ")";
  return title;
}

std::string row_of(const line& l) {
  const std::string setting = setting_of(l);
  return title_of(l) + (setting.empty() || setting == text_of(l, "transport") ? "" : "; " + setting);
}

std::string setting_of(const line& l) {
  std::string all;
  const std::string workers = text_of(l, "workers");
  if (!workers.empty()) all = workers + (workers == "1" ? " worker" : " workers");
  for (const char* name : {"scheme", "transport", "sched", "deque"}) {
    const std::string value = text_of(l, name);
    if (!value.empty()) all += (all.empty() ? "" : ", ") + value;
    const std::string provider = text_of(l, "provider");
    if (!provider.empty() && std::string_view(name) == "transport") all += " (" + provider + ")";
  }
  if (const std::string nodes = text_of(l, "nodes"); !nodes.empty() && nodes != "1") all += ", " + nodes + " nodes";
  if (const std::string mask = text_of(l, "mask"); !mask.empty()) all += ", without " + mask;
  if (const std::string server = text_of(l, "server"); !server.empty()) all += ", atomics: " + server;
  if (const std::string policy = text_of(l, "cache_policy"); !policy.empty() && policy != "write_back_lazy")
    all += ", cache " + policy;
  if (text_of(l, "local_collection") == "false") all += ", no local collection";
  if (text_of(l, "transport").find("sim") != std::string::npos) all += " (a simulated fabric)";
  return all;
}

}  // namespace tobi_report
