// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/pmix/library.hpp"

#include "libcore/base/shared_library.hpp"

namespace tobi::bootstrap::pmix {

namespace {

constexpr const char* file = "libpmix.so.2";

}  // namespace

std::string library::load() {
  const base::shared_library so(file);
  if (!so.is_open()) {
    return "the PMIx library cannot be loaded (" + so.error() +
           "); install libpmix2, or name its folder in LD_LIBRARY_PATH";
  }
  const char* lacks = so.resolve({{"PMIx_Init", init},
                                  {"PMIx_Finalize", finalize},
                                  {"PMIx_Abort", abort},
                                  {"PMIx_Put", put},
                                  {"PMIx_Commit", commit},
                                  {"PMIx_Fence_nb", fence_nb},
                                  {"PMIx_Get", get},
                                  {"PMIx_Register_event_handler", register_event_handler},
                                  {"PMIx_Error_string", error_string},
                                  {"PMIx_Get_version", get_version}});
  return lacks == nullptr ? "" : std::string(file) + " lacks a function of PMIx 4; install version 4.0 or newer";
}

}  // namespace tobi::bootstrap::pmix
