// SPDX-License-Identifier: Apache-2.0
// Where the workers' time went, as tables.
#include <fmt/format.h>

#include <algorithm>

#include "tools/plot/svg.hpp"
#include "tools/report/limit.hpp"
#include "tools/report/where.hpp"

namespace tobi_report {

namespace {

std::string bytes_cell(std::uint64_t bytes) { return bytes_text(static_cast<double>(bytes)); }

// Columns of doings that some worker knows, the most time first.
std::vector<doing> known_doings(const where_time_went& w) {
  std::vector<doing> known;
  for (std::size_t i = 0; i < doings; ++i) {
    if (w.all[i] > 0) known.push_back(static_cast<doing>(i));
  }
  std::stable_sort(known.begin(), known.end(), [&](doing a, doing b) { return share(w.all, a) > share(w.all, b); });
  return known;
}

// A line of the table of times.
struct time_row {
  std::string head;
  const times* of = nullptr;
  std::uint64_t fetched = 0, written = 0;
  double seconds = 0;  // of a phase
};
// "and 7 workers more" is a line with a head alone.
std::vector<time_row> time_rows(const trace& t, const where_time_went& w) {
  constexpr std::size_t most = 24;  // of workers, and of phases
  time_row all{"all workers", &w.all};
  for (const rank_facts& r : t.ranks) {
    all.fetched += r.fetched_bytes;
    all.written += r.written_bytes;
  }
  std::vector<time_row> rows{all};
  const auto more = [&rows](std::size_t shown, std::size_t there_are, const char* what) {
    if (there_are > shown) rows.push_back({fmt::format("and {} {} more", there_are - shown, what)});
  };
  const std::size_t workers = w.workers.size() > 1 ? std::min(most, w.workers.size()) : 0;
  for (std::size_t r = 0; r < workers; ++r) {
    rows.push_back({fmt::format("worker {}", r), &w.workers[r], t.ranks[r].fetched_bytes, t.ranks[r].written_bytes});
  }
  if (workers != 0) more(workers, w.workers.size(), "workers");
  const std::size_t phases = std::min(most, w.phases.size());
  for (std::size_t i = 0; i < phases; ++i) {
    const phase& p = w.phases[i];
    rows.push_back({p.times == 1 ? p.name : fmt::format("{} ({} times)", p.name, p.times), &p.time, p.fetched_bytes,
                    p.written_bytes, p.seconds});
  }
  more(phases, w.phases.size(), "phases");
  return rows;
}

}  // namespace

void print_where(const trace& t, const where_time_went& w) {
  constexpr std::size_t most_sites = 10;
  if (all_of(w.all) <= 0) return;
  fmt::print("  what limits it: {}\n", w.sentence);
  const std::vector<doing> known = known_doings(w);
  const std::vector<time_row> rows = time_rows(t, w);
  const bool moves = rows[0].fetched != 0 || rows[0].written != 0;
  std::size_t wide = 0;
  for (const time_row& r : rows) wide = std::max(wide, r.head.size());
  fmt::print("  {:<{}}", "time of", wide);
  for (const doing d : known) fmt::print("{:>12}", words_for(d));
  fmt::print("{}\n", moves ? fmt::format("{:>12}{:>14}", "fetched", "written back") : "");
  for (const time_row& r : rows) {
    fmt::print("  {:<{}}", r.head, wide);
    if (r.of != nullptr) {
      for (const doing d : known) fmt::print("{:>10.1f} %", share(*r.of, d) * 100);
      if (moves) fmt::print("{:>12}{:>14}", bytes_cell(r.fetched), bytes_cell(r.written));
      if (r.seconds > 0) fmt::print("   {:.6f} s", r.seconds);
    }
    fmt::print("\n");
  }
  std::uint64_t checkouts = 0, hits = 0;
  for (const rank_facts& r : t.ranks) {
    checkouts += r.checkouts;
    hits += r.hits;
  }
  if (checkouts != 0) {
    fmt::print("  checkouts {}, {:.2f} % of them found here\n", checkouts,
               static_cast<double>(hits) / static_cast<double>(checkouts) * 100);
  }
  if (t.sites.empty()) return;
  fmt::print("  {:>12}{:>12}{:>14}  fetched for\n", "bytes", "pieces", "waited, s");
  for (std::size_t i = 0; i < std::min(most_sites, t.sites.size()); ++i) {
    const fetch_site& s = t.sites[i];
    fmt::print("  {:>12}{:>12}{:>14.6f}  {}\n", bytes_cell(s.bytes), s.pieces, static_cast<double>(s.waited_ns) / 1e9,
               s.place);
  }
  if (t.sites.size() > most_sites) fmt::print("  and {} places more\n", t.sites.size() - most_sites);
}

std::string where_of(const trace& t, const where_time_went& w) {
  if (all_of(w.all) <= 0) return "";
  const std::vector<doing> known = known_doings(w);
  const auto cell = [](const std::string& text) { return "<td class=\"n\">" + text + "</td>"; };
  std::string out =
      "<p><strong>What limits it:</strong> " + tobi_plot::escaped(w.sentence) + "</p>\n<table><tr><th>time of</th>";
  for (const doing d : known) out += fmt::format("<th>{}</th>", words_for(d));
  out += "<th>fetched</th><th>written back</th><th>seconds</th></tr>\n";
  for (const time_row& r : time_rows(t, w)) {
    out += "<tr><td>" + tobi_plot::escaped(r.head) + "</td>";
    if (r.of != nullptr) {
      for (const doing d : known) out += cell(fmt::format("{:.1f} %", share(*r.of, d) * 100));
      out += cell(bytes_cell(r.fetched)) + cell(bytes_cell(r.written)) +
             cell(r.seconds > 0 ? fmt::format("{:.6f}", r.seconds) : "");
    }
    out += "</tr>\n";
  }
  out += "</table>\n";
  if (t.sites.empty()) return out;
  out += "<table><tr><th>fetched for</th><th>bytes</th><th>pieces</th><th>waited, s</th></tr>\n";
  for (const fetch_site& s : t.sites) {
    out += "<tr><td>" + tobi_plot::escaped(s.place) + "</td>" + cell(bytes_cell(s.bytes)) +
           cell(std::to_string(s.pieces)) + cell(fmt::format("{:.6f}", static_cast<double>(s.waited_ns) / 1e9)) +
           "</tr>\n";
  }
  return out + "</table>\n";
}

}  // namespace tobi_report
