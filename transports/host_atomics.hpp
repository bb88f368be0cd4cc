// SPDX-License-Identifier: Apache-2.0
// Whether a device's atomics and the CPU's exclude each other, found out by trying. What a device says of itself is
// what it can ask PCIe for: whether the slot's root complex does it, and whether the firmware asks for it where a
// peer's atomic comes in, it does not say. Where they do not, an owner and a thief both win one index.
#pragma once

#include <cstdint>

#include "transports/transport.hpp"

namespace tobi::transports {

/// How much is tried at least: a device's atomic that is a load and a store meets the CPU's within some hundred.
struct trial {
  std::uint64_t by_fabric = 20'000;        // operations of the fabric
  std::uint64_t longest_ns = 200'000'000;  // and no longer than that, where a device is slow
};
/// Adds to WORD, which is at REMOTE in this rank's own REGION, by the fabric's fetch-and-add and compare-and-swap and
/// by CPU instructions at once. False: one was lost, or an operation failed. OVER's scope is not `host` yet, so that it
/// takes the way through the device.
bool cpu_and_fabric_exclude_each_other(transport& over, int rank, region_id region, std::uint64_t remote,
                                       std::uint64_t& word, const trial& how = {}) noexcept;

}  // namespace tobi::transports
