// SPDX-License-Identifier: Apache-2.0
#include "tools/report/papers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <optional>

#include "tools/report/lookup.hpp"
#include "tools/report/trace.hpp"

namespace tobi_report {

namespace {

std::string readable(double x) {
  if (x == 0) return "0";
  const double size = std::abs(x);
  if (size >= 1e6) return fmt::format("{:.4g}", x);
  return size >= 100 ? fmt::format("{:.0f}", x) : fmt::format("{:.3g}", x);
}

value shown(const line& spec, const line& l, double ghz) {
  const auto x = evaluate(spec, l, ghz);
  return {spec.at("name"), x ? readable(*x) : "-"};
}

// A list of values, or the name of one that several experiments share.
const line& values_of(const line& all, const line& wanted) {
  const line& values = wanted.at("values");
  return values.is_string() ? all.at("values").at(values.get<std::string>()) : values;
}

std::string text_or(const line& l, const char* name) { return l.contains(name) ? l.at(name).get<std::string>() : ""; }

comparison one(const line& all, const line& e, const std::vector<line>& ours, double ghz) {
  comparison c;
  c.source = all.at("sources").at(e.at("source").get<std::string>()).get<std::string>();
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
      const std::string setting = setting_of(l);  // none, of what is computed for a machine that is not there
      compared_row r{(wanted.contains("label") ? wanted.at("label").get<std::string>() : title_of(l)) +
                         (setting.empty() ? "" : ", " + setting),
                     {}};
      for (const line& spec : values_of(all, wanted)) r.values.push_back(shown(spec, l, ghz));
      c.ours.push_back(std::move(r));
      c.from.push_back(l);
    }
  }
  if (e.contains("curves")) {
    for (const line& spec : e.at("curves")) {
      c.curves.push_back(chart_of(spec, ours, ghz));
      for (const line& group : spec.at("ours")) {
        std::copy_if(ours.begin(), ours.end(), std::back_inserter(c.from),
                     [&](const line& l) { return fits(l, group.at("match")); });
      }
    }
  }
  if (e.contains("bars")) {
    std::copy_if(ours.begin(), ours.end(), std::back_inserter(c.bars),
                 [&](const line& l) { return fits(l, e.at("bars")); });
  }
  if (e.contains("figures")) {
    for (const line& f : e.at("figures")) c.figures.push_back({f.at("trace"), f.at("figure")});
  }
  return c;
}

// Looks for what the file asks for in all lines of ours, and keeps what is nowhere.
class search {
 public:
  explicit search(const std::vector<line>& ours) : ours_(ours) {}

  void look(const std::string& where, const line& match, const std::vector<std::string>& paths) {
    std::vector<const line*> fit;
    for (const line& l : ours_) {
      if (fits(l, match)) fit.push_back(&l);
    }
    if (fit.empty()) nowhere_.push_back(fmt::format("{}: no result has {}", where, match.dump()));
    for (const std::string& path : paths) {
      const bool there = std::any_of(fit.begin(), fit.end(), [&](const line* l) { return number_at(*l, path); });
      if (!there && !fit.empty())
        nowhere_.push_back(fmt::format("{}: {} is in no result that has {}", where, path, match.dump()));
    }
  }
  std::vector<std::string> nowhere() && { return std::move(nowhere_); }

 private:
  const std::vector<line>& ours_;
  std::vector<std::string> nowhere_;
};

void look_for(const line& all, const line& e, search& in) {
  const std::string where = e.at("source").get<std::string>() + ", " + e.at("where").get<std::string>();
  for (const line& wanted : e.at("ours")) {
    for (const line& spec : values_of(all, wanted)) in.look(where, wanted.at("match"), paths_of(spec));
  }
  if (e.contains("curves")) {
    for (const line& spec : e.at("curves")) {
      for (const line& group : spec.at("ours")) {
        std::vector<std::string> paths = paths_of(spec.at("across"));
        for (const std::string& path : paths_of(group.contains("up") ? group.at("up") : spec.at("up")))
          paths.push_back(path);
        in.look(where, group.at("match"), paths);
        if (!spec.contains("compared_with")) continue;
        line both = group.at("match");
        both.update(spec.at("compared_with"));
        in.look(where, both, paths);
      }
    }
  }
  if (e.contains("bars")) in.look(where, e.at("bars"), {"/stats/global/phases_s/serial"});
  if (!e.contains("figures")) return;
  for (const line& f : e.at("figures")) in.look(where, {{"/kind", "trace"}, {"/name", f.at("trace")}}, {});
}

// Calls EACH with the whole file and one experiment of it.
template <class F>
void for_each_experiment(const std::string& file, F each) {
  std::ifstream in(file);
  if (!in) throw bad_input(file + " cannot be read; is the name right?");
  const line all = line::parse(in, nullptr, false);
  if (all.is_discarded()) throw bad_input(file + " is no JSON");
  std::size_t at = 0;
  try {
    for (const line& e : all.at("experiments")) {
      ++at;
      each(all, e);
    }
  } catch (const line::exception& why) {
    throw bad_input(fmt::format("{} is no table of papers: experiment {} lacks a part ({})", file, at, why.what()));
  }
}

}  // namespace

std::vector<comparison> compare(const std::string& file, const std::vector<line>& ours) {
  std::vector<comparison> found;
  const double ghz = gigahertz(ours);
  for_each_experiment(file, [&](const line& all, const line& e) { found.push_back(one(all, e, ours, ghz)); });
  return found;
}

std::vector<std::string> not_found(const std::string& file, const std::vector<line>& ours) {
  search in(ours);
  for_each_experiment(file, [&](const line& all, const line& e) { look_for(all, e, in); });
  return std::move(in).nowhere();
}

std::string measured_on(const std::vector<line>& lines) {
  std::string all;
  const auto add = [&](const std::string& text) { all += (all.empty() ? "" : ", ") + text; };
  for (const line& l : lines) {
    if (!l.contains("cpu") || !l.contains("cores_usable") || !l.at("cpu").is_string()) continue;
    add(fmt::format("{}, {} usable cores", l.at("cpu").get<std::string>(), l.at("cores_usable").dump()));
    if (l.contains("host") && l.at("host").is_string()) all += " (host " + l.at("host").get<std::string>() + ")";
    break;
  }
  for (const line& l : lines) {
    if (fits(l, {{"/kind", "page"}}) && l.contains("date") && l.at("date").is_string()) add(l.at("date"));
  }
  return all;
}

}  // namespace tobi_report
