// SPDX-License-Identifier: Apache-2.0
#include "tools/report/papers.hpp"

#include <fmt/format.h>

#include <cmath>
#include <fstream>

#include "tools/report/trace.hpp"

namespace tobi_report {

namespace {

// A field by its path, "/stats/steals_ok"; none where it is missing or was not counted.
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

std::string readable(double x) {
  if (x == 0) return "0";
  const double size = std::abs(x);
  if (size >= 1e6) return fmt::format("{:.4g}", x);
  return size >= 100 ? fmt::format("{:.0f}", x) : fmt::format("{:.3g}", x);
}

double gigahertz(const std::vector<line>& lines) {
  for (const line& l : lines) {
    if (const auto mhz = number_at(l, "/counter_mhz")) return *mhz / 1000;
  }
  return 0;
}

// {"name": "Mnodes/s", "at": "/result", "over": "/seconds", "times": 1e-6}. "times": "ghz" makes cycles of nanoseconds.
value evaluate(const line& spec, const line& l, double ghz) {
  const value none{spec.at("name"), "-"};
  auto x = number_at(l, spec.at("at"));
  if (!x) return none;
  if (spec.contains("over")) {
    const auto below = number_at(l, spec.at("over"));
    if (!below || *below == 0) return none;
    *x /= *below;
  }
  if (spec.contains("times")) {
    const double factor = spec.at("times").is_number() ? spec.at("times").get<double>() : ghz;
    if (factor == 0) return none;
    *x *= factor;
  }
  return {none.name, readable(*x)};
}

std::string text_or(const line& l, const char* name) { return l.contains(name) ? l.at(name).get<std::string>() : ""; }

comparison one(const line& e, const line& sources, const std::vector<line>& ours, double ghz) {
  comparison c;
  c.source = sources.at(e.at("source").get<std::string>()).get<std::string>();
  c.where = e.at("where");
  c.what = e.at("what");
  c.differs = text_or(e, "differs");
  for (const line& row : e.at("paper")) {
    compared_row r{row.at("label"), {}};
    for (const auto& [name, v] : row.at("values").items()) {
      r.values.push_back({name, v.is_number() ? readable(v.get<double>()) : v.get<std::string>()});
    }
    c.paper.push_back(std::move(r));
  }
  for (const line& wanted : e.at("ours")) {
    for (const line& l : ours) {
      if (!fits(l, wanted.at("match"))) continue;
      compared_row r{wanted.contains("label") ? wanted.at("label").get<std::string>() + ", " + setting_of(l)
                                              : title_of(l) + ", " + setting_of(l),
                     {}};
      for (const line& spec : wanted.at("values")) r.values.push_back(evaluate(spec, l, ghz));
      c.ours.push_back(std::move(r));
    }
  }
  if (e.contains("figures")) {
    for (const line& f : e.at("figures")) c.figures.push_back({f.at("trace"), f.at("figure")});
  }
  return c;
}

}  // namespace

std::vector<comparison> compare(const std::string& file, const std::vector<line>& ours) {
  std::ifstream in(file);
  if (!in) throw bad_input(file + " cannot be read; is the name right?");
  const line all = line::parse(in, nullptr, false);
  if (all.is_discarded()) throw bad_input(file + " is no JSON");
  std::vector<comparison> found;
  try {
    const double ghz = gigahertz(ours);
    for (const line& e : all.at("experiments")) found.push_back(one(e, all.at("sources"), ours, ghz));
  } catch (const line::exception& why) {
    throw bad_input(fmt::format("{} is no table of papers: experiment {} lacks a part", file, found.size() + 1));
  }
  return found;
}

std::string machine_of(const std::vector<line>& lines) {
  for (const line& l : lines) {
    if (!l.contains("cpu") || !l.contains("cores_usable") || !l.at("cpu").is_string()) continue;
    return fmt::format(
        "{}, {} usable cores{}", l.at("cpu").get<std::string>(), l.at("cores_usable").dump(),
        l.contains("host") && l.at("host").is_string() ? " (host " + l.at("host").get<std::string>() + ")" : "");
  }
  return "";
}

}  // namespace tobi_report
