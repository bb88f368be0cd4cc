// SPDX-License-Identifier: Apache-2.0
// --listen and --connect: a tool on two hosts without a launcher, as users of perftest expect it. The tool executes
// itself anew under the settings that do it, TOBI_LISTEN and TOBI_CONNECT: the library looks at these before main
// begins.
#pragma once

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tools/command_line.hpp"

namespace tobi_tools {

struct meeting {
  bool listen = false;
  std::string connect;
};

inline void add_meeting(CLI::App& app, meeting& m) {
  auto* const listens = app.add_flag("--listen", m.listen, "wait for another host's --connect, and take its options");
  app.add_option("--connect", m.connect, "HOST or HOST:PORT that listens: measure between the two")->excludes(listens);
}

/// Does not return where the tool has to begin anew.
inline void meet(const meeting& m, const char* tool, char** argv, int processes = 2) {
  const char* name = m.listen ? "TOBI_LISTEN" : "TOBI_CONNECT";
  const std::string value = m.listen ? std::to_string(processes) : m.connect;
  if (value.empty()) return;
  if (const char* now = std::getenv(name); now != nullptr && *now != '\0') return;
  setenv(name, value.c_str(), 1);
  setenv("TOBI_BOOTSTRAP", "tcp", 1);
  execv("/proc/self/exe", argv);
  refuse(tool, std::string("--listen and --connect need /proc/self/exe (") + std::strerror(errno) + ")");
}

}  // namespace tobi_tools
