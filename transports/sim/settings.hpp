// SPDX-License-Identifier: Apache-2.0
// What a user may say of the simulated fabric.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "libcore/base/setting_rules.hpp"

namespace tobi::transports::sim {

struct settings {
  std::string modes;  // with commas
  std::uint64_t seed = 1;
};

inline constexpr base::setting setting_rows[] = {
    {"TOBI_SIM", base::agreement::given, base::name{base::field<&settings::modes>},
     "modes of the simulated transport, such as manual,depth1,nochain (sim.hpp has them)"},
    {"TOBI_SIM_SEED", base::agreement::given,
     base::number<std::uint64_t>{base::field<&settings::seed>, 0, std::numeric_limits<std::uint64_t>::max()},
     "seed of the simulated transport"},
};

}  // namespace tobi::transports::sim
