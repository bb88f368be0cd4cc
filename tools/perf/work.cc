// SPDX-License-Identifier: Apache-2.0
#include "tools/perf/work.hpp"

namespace tobi_perf {

namespace {

using json = nlohmann::ordered_json;

}  // namespace

json to_json(const row& r) {
  const auto us = [&](double summary::*what) { return r.ns ? json((*r.ns).*what / 1000) : json(); };
  const bool fast = r.ns && r.ns->median > 0;
  json all{{"op", r.op},
           {"transport", r.transport},
           {"size", r.size ? json(*r.size) : json()},
           {"raw", r.raw},
           {"iterations", r.iterations},
           {"min_us", us(&summary::min)},
           {"median_us", us(&summary::median)},
           {"mean_us", us(&summary::mean)},
           {"p99_us", us(&summary::p99)},
           {"p999_us", us(&summary::p999)},
           {"bytes_per_second", fast && r.size ? json(static_cast<double>(*r.size) * 1e9 / r.ns->median) : json()},
           {"operations_per_second", fast ? json(1e9 / r.ns->median) : json()}};
  if (r.round_trips) all["round_trips"] = *r.round_trips;
  return all;
}

std::string to_line(const row& r) {
  json line{{"op", r.op},        {"transport", r.transport},     {"raw", r.raw},
            {"n", r.iterations}, {"k", r.operations_per_sample}, {"note", r.note}};
  if (r.size) line["size"] = *r.size;
  if (r.ratio) line["ratio"] = *r.ratio;
  if (r.round_trips) line["trips"] = *r.round_trips;
  if (r.ns) line["ns"] = {r.ns->min, r.ns->median, r.ns->mean, r.ns->p99, r.ns->p999};
  return line.dump();
}

bool from_line(const std::string& line, row& r) {
  const json j = json::parse(line, nullptr, false);
  if (!j.is_object() || !j.contains("note")) return false;
  r = {};
  r.op = j["op"];
  r.transport = j["transport"];
  r.raw = j["raw"];
  r.iterations = j["n"];
  r.operations_per_sample = j["k"];
  r.note = j["note"];
  if (j.contains("size")) r.size = j["size"].get<std::uint64_t>();
  if (j.contains("ratio")) r.ratio = j["ratio"].get<double>();
  if (j.contains("trips")) r.round_trips = j["trips"].get<double>();
  if (j.contains("ns")) r.ns = summary{j["ns"][0], j["ns"][1], j["ns"][2], j["ns"][3], j["ns"][4]};
  return true;
}

}  // namespace tobi_perf
