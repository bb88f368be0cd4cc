// SPDX-License-Identifier: Apache-2.0
#include "tools/report/curves.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>

#include "tools/plot/svg.hpp"
#include "tools/report/lookup.hpp"

namespace tobi_report {

namespace {

constexpr tobi_plot::field room{.width = 1000, .height = 440, .left = 90, .right = 400, .top = 50, .bottom = 70};

tobi_plot::measure measure_of(const line& spec) {
  return {spec.at("name"), spec.contains("log") ? spec.at("log").get<double>() : 0.0, nullptr};
}

// What tells L from the others: "child_full", "2 workers".
std::string name_of(const line& group, const line& l) {
  std::string name = group.contains("label") ? group.at("label").get<std::string>() : "";
  if (!group.contains("by")) return name;
  for (const line& path : group.at("by")) {
    const auto text = path.get<std::string>();
    const line::json_pointer at(text);
    if (!l.contains(at) || l.at(at).is_null()) continue;
    const line& value = l.at(at);
    const std::string field_name = text.substr(text.rfind('/') + 1);
    name += name.empty() ? "" : ", ";
    name += value.is_string() ? value.get<std::string>() : value.dump() + " " + field_name;
  }
  return name;
}

// Of the lines of a group that are compared with: their value by their place across.
std::map<double, double> references(const line& spec, const line& group, const line& up, const std::vector<line>& ours,
                                    double ghz) {
  std::map<double, double> found;
  for (const line& l : ours) {
    if (!fits(l, group.at("match")) || !fits(l, spec.at("compared_with"))) continue;
    const auto x = evaluate(spec.at("across"), l, ghz);
    const auto y = evaluate(up, l, ghz);
    if (x && y) found[*x] = *y;
  }
  return found;
}

void add_group(const line& spec, const line& group, const std::vector<line>& ours, double ghz, chart& c) {
  const line& up = group.contains("up") ? group.at("up") : spec.at("up");
  const bool compares = spec.contains("compared_with");
  const std::map<double, double> with = compares ? references(spec, group, up, ours, ghz) : std::map<double, double>{};
  for (const line& l : ours) {
    if (!fits(l, group.at("match"))) continue;
    const auto x = evaluate(spec.at("across"), l, ghz);
    auto y = evaluate(up, l, ghz);
    if (!x || !y) continue;
    if (compares) {
      const auto base = with.find(*x);
      if (base == with.end() || base->second == 0) continue;
      *y /= base->second;
    }
    const std::string name = name_of(group, l);
    auto at = std::find_if(c.ours.begin(), c.ours.end(), [&](const tobi_plot::series& s) { return s.name == name; });
    if (at == c.ours.end()) at = c.ours.insert(c.ours.end(), tobi_plot::series{name, {}});
    at->points.push_back({*x, *y});
  }
}

// The colour of the one of ours that has these words in its name; else that of an axis.
const char* colour_like(const line& spec, const chart& c) {
  if (!spec.contains("like")) return tobi_plot::axis_colour;
  const auto words = spec.at("like").get<std::string>();
  for (std::size_t i = 0; i < c.ours.size(); ++i) {
    if (c.ours[i].name.find(words) != std::string::npos) return tobi_plot::colours[i % tobi_plot::colours.size()];
  }
  return tobi_plot::axis_colour;
}

// A level goes from one end of all other points to the other.
tobi_plot::series theirs_of(const line& spec, const chart& c) {
  tobi_plot::series s{spec.at("label"), {}, colour_like(spec, c), true};
  if (!spec.contains("level")) {
    for (const line& p : spec.at("points")) s.points.push_back({p.at(0).get<double>(), p.at(1).get<double>()});
    return s;
  }
  double least = std::numeric_limits<double>::max();
  double most = std::numeric_limits<double>::lowest();
  for (const auto* side : {&c.ours, &c.theirs}) {
    for (const tobi_plot::series& one : *side) {
      for (const tobi_plot::point& p : one.points) {
        least = std::min(least, p.x);
        most = std::max(most, p.x);
      }
    }
  }
  const auto y = spec.at("level").get<double>();
  if (least <= most) s.points = {{least, y}, {most, y}};
  return s;
}

}  // namespace

chart chart_of(const line& spec, const std::vector<line>& ours, double ghz) {
  chart c{spec.at("title"), measure_of(spec.at("across")), measure_of(spec.at("up")), {}, {}};
  for (const line& group : spec.at("ours")) add_group(spec, group, ours, ghz, c);
  if (spec.contains("theirs")) {
    for (const line& one : spec.at("theirs")) c.theirs.push_back(theirs_of(one, c));
  }
  return c;
}

std::string drawn(const chart& c) {
  std::vector<tobi_plot::series> all;
  for (std::size_t i = 0; i < c.ours.size(); ++i) {
    all.push_back({"ours: " + c.ours[i].name, c.ours[i].points, tobi_plot::colours[i % tobi_plot::colours.size()]});
  }
  for (const tobi_plot::series& s : c.theirs) all.push_back({"paper: " + s.name, s.points, s.colour, true});
  const std::string body = tobi_plot::lines(room, c.title, c.across, c.up, all, "not measured in this run");
  return tobi_plot::document(room.width, room.height, body);
}

}  // namespace tobi_report
