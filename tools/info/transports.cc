// SPDX-License-Identifier: Apache-2.0
// The transports, each looked at and measured by a child process: a vendor's library that crashes or hangs ends that
// child, and becomes a sentence here.
#include <algorithm>

#include "libcore/base/log.hpp"
#include "libcore/base/text.hpp"
#include "tools/info/child.hpp"
#include "tools/info/probe.hpp"
#include "transports/decorators/settings.hpp"
#include "transports/decorators/wrap.hpp"

namespace tobi_info {

namespace {

namespace transports = tobi::transports;

constexpr int look_seconds = 10;  // emulated and overloaded machines are slow
constexpr int measure_seconds = 12;

json fresh_line(const transports::registry_entry& entry, const job_here& job) {
  return {{"kind", "transport"},
          {"name", entry.name},
          {"summary", entry.summary},
          {"usable", false},
          {"why_not", ""},
          {"workers", job.workers},
          {"chosen", false},
          {"capabilities", json()},
          {"automatic", entry.automatic},
          {"describe", ""},
          {"route", ""},
          {"devices", json::array()},
          {"devices_error", ""},
          {"measured_passive_rma", json()},
          {"measured_passive_get", json()},
          {"measured_passive_put", json()},
          {"measured_passive_amo", json()},
          {"measured_get_us", json()},
          {"measured_put_us", json()},
          {"measured_amo_us", json()},
          {"measured_error", ""}};
}

// What a look has found goes into LINE. A transport that cannot be opened is not usable; one whose devices alone cannot
// be listed is.
void take_look(json& line, const json& found, const std::string& trouble) {
  for (const auto& [name, value] : found.items()) {
    if (line.contains(name)) line[name] = value;
  }
  if (trouble.empty()) return;
  const std::string step = found.value("step", "it was started");
  const std::string sentence = trouble + " (when " + step + ")";
  if (step == "its devices were listed") line["devices_error"] = sentence;
  if (!line["usable"].get<bool>() && !line["why_not"].get<std::string>().empty()) return;
  line["usable"] = false;
  line["why_not"] = sentence;
}

void take_measurement(json& line, const json& found, const std::string& trouble) {
  for (const auto& [name, value] : found.items()) {
    // Two workers have measured what a look could only believe.
    if (name == "claims") {
      line["capabilities"].update(value);
    } else {
      line[name] = value;
    }
  }
  line["measured_error"] = trouble;
  const json& get = line["measured_passive_get"];
  const json& put = line["measured_passive_put"];
  if (get.is_boolean() && put.is_boolean()) line["measured_passive_rma"] = get.get<bool>() && put.get<bool>();
}

}  // namespace

std::vector<json> transports_json(const job_here& job, bool measured) {
  const auto all = transports::registry();
  // The looks go on at the same time; the measurements one after the other, so that none disturbs another.
  std::vector<child> looks;
  looks.reserve(all.size());
  for (const transports::registry_entry& entry : all) looks.emplace_back("look " + std::string(entry.name));
  std::vector<json> lines;
  bool chosen = false;
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::string trouble;
    const json found = looks[i].collect(look_seconds, trouble);
    json line = fresh_line(all[i], job);
    take_look(line, found, trouble);
    const bool wanted = job.settings.transport == "auto" ? all[i].automatic : job.settings.transport == all[i].name;
    line["chosen"] = line["usable"].get<bool>() && wanted && !chosen;
    chosen = chosen || line["chosen"].get<bool>();
    if (!measured) {
      line["measured_error"] = "not asked for";
    } else if (!line["usable"].get<bool>()) {
      line["measured_error"] = "it cannot be used";
    } else if (const std::string why = found.value("pair_why_not", ""); !why.empty()) {
      line["measured_error"] = why;
    } else if (opens_as_the_launchers(all[i].name)) {
      line["measured_error"] = "a process of a launcher opens MPI once, for itself";
    }
    lines.push_back(std::move(line));
  }
  for (json& line : lines) {
    if (!line["measured_error"].get<std::string>().empty()) continue;
    std::string trouble;
    const json found = child("measure " + line["name"].get<std::string>()).collect(measure_seconds, trouble);
    take_measurement(line, found, trouble);
  }
  return lines;
}

std::vector<json> decorators_json(const job_here& job) {
  std::vector<json> lines;
  for (const transports::decorator_name& d : transports::decorator_names()) {
    const std::vector<std::string_view> list =
        tobi::base::items(job.settings.of<transports::decorators::settings>().wrap);
    const auto at = std::find(list.begin(), list.end(), d.name);
    const auto place = at == list.end() ? 0 : at - list.begin() + 1;  // 1 is next to the transport
    lines.push_back({{"kind", "decorator"},
                     {"name", d.name},
                     {"summary", d.summary},
                     {"place", place},
                     {"error", place == 0 ? "" : transports::check_wrap(job.settings)}});
  }
  return lines;
}

}  // namespace tobi_info
