// SPDX-License-Identifier: Apache-2.0
#include "tools/report/lookup.hpp"

namespace tobi_report {

std::optional<double> number_at(const line& l, const std::string& path) {
  const line::json_pointer at(path);
  if (!l.contains(at) || !l.at(at).is_number()) return std::nullopt;
  return l.at(at).get<double>();
}

bool fits(const line& l, const line& wanted) {
  for (const auto& [path, value] : wanted.items()) {
    const line::json_pointer at(path);
    if (!l.contains(at) || l.at(at) != value) return false;
  }
  return true;
}

namespace {

std::vector<std::string> divisors_of(const line& spec) {
  if (!spec.contains("over")) return {};
  const line& over = spec.at("over");
  if (over.is_string()) return {over.get<std::string>()};
  return over.get<std::vector<std::string>>();
}

}  // namespace

std::optional<double> evaluate(const line& spec, const line& l, double ghz) {
  auto x = number_at(l, spec.at("at"));
  if (!x) return std::nullopt;
  for (const std::string& path : divisors_of(spec)) {
    const auto below = number_at(l, path);
    if (!below || *below == 0) return std::nullopt;
    *x /= *below;
  }
  if (spec.contains("times")) {
    const double factor = spec.at("times").is_number() ? spec.at("times").get<double>() : ghz;
    if (factor == 0) return std::nullopt;
    *x *= factor;
  }
  return x;
}

std::vector<std::string> paths_of(const line& spec) {
  std::vector<std::string> all = divisors_of(spec);
  all.insert(all.begin(), spec.at("at").get<std::string>());
  return all;
}

double gigahertz(const std::vector<line>& lines) {
  for (const line& l : lines) {
    if (const auto mhz = number_at(l, "/counter_mhz")) return *mhz / 1000;
  }
  return 0;
}

}  // namespace tobi_report
