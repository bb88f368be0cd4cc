// SPDX-License-Identifier: Apache-2.0
// What executes the atomics on a rank's memory, where the fabric does not: TOBI_AMO_SERVER.
//
//   inline  the worker itself, when it polls
//   thread  a thread of the worker, with an endpoint of its own
//   worker  the last rank of the worker's node, which does nothing else: the communication server that the uni-address
//           paper's experiments reserve a core for (section 6, fetch-and-add on a machine that has none)
//
// Everything else asks here and does not look at the setting.
#pragma once

#include <string_view>
#include <vector>

#include "libcore/base/per_rank.hpp"
#include "transports/soft/settings.hpp"
#include "transports/transport.hpp"

namespace tobi::transports::soft {

class placement {
 public:
  /// As TOBI_AMO_SERVER says. Ends the job with one sentence where a node has too few workers for a server.
  explicit placement(const context& where);

  /// The rank that executes the atomics on RANK's memory, itself or by its thread.
  [[nodiscard]] int server_of(int rank) const noexcept { return by_node() ? server_[rank] : rank; }
  /// Whether RANK executes anybody's: then it has a board for requests.
  [[nodiscard]] bool is_server(int rank) const noexcept { return server_of(rank) == rank; }
  /// Whether RANK is there for that alone.
  [[nodiscard]] bool serves_only(int rank) const noexcept { return by_node() && is_server(rank); }
  /// A server whose memory is not the target's own maps it: the target's registrations must be published.
  [[nodiscard]] bool by_node() const noexcept { return place_ == amo_place::worker; }
  [[nodiscard]] bool by_thread() const noexcept { return place_ == amo_place::thread; }
  /// Whether the target may compute for ever and its atomics are executed all the same.
  [[nodiscard]] bool passive() const noexcept { return by_node() || by_thread(); }

  /// Where the transport underneath finds SERVER: threads have the ranks behind all workers.
  [[nodiscard]] int endpoint_of(int server) const noexcept { return by_thread() ? size_ + server : server; }
  /// What the transport underneath is made with, for the worker and for its thread.
  [[nodiscard]] context for_worker(const context& where) const { return by_thread() ? doubled(where) : where; }
  [[nodiscard]] context for_thread(const context& where) const;

  /// For people: "atomics executed ...".
  [[nodiscard]] std::string_view words() const noexcept;

 private:
  [[nodiscard]] static context doubled(context where);

  amo_place place_;
  int size_;
  base::per_rank<int> server_;  // of each rank, by_node() only
};

}  // namespace tobi::transports::soft
