// SPDX-License-Identifier: Apache-2.0
// Asks servers for atomics (amo_server.hpp has the protocol). A worker has one queue to each server, whichever rank's
// memory the requests name, and replies come back in its order. So a number says how far a queue has been served.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "transports/by_rank.hpp"
#include "transports/soft/amo_server.hpp"

namespace tobi::transports::soft {

class amo_client {
 public:
  /// On the worker's board; SIZE: of the job.
  amo_client(board& on, const amo_places& places, int rank, int size);

  /// ok: the request is on its way to SERVER, which is named by its rank in the job and found at ENDPOINT of the
  /// board's transport, and the value found will be written to FOUND, which stays until then. again: the queue is full,
  /// or the fabric takes no more.
  status ask(int server, int endpoint, const amo_request& request, void* found) noexcept;
  /// Whether COUNT more requests to SERVER have room, as far as take_replies() has seen.
  [[nodiscard]] bool has_room(int server, std::uint64_t count) const noexcept {
    const link* l = links_.find(server);
    return l == nullptr || l->asked - l->answered + count <= amo_slots;
  }
  /// How many requests this worker has sent to SERVER.
  [[nodiscard]] std::uint64_t asked(int server) const noexcept {
    const link* l = links_.find(server);
    return l == nullptr ? 0 : l->asked;
  }
  /// Whether the first COUNT of them have been replied to, as far as take_replies() has seen.
  [[nodiscard]] bool answered(int server, std::uint64_t count) const noexcept {
    const link* l = links_.find(server);
    return (l == nullptr ? 0 : l->answered) >= count;
  }
  /// Looks for replies of all servers that owe any. True if one had come.
  bool take_replies() noexcept;

 private:
  struct link {
    std::uint64_t asked = 0;
    std::uint64_t answered = 0;
    void* found[amo_slots] = {};  // where each reply goes
  };
  std::uint64_t take(link& l, int server) noexcept;

  board& board_;
  amo_places places_;
  int rank_;
  by_rank<link> links_;     // by the server's rank
  std::vector<int> owing_;  // servers that have not replied to all
};

}  // namespace tobi::transports::soft
