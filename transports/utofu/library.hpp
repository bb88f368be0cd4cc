// SPDX-License-Identifier: Apache-2.0
// libtofucom, found when it is needed: see transports/ofi/library.hpp for why.
#pragma once

#include <string>
#include <vector>

#include "transports/utofu/interface.hpp"

namespace tobi::transports::utofu {

/// Room for a descriptor of those that are posted together. A device that needs more is not used.
constexpr std::size_t descriptor_most = 64;

struct library : calls {
  std::string file;
  std::string error;  // why it is not there, or ""
  bool emulated = false;
};
/// Loads FILE, or libtofucom.so where that is "". A process has one: the first that was asked for.
const library& libtofucom(const std::string& file);

/// The interfaces that can be used, and what they can do. Without any, WHY_NOT says why.
struct interfaces {
  std::vector<tni_id> tnis;
  onesided_caps caps{};
  std::string why_not;
};
[[nodiscard]] interfaces find_interfaces(const library& lib);
/// "TOQ full (-4)", and so on.
[[nodiscard]] std::string words_of(int code);

}  // namespace tobi::transports::utofu
