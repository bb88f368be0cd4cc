// SPDX-License-Identifier: Apache-2.0
// Which raw loop belongs to which transport, in this build.
#include "libcore/base/mpi_plugin.hpp"
#include "tools/perf/lane.hpp"

namespace tobi_perf {

std::unique_ptr<lane> raw_lane(std::string_view transport, const scene& s, std::string& why_not) {
  if (transport == "shm") return raw_shm(s, why_not);
  if (transport == "ofi") {
#ifdef TOBI_HAVE_OFI
    return raw_ofi(s, why_not);
#else
    why_not = "this build has no raw loop for libfabric; install libfabric-dev and build again";
    return nullptr;
#endif
  }
  if (transport == "verbs") {
#ifdef TOBI_HAVE_VERBS
    return raw_verbs(s, why_not);
#else
    why_not = "this build has no raw loop for libibverbs; install libibverbs-dev and build again";
    return nullptr;
#endif
  }
  if (transport == "mpi") {
    const auto plugin = tobi::base::load_mpi_plugin("tobi-perf-mpi", tobi::base::the_mpi_plugin(s.settings).library);
    using maker = lane* (*)(const scene&);
    const auto make = reinterpret_cast<maker>(plugin.find("tobi_perf_raw_mpi"));
    why_not = plugin.error;
    return std::unique_ptr<lane>(make == nullptr ? nullptr : make(s));
  }
  why_not = "there is no raw loop for " + std::string(transport);
  return nullptr;
}

}  // namespace tobi_perf
