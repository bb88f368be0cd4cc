// SPDX-License-Identifier: Apache-2.0
// The emulated machine: VCQ ids, and the files in /dev/shm by which processes find each other. A file lives as long as
// its VCQ. What a killed process has left is swept away by the next one that makes a VCQ.
#pragma once

#include "tests/emulators/utofu/shared.hpp"

namespace emulated {

inline constexpr unsigned cqs_per_tni = 12;
inline constexpr unsigned components = 8;

/// A VCQ id in its parts. The path is not part of the queue's name.
struct vcq_name {
  std::uint8_t coords[utofu::coordinates] = {};
  unsigned tni = 0, cq = 0, component = 0, path = 0;

  [[nodiscard]] utofu::vcq_id pack() const noexcept;
  [[nodiscard]] static vcq_name unpack(utofu::vcq_id id) noexcept;
};
[[nodiscard]] utofu::vcq_id without_path(utofu::vcq_id id) noexcept;

/// Whether a process that began at STARTED runs; a zombie does not.
[[nodiscard]] bool alive(std::int32_t pid, std::uint64_t started) noexcept;

/// A free queue of TNI for COMPONENT. A code; ID and PAGE where it is success.
int claim_vcq(unsigned tni, unsigned component, utofu::vcq_id& id, vcq_page*& page);
void release_vcq(utofu::vcq_id id, vcq_page* page);
/// Null where no process has that queue.
[[nodiscard]] vcq_page* find_vcq(utofu::vcq_id id);
void unmap(vcq_page* page);

/// Made by the initiator FROM; found by the target, which takes the name away.
[[nodiscard]] link_page* make_link(utofu::vcq_id from, utofu::vcq_id to);
[[nodiscard]] link_page* find_link(utofu::vcq_id from, utofu::vcq_id to);
void unmap(link_page* page);

void ring_bell(vcq_page& of) noexcept;
/// Sleeps until the bell is no more SEEN, or for so long.
void wait_for_bell(vcq_page& own, std::uint32_t seen, std::uint64_t most_ns) noexcept;

}  // namespace emulated
