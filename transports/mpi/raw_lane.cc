// SPDX-License-Identifier: Apache-2.0
// MPI's own calls, in the plugin for the launcher's library (raw_lane_plugin.cc).
#include "libcore/base/mpi_plugin.hpp"
#include "tools/perf/lane.hpp"

namespace tobi_perf {

namespace {

std::unique_ptr<lane> make(const scene& s, calls by, std::string& why_not) {
  const auto plugin = tobi::base::load_mpi_plugin("tobi-perf-mpi", tobi::base::the_mpi_plugin(s.settings).library);
  using maker = lane* (*)(const scene&, calls);
  const auto in_plugin = reinterpret_cast<maker>(plugin.find("tobi_perf_raw_mpi"));
  why_not = plugin.error.empty() && in_plugin == nullptr ? "the plugin for " + plugin.library + " is of another version"
                                                         : plugin.error;
  return std::unique_ptr<lane>(in_plugin == nullptr ? nullptr : in_plugin(s, by));
}
const raw_loop here("mpi", make);

}  // namespace

}  // namespace tobi_perf
