// SPDX-License-Identifier: Apache-2.0
// What a rank tells those that will have to do with it, and no other one reads: the keys of its memory, and its core.
// It is some hundred bytes, because keys are kept without the zeros at their end, in the page that the processes of a
// node share; where a process has a launcher's client of its own it stays with the launcher until it is asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "arch/topology.hpp"
#include "libcore/net/fabric.hpp"

namespace tobi::job {

struct rank_card {
  net::peer_keys keys;
  arch::core core;
};
[[nodiscard]] std::vector<std::byte> to_bytes(const rank_card& card);
/// Of what to_bytes() has made.
[[nodiscard]] rank_card card_from(std::span<const std::byte> bytes);

/// Numbers as runs of equal steps: the cores of a machine are a run or two.
[[nodiscard]] std::vector<std::int32_t> as_runs(const std::vector<std::int32_t>& numbers);
[[nodiscard]] std::vector<std::int32_t> from_runs(const std::vector<std::int32_t>& runs);

}  // namespace tobi::job
