// SPDX-License-Identifier: Apache-2.0
// The functions of libpmix, found at run time.
#pragma once

#include <pmix.h>

#include <string>

namespace tobi::bootstrap::pmix {

struct library {
  decltype(&PMIx_Init) init = nullptr;
  decltype(&PMIx_Finalize) finalize = nullptr;
  decltype(&PMIx_Abort) abort = nullptr;
  decltype(&PMIx_Put) put = nullptr;
  decltype(&PMIx_Commit) commit = nullptr;
  decltype(&PMIx_Fence_nb) fence_nb = nullptr;
  decltype(&PMIx_Get) get = nullptr;
  decltype(&PMIx_Register_event_handler) register_event_handler = nullptr;
  decltype(&PMIx_Error_string) error_string = nullptr;
  decltype(&PMIx_Get_version) get_version = nullptr;

  /// "" when everything above is there, else what is wrong and what to do, without a period.
  [[nodiscard]] std::string load();
};

}  // namespace tobi::bootstrap::pmix
