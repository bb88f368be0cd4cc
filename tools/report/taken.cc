// SPDX-License-Identifier: Apache-2.0
// At which scale numbers were taken: a number without its scale says nothing.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tools/report/print.hpp"

namespace tobi_report {

namespace {

// The values of a field, each once, in the order in which they come; numbers by their size.
std::vector<std::string> values_of(const std::vector<line>& lines, const char* name) {
  std::vector<std::string> texts;
  std::vector<double> numbers;
  for (const line& l : lines) {
    const auto at = l.find(name);
    if (at == l.end()) continue;
    if (at->is_number()) numbers.push_back(at->get<double>());
    if (at->is_string() && std::find(texts.begin(), texts.end(), at->get<std::string>()) == texts.end())
      texts.push_back(at->get<std::string>());
  }
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  for (const double n : numbers) texts.push_back(fmt::format("{:.10g}", n));
  return texts;
}

void add(std::string& all, const std::vector<std::string>& values, const char* one, const char* many) {
  if (values.empty()) return;
  const std::string text = fmt::format("{}", fmt::join(values, " and "));
  all += all.empty() ? "" : "; ";
  all += fmt::format("{}{}", text, text == "1" ? one : many);
}

// "pfor k 5, m_us 10, n 64 to 16384".
std::string sizes_of(const std::vector<line>& lines) {
  std::map<std::string, std::vector<line>> params;
  for (const line& l : lines) {
    if (!l.contains("app") || !l.contains("params") || !l.at("params").is_object()) continue;
    params[l.at("app").get<std::string>()].push_back(l.at("params"));
  }
  std::string all;
  for (const auto& [app, those] : params) {
    all += (all.empty() ? "" : "; ") + app;
    const char* between = " ";
    for (const auto& [name, first] : those.front().items()) {
      const std::vector<std::string> values = values_of(those, name.c_str());
      if (values.empty()) continue;
      const bool range = first.is_number() && values.size() > 2;
      all += between + name + " " +
             (range ? values.front() + " to " + values.back() : fmt::format("{}", fmt::join(values, " and ")));
      between = ", ";
    }
  }
  return all;
}

}  // namespace

std::string taken(const std::vector<line>& lines) {
  std::string all;
  add(all, values_of(lines, "workers"), " worker", " workers");
  add(all, values_of(lines, "nodes"), " node", " nodes (of this one machine)");
  add(all, values_of(lines, "transport"), "", "");
  if (const std::string sizes = sizes_of(lines); !sizes.empty()) all += (all.empty() ? "" : "; ") + sizes;
  return all + ".";
}

}  // namespace tobi_report
