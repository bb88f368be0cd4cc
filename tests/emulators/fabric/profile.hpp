// SPDX-License-Identifier: Apache-2.0
// What the strict provider asks for and what it grants: the documented attributes of one real provider, or the worst
// of all of them. FI_STRICT_PROFILE names one; FI_STRICT_INJECT_SIZE and its like change a single value.
#pragma once

#include <rdma/fabric.h>

#include <cstdint>
#include <string>

namespace tobi::emulators::fabric {

/// Who executes what arrives: a device, or the program's own calls.
enum class mover : std::uint64_t { device, host };
/// Which 64-bit atomics there are. Verbs devices have fetch-and-add and compare-and-swap alone.
enum class atomics : std::uint64_t { none, add_and_swap, all };

// All values are of one type, so that one table names them.
struct profile {
  std::string name;
  std::uint64_t mr_mode = 0;     // what an application must do
  std::uint64_t mr_mode_if = 0;  // what is done when an application offers it
  std::uint64_t mode = 0;        // FI_CONTEXT and its like
  std::uint64_t key_bytes = 8;   // of keys that the application chooses
  std::uint64_t mr_cnt = 65536;  // regions at once
  std::uint64_t inject_size = 4096;
  std::uint64_t iov_limit = 4;
  std::uint64_t rma_iov_limit = 4;
  std::uint64_t max_msg_size = std::uint64_t{1} << 40;
  std::uint64_t tx_size = 1024;      // operations under way
  std::uint64_t cq_data_size = 8;    // bytes that come with a put
  std::uint64_t says_automatic = 1;  // of its progress; what is so is in rma and amo
  std::uint64_t rma = static_cast<std::uint64_t>(mover::device);
  std::uint64_t amo = static_cast<std::uint64_t>(mover::device);
  std::uint64_t atomic_words = static_cast<std::uint64_t>(atomics::all);
  std::uint64_t fetch_delivery = 1;  // FI_DELIVERY_COMPLETE with atomics that fetch
  std::uint64_t fetch_late = 0;      // what such an atomic stores comes with the next operation to its target
  std::uint64_t wait_fd = 1;         // a completion queue can be slept on
  std::uint64_t av_type = FI_AV_UNSPEC;
  std::uint64_t manages = 1;          // FI_RM_ENABLED
  std::uint64_t shuffles = 0;         // order of operations, of completions and of the words of a put
  std::uint64_t again = 0;            // of 256 posts, those that are refused with FI_EAGAIN
  std::uint64_t again_first = 0;      // the first posts to each peer, while a connection is made
  std::uint64_t plain_instances = 0;  // other instances, without data of completions, come first in the list
  std::uint64_t seed = 1;

  [[nodiscard]] mover rma_by() const noexcept { return static_cast<mover>(rma); }
  [[nodiscard]] mover amo_by() const noexcept { return static_cast<mover>(amo); }
  [[nodiscard]] atomics words() const noexcept { return static_cast<atomics>(atomic_words); }
  [[nodiscard]] bool has_device() const noexcept { return rma_by() == mover::device || amo_by() == mover::device; }
};

/// The profile in force; what cannot be understood ends the process with a sentence.
const profile& in_force();

}  // namespace tobi::emulators::fabric
