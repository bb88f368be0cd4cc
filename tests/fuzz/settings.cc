// SPDX-License-Identifier: Apache-2.0
// The settings that rank 0 gives and offers, and what is said of those of two ranks.
#include "libcore/base/settings.hpp"

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "libcore/base/agreement.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  using namespace tobi::base;
  const std::string_view all(reinterpret_cast<const char*>(data), bytes);
  const std::size_t cut = bytes == 0 ? 0 : data[0] % bytes;
  const std::string_view first = all.substr(0, cut);
  const std::string_view theirs = all.substr(cut);
  settings mine;
  (void)take_settings(first, mine);
  (void)contradiction(first, theirs, "rank 0", "rank 1");
  if (!contradiction(all, all, "rank 0", "rank 1").empty()) std::abort();
  std::uint64_t size = 0;
  if (parse_size(all, size)) {
    std::uint64_t again = 0;
    if (!parse_size(format_size(size), again) || again != size) std::abort();
  }
  return 0;
}
