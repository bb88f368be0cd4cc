// SPDX-License-Identifier: Apache-2.0
#include "tools/perf/report.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdio>

#include "libcore/base/settings.hpp"

namespace tobi_perf {

namespace {

// What a sample of the operation is, in words: the numbers say nothing without it.
std::string meaning(const std::string& op) {
  if (op == "get") return "get: round trip, until the bytes are here";
  if (op == "get-fresh")
    return "get-fresh: a put asks, the target writes the bytes anew, gets until they are here. Over shm this is what\n"
           "moves a line between caches: a get of bytes that nobody writes never leaves its own";
  if (op == "put") {
    return "put: post and flush, until it is complete at the target; put-oneway: half of a ping-pong in which the "
           "target\n"
           "polls its memory and replies with a put";
  }
  if (op == "amo-faa") return "amo-faa: fetch-and-add, round trip";
  if (op == "amo-cas") return "amo-cas: compare-and-swap that succeeds, round trip";
  if (op == "put-notify") return "put-notify: one way, half of a ping-pong of puts with notices";
  if (op == "wake")
    return "wake: round trip of a put to a target that sleeps, wakes up and replies with a put; it has 200 us to fall\n"
           "asleep, which are not counted";
  if (op == sheet_op) return "all: the costs of each transport, measured in turn; the sheet follows";
  if (op == "chain") return "chain: {compare-and-swap, get of 8 bytes, get of the size} posted together, round trip";
  if (op == "rate") return "rate: puts of 8 bytes, posted as long as the transport takes them; time of one of a window";
  if (op == "bw") return "bw: gets and puts posted as long as the transport takes them; time of one of a window";
  if (op == "steal")
    return "steal: of a continuation that is there, first operation to frame in place; samples are means of a run";
  return "barrier: of all workers, as rank 0 sees it";
}

// Three digits that mean something, whatever the magnitude.
std::string number(double value) {
  if (value >= 99.995) return fmt::format("{:.1f}", value);
  return fmt::format("{:.{}f}", value, value >= 9.9995 ? 2 : value >= 0.99995 ? 3 : 4);
}
std::string scaled(double a_second, double step, std::array<const char*, 4> units) {
  std::size_t u = 0;
  while (a_second >= step && u + 1 < units.size()) {
    a_second /= step;
    ++u;
  }
  return fmt::format("{:.2f} {}", a_second, units[u]);
}

// Half of the interval of the median, of which it is a part.
std::string sureness(const row& r) {
  if (!r.median_within || r.ns->median <= 0) return "-";
  const double percent = ((*r.median_within)[1] - (*r.median_within)[0]) / 2 / r.ns->median * 100;
  return fmt::format("{:.{}f}", percent, percent < 9.95 ? 1 : 0);
}

std::string disturbed_text(const row& r) {
  const std::string rounds =
      r.disturbed == 0 ? "" : fmt::format(": {} of {} rounds, after {} more", r.disturbed, r.rounds, r.repeated);
  return fmt::format("The row above is disturbed{}; {}.", rounds, r.disturbance);
}

}  // namespace

void print_heading(const arguments& a) {
  if (a.json) {
    fmt::print("{}\n", a.provenance);
    std::fflush(stdout);
    return;
  }
  fmt::print("{}\n", meaning(a.op));
  std::fflush(stdout);
  if (a.op == sheet_op) return;
  if (!a.loads.empty()) {
    fmt::print(
        "Operations are due at a fixed rate, whatever became of those before; a time is from when one was due until it "
        "is\ncomplete. Those that are due are posted together, 64 at most, and complete together.\n");
  }
  if (a.both_ways) {
    fmt::print(
        "The target does the same to the initiator meanwhile. Bandwidth and rate are of both; times of the "
        "initiator.\n");
  }
  if (a.with == crowd::incast) fmt::print("{} ranks at once, all but rank 1, each with the memory of rank 1.", a.ranks);
  if (a.with == crowd::all_to_all) fmt::print("{} ranks at once, each with the memory of all others in turn.", a.ranks);
  if (a.with != crowd::none) fmt::print(" Bandwidth and rate are of all; times are those of rank 0.\n");
  if (a.pairs > 1) {
    fmt::print("{} pairs at once. Bandwidth and rate are of all; the median is that of the pairs' medians.\n", a.pairs);
  }
  fmt::print("{:<17}{:<10}{:>6} {:>4}{:>9}{:>6}{:>9}{:>9}{:>6}{:>9}{:>10}{:>9}{:>9}{:>9}{:>13}{:>11}{:>11}{}\n", "op",
             "transport", "size", "raw", "samples", "each", "min us", "median", "+-%", "mean", "max", "dev", "p99",
             "p99.9", "bandwidth", "rate /s", "cpu %", a.raw ? "  ratio tobi/raw" : "");
  std::fflush(stdout);
}

void print_note(const arguments& a, const std::string& text) {
  if (a.json) {
    fmt::print("{}\n", nlohmann::ordered_json{{"kind", "note"}, {"text", text}}.dump(
                           -1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  } else {
    fmt::print("# {}\n", text);
  }
  std::fflush(stdout);
}

void print_row(const arguments& a, const row& r) {
  if (a.json) {
    if (!r.note.empty()) {
      fmt::print(stderr, "tobi-perf: {} on {}{}{} is not measured: {}.\n", r.op, r.transport,
                 r.by == calls::transport ? "" : " ", name_of(r.by), r.note);
    }
    fmt::print("{}\n", to_json(r).dump());
    std::fflush(stdout);
    return;
  }
  fmt::print("{:<17}{:<10}{:>6} {:>4}", r.op, r.transport, r.size ? tobi::base::format_size(*r.size) : "-",
             name_of(r.by));
  if (r.ns) {
    const auto us = [](double ns) { return number(ns / 1000); };
    const auto known = [&](std::optional<double> ns) { return ns ? us(*ns) : std::string("-"); };
    fmt::print(
        "{:>9}{:>6}{:>9}{:>9}{:>6}{:>9}{:>10}{:>9}{:>9}{:>9}{:>13}{:>11}{:>11}", r.ns->samples, r.operations_per_sample,
        us(r.ns->min), us(r.ns->median), sureness(r), us(r.ns->mean), us(r.ns->max), us(r.ns->deviation),
        known(r.percentile_ns(0.99)), known(r.percentile_ns(0.999)),
        r.size ? scaled(static_cast<double>(*r.size) * r.per_second(), 1000, {"B/s", "kB/s", "MB/s", "GB/s"}) : "-",
        scaled(r.per_second(), 1000, {"", "k", "M", "G"}),
        r.cpu ? fmt::format("{:.0f}, {:.0f}", 100 * (*r.cpu)[0], 100 * (*r.cpu)[1]) : "-");
    if (r.ratio) {
      fmt::print("{:>16.3f}", *r.ratio);
      if (r.ratio_within) fmt::print(" ({:.3f} to {:.3f})", (*r.ratio_within)[0], (*r.ratio_within)[1]);
    } else if (r.by != calls::transport) {
      fmt::print("{:>16}", "-");
    }
    fmt::print("\n");
    if (!r.disturbance.empty()) print_note(a, disturbed_text(r));
  } else {
    fmt::print("  not measured: {}\n", r.note);
  }
  std::fflush(stdout);
}

}  // namespace tobi_perf
