// SPDX-License-Identifier: Apache-2.0
// What tobi-info tells, as JSON objects: the lines for programs and the tables for people are made from the same ones,
// so that they cannot differ.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "libcore/base/settings.hpp"
#include "transports/transport.hpp"

namespace tobi_info {

using json = nlohmann::ordered_json;

/// The job that a program started here would be.
struct job_here {
  tobi::base::settings settings;
  int workers = 0;
  /// What each transport is asked about: this job, or, with SIZE, one of so many workers.
  [[nodiscard]] tobi::transports::context context(int size = 0) const;
};
/// Reads the settings. Fatal where no job could start with them.
job_here read_job();

json machine_json(const job_here& job);
json pages_json();
std::vector<json> bootstraps_json();
json setting_json(const tobi::base::setting_row& row);
/// Each transport looked at, and measured if MEASURED, by a child process of its own.
std::vector<json> transports_json(const job_here& job, bool measured);
std::vector<json> decorators_json(const job_here& job);

}  // namespace tobi_info
