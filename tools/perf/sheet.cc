// SPDX-License-Identifier: Apache-2.0
#include "tools/perf/sheet.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "libcore/base/settings.hpp"
#include "libcore/base/text.hpp"
#include "tools/perf/report.hpp"
#include "tools/perf/units.hpp"

namespace tobi_perf {

namespace {

// What the last column of a section is, besides times.
enum class shows : std::uint8_t { nothing, bandwidth, rate, scheduled };

struct section_of_rows {
  const char* title;
  const char* about;
  shows last;
  std::vector<std::string_view> ops;  // of its rows; one that ends with * is a beginning
};

const std::vector<section_of_rows>& plan_of_sheet() {
  static const std::vector<section_of_rows> all{
      {"Set-up",
       "What a job pays before its first message. Creating the transport, registering the memory of the measurement, "
       "connecting and attaching happen once, so each has one sample. A program that registers memory while it runs "
       "pays the rows by size each time.",
       shows::nothing,
       {"create", "register_memory", "connect", "attach", "first", "register"}},
      {"Operations",
       "How long one operation takes, each behind the one before it, with a target that polls. Nobody else touches the "
       "bytes, so over shared memory they stay in a cache; the fresh ones were written by the target just before. A "
       "task that waits for one loses this time.",
       shows::nothing,
       {"get", "get-fresh", "put", "put-oneway", "put-notify", "amo-faa", "amo-cas", "chain"}},
      {"Idle target",
       "The same while the target computes and never calls the transport. Where this does not complete, or takes much "
       "longer, a worker that computes for long makes all others wait.",
       shows::nothing,
       {"get-idle", "put-idle", "amo-faa-idle"}},
      {"Blocking wake-up",
       "A round trip with a target that has fallen asleep. A worker that sleeps leaves its core to others, and pays "
       "this at the next message.",
       shows::nothing,
       {"wake"}},
      {"Sizes",
       "One get at a time, by size. Small ones cost their latency; large ones cost their bytes.",
       shows::bandwidth,
       {"get"}},
      {"Bandwidth",
       "Many operations at once, until all are complete; times are of one of them. This is the most that the fabric "
       "moves from memory to memory. Within a machine single ones of a few KiB may be faster: they stay in a cache.",
       shows::bandwidth,
       {"bw-get", "bw-put"}},
      {"Rate by window",
       "Puts of 8 bytes, so many posted at once, until all are complete; times are of one of them. A program that has "
       "fewer outstanding waits for the fabric.",
       shows::rate,
       {"rate"}},
      {"Under load",
       "Gets of 8 bytes that are due at a fixed rate: a share of the most that the same loop reaches. Times are from "
       "when one was due until it is complete, so that what has to wait counts. Shared fabrics are never idle.",
       shows::scheduled,
       {"get@*"}},
      {"Several ranks",
       "Several ranks at once with the memory of one (incast), or each with that of all others in turn (all); times "
       "are of one of them, rates of all. Fetch-and-adds of one word are what a shared counter costs; a steal is like "
       "an incast.",
       shows::rate,
       {"amo-faa-incast", "rate-incast", "bw-get-all", "bw-put-all"}},
      {"Steal",
       "A steal of the runtime between two workers, from the first operation to the frame in place, with each deque; "
       "then its parts. Each sample is the mean of a run.",
       shows::nothing,
       {"steal*"}}};
  return all;
}

bool is_in(const section_of_rows& s, const row& r) {
  return std::any_of(s.ops.begin(), s.ops.end(), [&](std::string_view op) {
    return op.ends_with('*') ? r.op.starts_with(op.substr(0, op.size() - 1)) : r.op == op;
  });
}

// Other sizes of a get have a section of their own.
bool is_shown(const section_of_rows& s, const row& r) {
  return r.op != "get" || s.last == shows::bandwidth || r.size.value_or(0) == 8;
}

std::vector<std::string> line_of(const section_of_rows& s, const row& r) {
  std::string what = r.op;
  if (r.ranks != 0) {
    what += fmt::format(", {} ranks", r.ranks);
  } else if (s.last == shows::rate && r.ns) {
    what += fmt::format(", {} at once", r.operations_per_sample);
  }
  if (s.last != shows::rate && r.size) what += " " + tobi::base::format_size(*r.size);
  if (!r.ns) return {what, "not measured: " + r.note};
  const std::optional<double> p99 = r.percentile_ns(0.99);
  std::vector<std::string> cells{what, time_text(r.ns->median), times_text(r.median_within),
                                 p99 ? time_text(*p99) : "-", time_text(r.ns->max)};
  if (s.last == shows::bandwidth) cells.push_back(bandwidth_text(static_cast<double>(*r.size) * r.per_second()));
  if (s.last == shows::scheduled) cells.push_back(rate_text(r.scheduled_per_second.value_or(0)));
  if (s.last == shows::rate || s.last == shows::scheduled) cells.push_back(rate_text(r.per_second()));
  cells.push_back(r.disturbance.empty() ? "" : "disturbed: " + r.disturbance);
  return cells;
}

sheet_section section_with(const section_of_rows& s, const std::vector<row>& rows) {
  sheet_section made{s.title, s.about, {"operation", "median", "95 % interval", "p99", "max"}, {}};
  if (s.last == shows::bandwidth) made.columns.emplace_back("bandwidth");
  if (s.last == shows::scheduled) made.columns.emplace_back("due");
  if (s.last == shows::rate || s.last == shows::scheduled) made.columns.emplace_back("rate");
  made.columns.emplace_back("");
  for (const row& r : rows) {
    if (is_in(s, r) && is_shown(s, r)) made.lines.push_back(line_of(s, r));
  }
  return made;
}

// The first operation of the first row, before which nothing was sent.
void add_first(std::vector<row>& rows) {
  const row* const get = row_of(rows, "get");
  if (get == nullptr || !get->first_ns) return;
  row first{"first", get->transport, get->size, calls::transport, 1, 1, summarize({*get->first_ns}), {}, ""};
  const auto register_rows = std::find_if(rows.begin(), rows.end(), [](const row& r) { return r.op == "register"; });
  rows.insert(register_rows, first);
}

// Breaks TEXT at blanks.
std::string wrapped(const std::string& text, const std::string& margin) {
  constexpr std::size_t width = 110;
  std::string out;
  std::string line = margin;
  for (const std::string_view word : tobi::base::split(text, ' ')) {
    if (line.size() + 1 + word.size() > width) {
      out += line + "\n";
      line = margin;
    }
    line.append(line == margin ? "" : " ").append(word);
  }
  return out + line + "\n";
}

void print_section(const sheet_section& s) {
  fmt::print("\n{}\n{}", s.title, wrapped(s.about, ""));
  std::vector<std::size_t> widths;
  for (const std::string& column : s.columns) widths.push_back(column.size());
  for (const auto& line : s.lines) {
    const std::size_t cells = line.size() == s.columns.size() ? line.size() : 1;
    for (std::size_t i = 0; i < cells; ++i) widths[i] = std::max(widths[i], line[i].size());
  }
  const auto show = [&](const std::vector<std::string>& cells) {
    std::string text = "  " + fmt::format("{:<{}}", cells[0], widths[0]);
    for (std::size_t i = 1; i < cells.size(); ++i) {
      const bool prose = cells.size() != s.columns.size() || i + 1 == cells.size();
      text += prose ? "  " + cells[i] : fmt::format("  {:>{}}", cells[i], widths[i]);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    fmt::print("{}\n", text);
  };
  if (!s.columns.empty()) show(s.columns);
  for (const auto& line : s.lines) show(line);
}

}  // namespace

sheet make_sheet(const std::string& transport, std::vector<row> rows, std::vector<std::string> notes) {
  add_first(rows);
  sheet s{transport, std::move(notes), std::move(rows), {}, {}};
  for (const section_of_rows& planned : plan_of_sheet()) {
    sheet_section made = section_with(planned, s.rows);
    if (!made.lines.empty()) s.sections.push_back(std::move(made));
  }
  if (const row* const none = row_of(s.rows, sheet_op); none != nullptr) {
    s.sections = {{"Not measured", none->note + ".", {}, {}}};
  } else {
    s.meaning = findings_of(s.rows);
  }
  return s;
}

void print_sheet(const arguments& a, const sheet& s) {
  if (a.json) {
    for (const finding& f : s.meaning) fmt::print("{}\n", to_json(f, s.transport).dump());
    std::fflush(stdout);
    return;
  }
  fmt::print("\nThe costs of {}\n", s.transport);
  for (const sheet_section& section : s.sections) print_section(section);
  if (!s.meaning.empty()) fmt::print("\nWhat it means\n");
  for (const finding& f : s.meaning) fmt::print("{}", wrapped(f.text, "  "));
  std::fflush(stdout);
}

}  // namespace tobi_perf
