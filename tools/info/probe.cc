// SPDX-License-Identifier: Apache-2.0
#include "tools/info/probe.hpp"

#include <unistd.h>

#include <cstdio>

#include "libcore/base/log.hpp"
#include "tools/info/child.hpp"

namespace tobi_info {

int run_probe(const std::string& what) {
  // A vendor's library may print what it likes, but not among the findings.
  const int out = dup(STDOUT_FILENO);
  dup2(STDERR_FILENO, STDOUT_FILENO);
  const teller tell = [out](const json& found) {
    const std::string line = found.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
    if (write(out, line.data(), line.size()) < 0) std::perror("tobi-info");
  };
  const std::size_t space = what.find(' ');
  const std::string task = what.substr(0, space);
  const std::string name = space == std::string::npos ? "" : what.substr(space + 1);
  if (task == "ways") {
    list_ways(tell);
    tell({{finished, true}});
    return 0;
  }
  const job_here job = read_job();
  for (const tobi::transports::registry_entry& entry : tobi::transports::registry()) {
    if (entry.name != name) continue;
    if (task == "look") look(entry, job, tell);
    if (task == "measure") measure(entry, job, tell);
    tell({{finished, true}});
    return 0;
  }
  tobi::base::fatal("tobi-info has no probe \"" + what + "\".", tobi::base::exit_usage);
}

}  // namespace tobi_info
