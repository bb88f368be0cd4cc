// SPDX-License-Identifier: Apache-2.0
// What a user may say of a Tofu interconnect.
#pragma once

#include <cstdint>
#include <string>

#include "libcore/base/setting_rules.hpp"

namespace tobi::transports::utofu {

/// What UTOFU_ONESIDED_FLAG_STRONG_ORDER is trusted to order: puts and atomics behind each other, or gets with them
/// too.
enum class trusted_order : std::uint8_t { writes, all };

struct settings {
  std::string library;  // "": libtofucom.so, as the loader finds it
  int tni = -1;         // -1: by the worker's place on its node
  trusted_order order = trusted_order::writes;
};

inline constexpr base::value_names<trusted_order, 2> order_names{
    {{"writes", trusted_order::writes}, {"all", trusted_order::all}}};
inline constexpr base::setting setting_rows[] = {
    {"TOBI_UTOFU_LIBRARY", base::agreement::offered, base::name{base::field<&settings::library>, "", "libtofucom.so"},
     "file of the uTofu library"},
    {"TOBI_UTOFU_TNI", base::agreement::offered,
     base::number<int>{base::field<&settings::tni>, 0, 63, "by the worker's place on its node"},
     "network interface (TNI) that a worker uses"},
    {"TOBI_UTOFU_ORDER", base::agreement::given, base::choice_of<&settings::order, order_names>,
     "what the fabric's strong order is trusted to order: puts and atomics, or gets too"},
};

}  // namespace tobi::transports::utofu
