// SPDX-License-Identifier: Apache-2.0
// What a user may say of the decorators.
#pragma once

#include <string>

#include "libcore/base/setting_rules.hpp"

namespace tobi::transports::decorators {

struct settings {
  std::string wrap;   // decorators around the transport, with commas
  std::string fault;  // what the decorator fault injects
  std::string mask;   // capabilities that are taken away, with commas
};

inline constexpr base::setting setting_rows[] = {
    {"TOBI_WRAP", base::agreement::offered, base::name{base::field<&settings::wrap>},
     "decorators around the transport: stats, trace, fault, with commas between"},
    {"TOBI_FAULT", base::agreement::offered, base::name{base::field<&settings::fault>},
     "what the decorator fault does, such as again=N, delay=US, lose=RANK@N, with commas between"},
    {"TOBI_MASK", base::agreement::given, base::name{base::field<&settings::mask>},
     "capabilities that the transport is run without, such as amo,chain, with commas between"},
};

}  // namespace tobi::transports::decorators
