// SPDX-License-Identifier: Apache-2.0
// What a transport says of itself.
#pragma once

#include <cstdint>

namespace tobi::transports {

/// Between which parties an atomic operation of this transport is atomic. `domain`: only operations through the
/// same device, so no CPU instruction may change such a word; `host`: CPU instructions too.
enum class amo_scope : std::uint8_t { none, domain, host };

/// What works here. A field is set if and only if the operation works: tobi-conform asks both ways, or says why it
/// cannot (tools/conform/rules.hpp).
struct capabilities {
  bool put_notify = false;    // put_notify() and poll_notice()
  bool fetch_add = false;     // op_kind::fetch_add
  bool compare_swap = false;  // op_kind::compare_swap
  amo_scope scope = amo_scope::none;
  bool passive_rma = false;     // puts and gets complete although the target never polls
  bool passive_amo = false;     // atomics do
  bool amo_in_calls = false;    // atomics of others are executed inside of the target's own calls, by nobody else: what
                                // its CPU does between two calls excludes them, whatever the scope
  bool needs_progress = false;  // what was posted moves only in progress(), flush() and post() of its initiator
  bool maps_peers = false;      // map() can return a pointer
  bool registers_any_memory = false;  // any memory can be registered, not only memory with a descriptor
  bool ordered_gets = false;          // a get of a chain reads behind the gets before it; else perhaps before them
  bool has_wait_fd = false;           // wait_fd() returns a descriptor to sleep on
  bool peer_errors = false;           // a dead peer is reported as peer_lost
  bool pins_memory = false;           // registered memory is locked: every page of it exists from then on, so memory
                                      // that grows is registered in parts (memory::at_first)
  bool any_thread = true;        // calls may come from different threads of the process, one at a time; false: only
                                 // from the thread that has created it
  std::uint32_t inline_max = 0;  // puts up to this size release their buffer at once; 64 at least
  std::uint32_t chain_max = 1;   // operations in one chain
  std::uint64_t put_max = 0;     // bytes in one put or get
  // A put's place and bytes are multiples of it. More than 1 is for soft::with_amo_server, which makes 1 of it: the
  // runtime puts single bytes.
  std::uint32_t put_granule = 1;
  std::uint32_t peers_max = 0;  // how many peers it talks to without closing connections; 0: all there are
  std::uint32_t msg_max = 0;    // bytes that come with a notice

  /// Chains of more than one operation.
  [[nodiscard]] bool chains() const noexcept { return chain_max > 1; }
};

}  // namespace tobi::transports
