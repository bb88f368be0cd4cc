// SPDX-License-Identifier: Apache-2.0
// The plot of latency against size, made of the parts of tools/plot.
#include <map>

#include "libcore/base/settings.hpp"
#include "tools/perf/report.hpp"
#include "tools/plot/lines.hpp"
#include "tools/plot/svg.hpp"

namespace tobi_perf {

namespace {

constexpr tobi_plot::field field{.width = 800, .height = 520, .left = 90, .right = 210, .top = 50, .bottom = 70};

std::string bytes(double n) { return tobi::base::format_size(static_cast<std::uint64_t>(n)); }

}  // namespace

bool write_plot(const std::string& file, const std::string& title, const std::vector<row>& rows) {
  bool several = false;
  for (const row& r : rows) several = several || r.op != rows.front().op;
  std::map<std::string, std::vector<tobi_plot::point>> found;
  for (const row& r : rows) {
    if (!r.ns || !r.size || r.ns->median <= 0) continue;
    found[r.transport + (several ? " " + r.op : "") +
          (r.by == calls::transport ? "" : std::string(" ") + name_of(r.by))]
        .push_back({static_cast<double>(*r.size), r.ns->median / 1000});
  }
  std::vector<tobi_plot::series> all;
  for (const auto& [name, points] : found) {
    all.push_back({name, points, nullptr, name.ends_with(" raw") || name.ends_with(" best")});
  }
  const std::string body = tobi_plot::lines(field, title, {"bytes", 2, &bytes}, {"median latency in microseconds", 10},
                                            all, "nothing was measured");
  return tobi_plot::write_file(file, tobi_plot::document(field.width, field.height, body));
}

}  // namespace tobi_perf
