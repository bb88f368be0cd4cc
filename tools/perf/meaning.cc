// SPDX-License-Identifier: Apache-2.0
#include "tools/perf/meaning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tools/perf/units.hpp"

namespace tobi_perf {

namespace {

constexpr double block_factor = 1.25;  // of the best time per byte
constexpr double enough_rate = 0.9;    // of the best rate
constexpr double still_falls = 0.9;    // of the time per byte at the size before
constexpr double steal_share = 0.1;    // of a task that is stolen
constexpr double far_slower = 2;       // with an idle target

using points = std::vector<std::array<double, 2>>;  // size, time per byte

// Where the line through A and B, of logarithms, is at HEIGHT.
double crossing(const std::array<double, 2>& a, const std::array<double, 2>& b, double height) {
  const double share = std::log(a[1] / height) / std::log(a[1] / b[1]);
  return std::exp(std::log(a[0]) + share * std::log(b[0] / a[0]));
}

// The first size at which the curve is not above HEIGHT.
std::optional<double> first_below(const points& curve, double height) {
  for (std::size_t i = 0; i < curve.size(); ++i) {
    if (curve[i][1] > height) continue;
    return i == 0 ? curve[0][0] : crossing(curve[i - 1], curve[i], height);
  }
  return std::nullopt;
}

// Per byte, at one end of the intervals; -1: in their middle.
points per_byte(const std::vector<at_size>& times, int end) {
  points all;
  for (const at_size& t : times)
    all.push_back({t.size, (end < 0 ? t.value : (*t.within)[static_cast<std::size_t>(end)]) / t.size});
  return all;
}

double best_of(const points& curve) {
  const auto lower = [](const auto& a, const auto& b) { return a[1] < b[1]; };
  return (*std::min_element(curve.begin(), curve.end(), lower))[1];
}

bool have_intervals(const std::vector<at_size>& all) {
  return std::all_of(all.begin(), all.end(), [](const at_size& one) { return one.within.has_value(); });
}

std::string within_text(const std::optional<interval>& i, std::string (*of)(double)) {
  return i ? fmt::format(" ({} to {})", of((*i)[0]), of((*i)[1])) : " (no interval)";
}

std::string why_none(const row* r, const char* what) {
  return r == nullptr || r->note.empty() ? fmt::format("{} was not measured", what)
                                         : fmt::format("{} was not measured: {}", what, r->note);
}

finding undetermined(const char* name, const char* unit, const std::string& text) {
  return {name, unit, {}, {}, "Undetermined: " + text + ".", false};
}

finding grain_of(const std::vector<row>& rows) {
  const auto at = std::find_if(rows.begin(), rows.end(), [](const row& r) { return r.op.starts_with("steal"); });
  const row* steal = at == rows.end() ? nullptr : &*at;
  if (steal == nullptr || !steal->ns) return undetermined("grain", "ns", why_none(steal, "a steal"));
  const double times = 1 / steal_share;
  finding f{"grain", "ns", times * steal->ns->median, {}, ""};
  if (steal->median_within) f.within = {{times * (*steal->median_within)[0], times * (*steal->median_within)[1]}};
  f.text = fmt::format(
      "A task that is stolen should compute for {:.0f} times a steal, {}{}: then the steal costs at most {:.0f} % of "
      "it.",
      times, time_text(*f.value), within_text(f.within, time_text), 100 * steal_share);
  return f;
}

std::vector<at_size> gets_of(const std::vector<row>& rows) {
  std::vector<at_size> all;
  for (const row& r : rows) {
    if (r.op == "get" && r.ns && r.ns->median > 0)
      all.push_back({static_cast<double>(*r.size), r.ns->median, r.median_within});
  }
  std::sort(all.begin(), all.end(), [](const at_size& a, const at_size& b) { return a.size < b.size; });
  return all;
}

finding size_finding(const std::vector<row>& rows, const char* name, double factor, const char* what) {
  const std::optional<size_found> found = size_within(gets_of(rows), factor);
  if (!found) return undetermined(name, "bytes", why_none(row_of(rows, "get"), "a get of two sizes"));
  finding f{name, "bytes", found->value, found->within, ""};
  const char* const prefix = found->at_least ? "at least " : found->at_most ? "at most " : "";
  f.text = fmt::format("{} is {}{}{}.{}", what, prefix, bytes_text(found->value),
                       found->at_most || found->at_least ? "" : within_text(found->within, bytes_text),
                       found->at_least ? " The time per byte still falls at the largest size that was measured." : "");
  if (found->last > factor)
    f.text += fmt::format(" At the largest size a byte costs {:.1f} times the best: it is slower again.", found->last);
  return f;
}

finding window_finding(const std::vector<row>& rows) {
  std::vector<at_size> rates;
  for (const row& r : rows) {
    if (r.op != "rate" || !r.ns || r.ns->median <= 0) continue;
    at_size one{static_cast<double>(r.operations_per_sample), 1e9 / r.ns->median, {}};
    if (r.median_within && (*r.median_within)[0] > 0)
      one.within = {{1e9 / (*r.median_within)[1], 1e9 / (*r.median_within)[0]}};
    rates.push_back(one);
  }
  std::sort(rates.begin(), rates.end(), [](const at_size& a, const at_size& b) { return a.size < b.size; });
  const std::optional<size_found> found = window_for(rates, enough_rate);
  if (!found) return undetermined("outstanding", "operations", why_none(row_of(rows, "rate"), "a rate"));
  finding f{"outstanding", "operations", found->value, found->within, ""};
  f.text = fmt::format(
      "{:.0f} small puts at once{} have {:.0f} % of the best rate that was measured.{}", found->value,
      found->within ? fmt::format(" ({:.0f} to {:.0f})", (*found->within)[0], (*found->within)[1]) : " (no interval)",
      100 * enough_rate, found->at_least ? " The rate still rises at the largest window." : "");
  return f;
}

// Of an operation with an idle target, compared with one whose target polls.
finding idle_finding(const std::vector<row>& rows, const std::string& op) {
  const std::string name = op + "_idle";
  const row* const idle = row_of(rows, op + "-idle");
  const row* const hot = row_of(rows, op, 8);
  finding f{name, "times", {}, {}, ""};
  if (idle == nullptr || (!idle->ns && idle->note != "the target must poll"))
    return undetermined(name.c_str(), "times", why_none(idle, (op + " on an idle target").c_str()));
  if (!idle->ns) {
    f.text = fmt::format("{} does not complete while the target computes: some thread has to poll there.", op);
    return f;
  }
  if (hot == nullptr || !hot->ns) return undetermined(name.c_str(), "times", why_none(hot, op.c_str()));
  f.value = idle->ns->median / hot->ns->median;
  if (idle->median_within && hot->median_within && (*hot->median_within)[0] > 0) {
    f.within = {
        {(*idle->median_within)[0] / (*hot->median_within)[1], (*idle->median_within)[1] / (*hot->median_within)[0]}};
  }
  const auto ratio = [](double r) { return fmt::format("{:.2f}", r); };
  f.text = fmt::format("{} completes while the target computes, in {:.2f} times the time{}{}.", op, *f.value,
                       within_text(f.within, ratio), *f.value > far_slower ? ": a thread there helps, late" : "");
  return f;
}

finding fresh_finding(const std::vector<row>& rows) {
  const row* const fresh = row_of(rows, "get-fresh", 8);
  if (fresh == nullptr || !fresh->ns) return undetermined("fresh", "ns", why_none(fresh, "a get of new bytes"));
  finding f{"fresh", "ns", fresh->ns->median, fresh->median_within, ""};
  f.text = fmt::format(
      "To ask the other for 8 new bytes and to have them takes {}{}: this, and not a get of old bytes, is what "
      "communication costs.",
      time_text(*f.value), within_text(f.within, time_text));
  return f;
}

// What the last of a hundred has to wait for others.
finding load_finding(const std::vector<row>& rows) {
  const row* const little = row_of(rows, "get@10%");
  const row* const much = row_of(rows, "get@90%");
  if (little == nullptr || !little->ns) return undetermined("load", "ns", why_none(little, "a get under load"));
  if (much == nullptr || !much->ns) return undetermined("load", "ns", why_none(much, "a get under load"));
  const std::optional<double> light = little->percentile_ns(0.99);
  const std::optional<double> heavy = much->percentile_ns(0.99);
  if (!light || !heavy) return undetermined("load", "ns", "fewer than 1000 gets under load have no percentile");
  finding f{"load", "ns", *heavy, {}, ""};
  f.text = fmt::format(
      "99 of 100 gets end within {} of the time at which they are due at 10 % of the load, and within {} at 90 %; "
      "their "
      "medians are {}{} and {}{}.",
      time_text(*light), time_text(*heavy), time_text(little->ns->median),
      within_text(little->median_within, time_text), time_text(much->ns->median),
      within_text(much->median_within, time_text));
  return f;
}

finding contention_finding(const std::vector<row>& rows) {
  const row* several = nullptr;  // the most
  for (const row& r : rows) {
    if (r.op == "amo-faa-incast" && (several == nullptr || r.ns)) several = &r;
  }
  const row* const alone = row_of(rows, "amo-faa");
  if (several == nullptr || !several->ns)
    return undetermined("contention", "times", why_none(several, "a word that several add to"));
  if (alone == nullptr || !alone->ns) return undetermined("contention", "times", why_none(alone, "a fetch-and-add"));
  finding f{"contention", "times", several->ns->median / alone->ns->median, {}, ""};
  if (several->median_within && alone->median_within && (*alone->median_within)[0] > 0) {
    f.within = {{(*several->median_within)[0] / (*alone->median_within)[1],
                 (*several->median_within)[1] / (*alone->median_within)[0]}};
  }
  const auto ratio = [](double r) { return fmt::format("{:.2f}", r); };
  f.text = fmt::format("A word that {} ranks add to costs each of them {:.2f} times as much{}; all of them reach {}.",
                       several->ranks, *f.value, within_text(f.within, ratio), rate_text(several->per_second()));
  return f;
}

// A round trip with a target that sleeps has two ways and one wake-up.
finding wake_finding(const std::vector<row>& rows) {
  const row* const wake = row_of(rows, "wake");
  const row* const way = row_of(rows, "put-oneway", 8);
  if (wake == nullptr || !wake->ns) return undetermined("wake", "ns", why_none(wake, "a wake-up"));
  if (way == nullptr || !way->ns) return undetermined("wake", "ns", why_none(way, "one way of a put"));
  finding f{"wake", "ns", wake->ns->median - 2 * way->ns->median, {}, ""};
  if (wake->median_within && way->median_within) {
    f.within = {{(*wake->median_within)[0] - 2 * (*way->median_within)[1],
                 (*wake->median_within)[1] - 2 * (*way->median_within)[0]}};
  }
  if (*f.value <= 0 || (f.within && (*f.within)[0] <= 0)) {
    return undetermined("wake", "ns", "a round trip with a sleeping target was no longer than one with a polling one");
  }
  f.text = fmt::format(
      "A worker that sleeps begins {}{} later than one that polls: poll for about as long before it "
      "sleeps.",
      time_text(*f.value), within_text(f.within, time_text));
  return f;
}

}  // namespace

const row* row_of(const std::vector<row>& rows, std::string_view op, std::uint64_t size) {
  const auto at = std::find_if(rows.begin(), rows.end(),
                               [&](const row& r) { return r.op == op && (size == 0 || r.size.value_or(0) == size); });
  return at == rows.end() ? nullptr : &*at;
}

std::optional<size_found> size_within(const std::vector<at_size>& times, double factor) {
  if (times.size() < 2) return std::nullopt;
  const points curve = per_byte(times, -1);
  const double best = best_of(curve);
  size_found found{*first_below(curve, factor * best)};
  found.at_most = curve.front()[1] <= factor * best;
  const double last = curve.back()[1];
  found.at_least = last == best && last < still_falls * curve[curve.size() - 2][1];
  found.last = last / best;
  if (!have_intervals(times)) return found;
  const points low = per_byte(times, 0);
  const points high = per_byte(times, 1);
  const std::optional<double> earliest = first_below(low, factor * best_of(high));
  const std::optional<double> latest = first_below(high, factor * best_of(low));
  if (earliest && latest) found.within = interval{*earliest, *latest};
  return found;
}

std::optional<size_found> window_for(const std::vector<at_size>& rates, double share) {
  if (rates.empty()) return std::nullopt;
  const bool sure = have_intervals(rates);
  double best = 0;
  interval best_within{0, 0};
  for (const at_size& r : rates) {
    best = std::max(best, r.value);
    if (!sure) continue;
    for (std::size_t end = 0; end < 2; ++end) best_within[end] = std::max(best_within[end], (*r.within)[end]);
  }
  const auto first = [&](const auto& reaches) { return std::find_if(rates.begin(), rates.end(), reaches); };
  size_found found{first([&](const at_size& r) { return r.value >= share * best; })->size};
  found.at_least = rates.size() > 1 && rates.back().value == best && found.value == rates.back().size;
  if (!sure) return found;
  const auto earliest = first([&](const at_size& r) { return (*r.within)[1] >= share * best_within[0]; });
  const auto latest = first([&](const at_size& r) { return (*r.within)[0] >= share * best_within[1]; });
  if (latest != rates.end()) found.within = interval{earliest->size, latest->size};
  return found;
}

std::vector<finding> findings_of(const std::vector<row>& rows) {
  return {grain_of(rows),
          size_finding(rows, "block", block_factor,
                       "The block of a cache from which on bytes cost within 25 % of the best"),
          size_finding(rows, "half_bandwidth", 2, "The size at which a get has half of the best bandwidth"),
          window_finding(rows),
          fresh_finding(rows),
          idle_finding(rows, "get"),
          idle_finding(rows, "put"),
          idle_finding(rows, "amo-faa"),
          wake_finding(rows),
          load_finding(rows),
          contention_finding(rows)};
}

nlohmann::ordered_json to_json(const finding& f, const std::string& transport) {
  using json = nlohmann::ordered_json;
  return {{"kind", "meaning"},
          {"transport", transport},
          {"name", f.name},
          {"known", f.known},
          {"unit", f.unit},
          {"value", f.value ? json(*f.value) : json()},
          {"within", f.within ? json(*f.within) : json()},
          {"text", f.text}};
}

}  // namespace tobi_perf
