// SPDX-License-Identifier: Apache-2.0
// What a result needs to be measured again, and to be compared with another one: where, when, with what and by which
// command it was made. The first line of --json.
#pragma once

#include <sys/utsname.h>

#include <cstdlib>
#include <ctime>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "arch/topology.hpp"
#include "libcore/base/log.hpp"

extern char** environ;

namespace tobi_tools {

/// "Linux 6.1.0-18-amd64"; "" where the system does not say.
inline std::string kernel() {
  utsname name{};
  return uname(&name) == 0 ? std::string(name.sysname) + " " + name.release : "";
}

/// Of the call of a program by these arguments. TOBI_ settings are those that the environment has.
inline nlohmann::ordered_json provenance(int argc, char** argv) {
  const tobi::arch::machine& m = tobi::arch::this_machine();
  std::string command;
  for (int i = 0; i < argc; ++i) command.append(i == 0 ? "" : " ").append(argv[i]);
  nlohmann::ordered_json settings = nlohmann::ordered_json::object();
  for (char** e = environ; *e != nullptr; ++e) {
    const std::string_view one = *e;
    const std::size_t equals = one.find('=');
    if (one.starts_with("TOBI_") && equals != one.npos)
      settings[std::string(one.substr(0, equals))] = one.substr(equals + 1);
  }
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  char date[] = "2000-01-01T00:00:00Z";
  std::strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
  double load = 0;
  const bool loaded = getloadavg(&load, 1) == 1;
  return {{"kind", "run"},
          {"command", command},
          {"date", date},
          {"version", TOBI_VERSION},
          {"compiler", __VERSION__},
          {"host", tobi::base::host_name()},
          {"kernel", kernel()},
          {"cpu", m.cpu_model},
          {"cores_usable", m.cores.size()},
          {"cpu_quota", m.cpu_quota > 0 ? nlohmann::ordered_json(m.cpu_quota) : nlohmann::ordered_json()},
          {"load", loaded ? nlohmann::ordered_json(load) : nlohmann::ordered_json()},
          {"settings", settings}};
}

}  // namespace tobi_tools
