// SPDX-License-Identifier: Apache-2.0
// How the raw loop of libibverbs finds what it was told to use: the entry of a list of devices, and a port's address.
#pragma once

#include <fmt/format.h>
#include <infiniband/verbs.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "libcore/base/text.hpp"

namespace tobi_perf {

// The entry of a list with commas that belongs to RANK.
inline std::string entry_of(const std::string& list, int rank) {
  std::vector<std::string_view> names = tobi::base::split(list);
  std::erase(names, "");
  return std::string(names.empty() ? "" : names[static_cast<std::size_t>(rank) % names.size()]);
}

inline bool is_ipv4(const ibv_gid& g) noexcept {
  constexpr std::array<std::uint8_t, 12> mapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  return std::equal(mapped.begin(), mapped.end(), g.raw);
}

// The index of a RoCE v2 address, one of IPv4 if there is; -1: none.
inline int find_gid(ibv_context* device, int port, int entries) {
  int found = -1;
  for (int i = 0; i < entries; ++i) {
    std::ifstream file(fmt::format("/sys/class/infiniband/{}/ports/{}/gid_attrs/types/{}",
                                   ibv_get_device_name(device->device), port, i));
    std::string type;
    ibv_gid gid{};
    if (!std::getline(file, type) || type != "RoCE v2" ||
        ibv_query_gid(device, static_cast<std::uint8_t>(port), i, &gid) != 0)
      continue;
    if (is_ipv4(gid)) return i;
    if (found < 0) found = i;
  }
  return found;
}

}  // namespace tobi_perf
