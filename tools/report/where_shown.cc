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

}  // namespace

void print_where(const trace& t, const where_time_went& w) {
  constexpr std::size_t most_rows = 16;
  constexpr std::size_t most_sites = 10;
  if (all_of(w.all) <= 0) return;
  fmt::print("  what limits it: {}\n", w.sentence);
  const std::vector<doing> known = known_doings(w);
  const bool moves = !t.sites.empty() || !t.transfers.empty();
  const auto row = [&](const std::string& head, const times& of, const std::string& tail) {
    fmt::print("  {:<24}", head);
    for (const doing d : known) fmt::print("{:>10.1f} %", share(of, d) * 100);
    fmt::print("{}\n", tail);
  };
  fmt::print("  {:<24}", "time of");
  for (const doing d : known) fmt::print("{:>12}", words_for(d));
  fmt::print("{}\n", moves ? fmt::format("{:>12}{:>14}", "fetched", "written back") : "");
  std::uint64_t fetched = 0, written = 0, checkouts = 0, hits = 0;
  for (const rank_facts& r : t.ranks) {
    fetched += r.fetched_bytes;
    written += r.written_bytes;
    checkouts += r.checkouts;
    hits += r.hits;
  }
  const auto moved = [moves](std::uint64_t in, std::uint64_t out) {
    return moves ? fmt::format("{:>12}{:>14}", bytes_cell(in), bytes_cell(out)) : std::string();
  };
  row("all workers", w.all, moved(fetched, written));
  for (std::size_t r = 0; r < std::min(most_rows, w.workers.size()) && w.workers.size() > 1; ++r) {
    row(fmt::format("worker {}", r), w.workers[r], moved(t.ranks[r].fetched_bytes, t.ranks[r].written_bytes));
  }
  if (w.workers.size() > most_rows) fmt::print("  and {} workers more\n", w.workers.size() - most_rows);
  for (const phase& p : w.phases) {
    row(p.times == 1 ? p.name : fmt::format("{} ({} times)", p.name, p.times), p.time,
        moved(p.fetched_bytes, p.written_bytes) + fmt::format("   {:.6f} s", p.seconds));
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
  std::string out =
      "<p><strong>What limits it:</strong> " + tobi_plot::escaped(w.sentence) + "</p>\n<table><tr><th>time of</th>";
  for (const doing d : known) out += fmt::format("<th>{}</th>", words_for(d));
  out += "<th>fetched</th><th>written back</th><th>seconds</th></tr>\n";
  const auto row = [&](const std::string& head, const times& of, std::uint64_t in, std::uint64_t back, double seconds) {
    out += "<tr><td>" + tobi_plot::escaped(head) + "</td>";
    for (const doing d : known) out += fmt::format("<td class=\"n\">{:.1f} %</td>", share(of, d) * 100);
    out += fmt::format("<td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>\n", bytes_cell(in),
                       bytes_cell(back), seconds > 0 ? fmt::format("{:.6f}", seconds) : "");
  };
  std::uint64_t fetched = 0, written = 0;
  for (const rank_facts& r : t.ranks) {
    fetched += r.fetched_bytes;
    written += r.written_bytes;
  }
  row("all workers", w.all, fetched, written, 0);
  constexpr std::size_t most_rows = 64;
  for (std::size_t r = 0; r < std::min(most_rows, w.workers.size()) && w.workers.size() > 1; ++r) {
    row(fmt::format("worker {}", r), w.workers[r], t.ranks[r].fetched_bytes, t.ranks[r].written_bytes, 0);
  }
  for (const phase& p : w.phases) {
    row(p.times == 1 ? p.name : fmt::format("{} ({} times)", p.name, p.times), p.time, p.fetched_bytes, p.written_bytes,
        p.seconds);
  }
  out += "</table>\n";
  if (t.sites.empty()) return out;
  out += "<table><tr><th>fetched for</th><th>bytes</th><th>pieces</th><th>waited, s</th></tr>\n";
  for (const fetch_site& s : t.sites) {
    out +=
        fmt::format("<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{:.6f}</td></tr>\n",
                    tobi_plot::escaped(s.place), bytes_cell(s.bytes), s.pieces, static_cast<double>(s.waited_ns) / 1e9);
  }
  return out + "</table>\n";
}

}  // namespace tobi_report
