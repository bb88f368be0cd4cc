// SPDX-License-Identifier: Apache-2.0
#include "tools/perf/work.hpp"

namespace tobi_perf {

namespace {

using json = nlohmann::ordered_json;

}  // namespace

json to_json(const row& r) {
  const auto us = [&](double summary::*what) { return r.ns ? json((*r.ns).*what / 1000) : json(); };
  const auto scaled = [](const std::optional<double>& value, double by) { return value ? json(*value * by) : json(); };
  const auto within = [](const std::optional<interval>& i, double by) {
    return i ? json({(*i)[0] * by, (*i)[1] * by}) : json();
  };
  const double per_second = r.per_second();
  const bool timed = per_second > 0;
  json all{{"op", r.op},
           {"transport", r.transport},
           {"size", r.size ? json(*r.size) : json()},
           {"raw", r.by != calls::transport},
           {"pairs", r.pairs},
           {"iterations", r.iterations},
           {"samples", r.ns ? r.ns->samples : 0},
           {"operations_per_sample", r.operations_per_sample},
           {"first_us", scaled(r.first_ns, 1e-3)},
           {"min_us", us(&summary::min)},
           {"median_us", us(&summary::median)},
           {"median_within_us", within(r.median_within, 1e-3)},
           {"mean_us", us(&summary::mean)},
           {"max_us", us(&summary::max)},
           {"deviation_us", us(&summary::deviation)},
           {"p99_us", scaled(r.percentile_ns(0.99), 1e-3)},
           {"p999_us", scaled(r.percentile_ns(0.999), 1e-3)},
           {"clock_us", scaled(r.clock_ns, 1e-3)},
           {"bytes_per_second", timed && r.size ? json(static_cast<double>(*r.size) * per_second) : json()},
           {"operations_per_second", timed ? json(per_second) : json()},
           {"peak_per_second", timed && !r.all_per_second && r.ns->min > 0 ? json(1e9 / r.ns->min) : json()},
           {"cpu", r.cpu ? json(*r.cpu) : json()},
           {"ratio", r.ratio ? json(*r.ratio) : json()},
           {"ratio_within", within(r.ratio_within, 1)},
           {"rounds", r.rounds},
           {"rounds_repeated", r.repeated},
           {"rounds_disturbed", r.disturbed},
           {"disturbance", r.disturbance.empty() ? json() : json(r.disturbance)},
           {"not_measured", r.ns ? json() : json(r.note)}};
  if (r.by == calls::best) all["best"] = true;
  if (r.round_trips) all["round_trips"] = *r.round_trips;
  if (r.ranks != 0) all["ranks"] = r.ranks;
  if (r.scheduled_per_second) all["scheduled_per_second"] = *r.scheduled_per_second;
  return all;
}

std::string to_line(const row& r) {
  json line{{"op", r.op},        {"transport", r.transport},     {"by", static_cast<int>(r.by)},
            {"n", r.iterations}, {"k", r.operations_per_sample}, {"note", r.note}};
  if (r.size) line["size"] = *r.size;
  if (r.ratio) line["ratio"] = *r.ratio;
  if (r.round_trips) line["trips"] = *r.round_trips;
  if (r.first_ns) line["first"] = *r.first_ns;
  if (r.clock_ns) line["clock"] = *r.clock_ns;
  if (r.all_per_second) line["all"] = *r.all_per_second;
  if (r.scheduled_per_second) line["scheduled"] = *r.scheduled_per_second;
  if (r.ranks != 0) line["ranks"] = r.ranks;
  if (r.pairs != 1) line["pairs"] = r.pairs;
  if (r.cpu) line["cpu"] = *r.cpu;
  if (r.median_within) line["within"] = *r.median_within;
  if (r.ratio_within) line["ratio within"] = *r.ratio_within;
  if (r.rounds != 0) line["rounds"] = {r.rounds, r.repeated, r.disturbed};
  if (!r.disturbance.empty()) line["disturbance"] = r.disturbance;
  if (r.ns) {
    const summary& s = *r.ns;
    line["ns"] = {s.min, s.median, s.mean, s.p99, s.p999, s.max, s.deviation};
    line["samples"] = s.samples;
  }
  return line.dump();
}

bool from_line(const std::string& line, row& r) {
  const json j = json::parse(line, nullptr, false);
  if (!j.is_object() || !j.contains("note")) return false;
  r = {};
  r.op = j["op"];
  r.transport = j["transport"];
  r.by = static_cast<calls>(j["by"].get<int>());
  r.iterations = j["n"];
  r.operations_per_sample = j["k"];
  r.note = j["note"];
  if (j.contains("size")) r.size = j["size"].get<std::uint64_t>();
  if (j.contains("ratio")) r.ratio = j["ratio"].get<double>();
  if (j.contains("trips")) r.round_trips = j["trips"].get<double>();
  if (j.contains("first")) r.first_ns = j["first"].get<double>();
  if (j.contains("clock")) r.clock_ns = j["clock"].get<double>();
  if (j.contains("all")) r.all_per_second = j["all"].get<double>();
  if (j.contains("scheduled")) r.scheduled_per_second = j["scheduled"].get<double>();
  r.ranks = j.value("ranks", 0);
  r.pairs = j.value("pairs", 1);
  if (j.contains("cpu")) r.cpu = j["cpu"].get<std::array<double, 2>>();
  if (j.contains("within")) r.median_within = j["within"].get<interval>();
  if (j.contains("ratio within")) r.ratio_within = j["ratio within"].get<interval>();
  if (j.contains("rounds")) {
    r.rounds = j["rounds"][0];
    r.repeated = j["rounds"][1];
    r.disturbed = j["rounds"][2];
  }
  r.disturbance = j.value("disturbance", "");
  if (j.contains("ns")) {
    const json& ns = j["ns"];
    r.ns = summary{ns[0], ns[1], ns[2], ns[3], ns[4], ns[5], ns[6], j["samples"]};
  }
  return true;
}

}  // namespace tobi_perf
