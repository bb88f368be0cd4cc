// SPDX-License-Identifier: Apache-2.0
// What a user may say of libfabric's provider.
#pragma once

#include <cstdint>
#include <string>

#include "libcore/base/setting_rules.hpp"

namespace tobi::transports::ofi {

/// What moves a provider that does not move itself.
enum class progress_mode : std::uint8_t { automatic, manual, thread };

struct settings {
  std::string domain;    // "": the provider's first
  std::string provider;  // "": the best one that can serve
  progress_mode progress = progress_mode::automatic;
};

inline constexpr base::value_names<progress_mode, 3> progress_names{
    {{"auto", progress_mode::automatic}, {"manual", progress_mode::manual}, {"thread", progress_mode::thread}}};
inline constexpr base::setting setting_rows[] = {
    {"TOBI_OFI_PROVIDER", base::agreement::given,
     base::name{base::field<&settings::provider>, "", "the best that can serve"},
     "libfabric provider, such as tcp or verbs;ofi_rxm (tobi-info lists them)"},
    {"TOBI_OFI_DOMAIN", base::agreement::offered,
     base::name{base::field<&settings::domain>, "", "the provider's first"},
     "the provider's domain, such as eth0 or mlx5_0; a list is dealt to the ranks in turn"},
    {"TOBI_OFI_PROGRESS", base::agreement::given, base::choice_of<&settings::progress, progress_names>,
     "what moves a provider that was measured not to move by itself; manual: workers, without a measurement"},
};

}  // namespace tobi::transports::ofi
