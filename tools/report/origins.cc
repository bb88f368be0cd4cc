// SPDX-License-Identifier: Apache-2.0
#include "tools/report/origins.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>

namespace tobi_report {

namespace {

// The values of each thing, over all runs. What a run does not say is a value, too: a setting may be given in some.
using origins = std::map<std::string, std::set<std::string>>;

std::string said(const line& l) { return l.is_string() ? l.get<std::string>() : l.dump(); }

std::vector<const line*> runs_of(const std::vector<line>& lines) {
  std::vector<const line*> runs;
  for (const line& l : lines) {
    if (l.contains("kind") && l.at("kind") == "run") runs.push_back(&l);
  }
  return runs;
}

origins origins_of(const std::vector<const line*>& runs) {
  origins all;
  for (const line* run : runs) {
    for (const char* what : {"host", "cpu", "cores_usable", "cpu_quota", "kernel", "version", "compiler"}) {
      if (run->contains(what)) all[what].insert(said(run->at(what)));
    }
    if (!run->contains("settings") || !run->at("settings").is_object()) continue;
    for (const auto& [name, value] : run->at("settings").items()) all[name].insert(said(value));
  }
  for (auto& [what, values] : all) {
    if (!what.starts_with("TOBI_")) continue;
    const bool always = std::all_of(runs.begin(), runs.end(), [&, name = what](const line* run) {
      return run->contains("settings") && run->at("settings").contains(name);
    });
    if (!always) values.insert("not set");
  }
  return all;
}

std::string listed(const std::set<std::string>& values, const char* otherwise) {
  std::string all;
  for (const std::string& v : values) all.append(all.empty() ? "" : ", ").append(v);
  return all.empty() ? otherwise : all;
}

}  // namespace

std::vector<difference> differences(const std::vector<line>& first, const std::vector<line>& second) {
  const std::vector<const line*> of_first = runs_of(first), of_second = runs_of(second);
  if (of_first.empty() || of_second.empty()) return {};
  origins a = origins_of(of_first), b = origins_of(of_second);
  std::set<std::string> names;
  for (const origins* o : {&a, &b}) {
    for (const auto& [name, values] : *o) names.insert(name);
  }
  std::vector<difference> all;
  for (const std::string& name : names) {
    const char* const otherwise = name.starts_with("TOBI_") ? "not set" : "not said";
    const difference d{name, listed(a[name], otherwise), listed(b[name], otherwise)};
    if (d.first != d.second) all.push_back(d);
  }
  return all;
}

line to_json(const difference& d) {
  return {{"kind", "differs"}, {"what", d.what}, {"first", d.first}, {"second", d.second}};
}

}  // namespace tobi_report
