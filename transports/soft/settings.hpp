// SPDX-License-Identifier: Apache-2.0
// What a user may say of software atomics.
#pragma once

#include <cstdint>

#include "libcore/base/setting_rules.hpp"

namespace tobi::transports::soft {

/// Where atomics are executed.
enum class amo_place : std::uint8_t { automatic, native, inline_, thread, worker };

struct settings {
  amo_place amo_server = amo_place::automatic;  // software atomics where the fabric has none, or has poor ones
};

inline constexpr base::value_names<amo_place, 5> amo_names{{{"auto", amo_place::automatic},
                                                            {"native", amo_place::native},
                                                            {"inline", amo_place::inline_},
                                                            {"thread", amo_place::thread},
                                                            {"worker", amo_place::worker}}};
inline constexpr base::setting setting_rows[] = {
    {"TOBI_AMO_SERVER", base::agreement::given, base::choice_of<&settings::amo_server, amo_names>,
     "what executes atomics: the fabric (native), the target's worker, a thread of it, or one worker of each node"},
};

}  // namespace tobi::transports::soft
