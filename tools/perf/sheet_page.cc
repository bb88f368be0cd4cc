// SPDX-License-Identifier: Apache-2.0
// The cost sheet as a page, made of the parts of tools/plot.
#include <fmt/format.h>

#include "libcore/base/settings.hpp"
#include "tools/perf/sheet.hpp"
#include "tools/plot/lines.hpp"
#include "tools/plot/page.hpp"
#include "tools/plot/svg.hpp"

namespace tobi_perf {

namespace {

using tobi_plot::escaped;
using tobi_plot::paragraph;

constexpr tobi_plot::field small_field{.width = 720, .height = 400, .left = 80, .right = 160, .top = 40, .bottom = 60};

std::string bytes_label(double n) { return tobi::base::format_size(static_cast<std::uint64_t>(n)); }
std::string count_label(double n) { return fmt::format("{:.0f}", n); }

struct curve {
  const char* name;
  const char* op;
};

std::string chart_of(const sheet& s, const std::string& title, const tobi_plot::measure& across,
                     const tobi_plot::measure& up, const std::vector<curve>& curves, double (*x)(const row&),
                     double (*y)(const row&)) {
  std::vector<tobi_plot::series> all;
  std::size_t most = 0;
  for (const curve& c : curves) {
    tobi_plot::series one{c.name, {}};
    for (const row& r : s.rows) {
      if (r.op == c.op && r.ns && r.ns->median > 0) one.points.push_back({x(r), y(r)});
    }
    most = std::max(most, one.points.size());
    all.push_back(std::move(one));
  }
  if (most < 2) return "";
  return tobi_plot::document(small_field.width, small_field.height,
                             tobi_plot::lines(small_field, title, across, up, all, "nothing was measured"));
}

std::string figures_of(const sheet& s, const std::string& section) {
  if (section == "Sizes") {
    return chart_of(
        s, "a get by size", {"bytes", 2, &bytes_label}, {"median in microseconds", 10}, {{"get", "get"}},
        [](const row& r) { return static_cast<double>(*r.size); }, [](const row& r) { return r.ns->median / 1000; });
  }
  if (section == "Rate by window") {
    return chart_of(
        s, "small puts by window", {"posted at once", 2, &count_label}, {"millions per second", 10}, {{"put", "rate"}},
        [](const row& r) { return static_cast<double>(r.operations_per_sample); },
        [](const row& r) { return 1000 / r.ns->median; });
  }
  return "";
}

// Where it was measured, as the first line of --json says.
std::string origin_of(const std::string& line) {
  const auto j = nlohmann::ordered_json::parse(line, nullptr, false);
  if (!j.is_object()) return "";
  std::vector<std::vector<std::string>> lines;
  for (const auto& [name, value] : j.items()) {
    if (name == "kind" || value.is_null()) continue;
    lines.push_back({name, value.is_string() ? value.get<std::string>() : value.dump()});
  }
  return tobi_plot::table({"", ""}, lines);
}

std::string body_of(const sheet& s) {
  std::string out = "<h2>" + escaped(s.transport) + "</h2>\n";
  for (const std::string& note : s.notes) out += paragraph(note);
  for (const sheet_section& section : s.sections) {
    out += "<h3>" + escaped(section.title) + "</h3>\n" + paragraph(section.about);
    out += tobi_plot::table(section.columns, section.lines) + figures_of(s, section.title);
  }
  out += "<h3>What it means</h3>\n<ul>\n";
  for (const finding& f : s.meaning) out += "<li>" + escaped(f.text) + "</li>\n";
  return out + "</ul>\n";
}

}  // namespace

bool write_sheets(const std::string& file, const std::string& origin, const std::vector<sheet>& sheets) {
  std::string body;
  for (const sheet& s : sheets) body += body_of(s);
  body += "<h2>Measured on</h2>\n" + origin_of(origin);
  return tobi_plot::write_file(file, tobi_plot::page("Tobiuo: cost sheet", body));
}

}  // namespace tobi_perf
