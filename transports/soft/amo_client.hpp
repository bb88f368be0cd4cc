// Asks servers for atomics (amo_server.hpp has the protocol). A worker has one queue to each server, whoever's memory
// the requests name, and answers come back in its order: so a number says how far a queue has been answered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "transports/soft/amo_server.hpp"

namespace tobi::transports::soft {

class amo_client {
 public:
  amo_client(transport& over, int rank, int size);

  /// The board for replies, for the servers' connect().
  [[nodiscard]] const region_key& key() const noexcept { return replies_.key(); }
  /// ENDPOINT is the rank on OVER of the SERVER, which is named by its rank in the job; REQUESTS is its board.
  status connect(int server, int endpoint, const region_key& requests);

  /// ok: the request is on its way, and the value found will be written to FOUND, which stays until then. again: the
  /// queue is full, or the fabric takes no more.
  status ask(int server, const amo_request& request, void* found) noexcept;
  /// How many requests this worker has sent to SERVER.
  [[nodiscard]] std::uint64_t asked(int server) const noexcept { return link_of(server).asked; }
  /// Whether the first COUNT of them have been answered, as far as take_replies() has seen.
  [[nodiscard]] bool answered(int server, std::uint64_t count) const noexcept {
    return link_of(server).answered >= count;
  }
  /// Looks for replies of all servers that owe any.
  void take_replies() noexcept;
  /// What the fabric knows of the way to SERVER: one that cannot be reached will answer nothing.
  status health(int server) noexcept;

 private:
  struct link {
    int endpoint = -1;
    region_id requests = 0;
    std::uint64_t asked = 0;
    std::uint64_t answered = 0;
    void* found[amo_slots] = {};  // where each reply goes
  };
  [[nodiscard]] link& link_of(int server) noexcept { return links_[static_cast<std::size_t>(server)]; }
  [[nodiscard]] const link& link_of(int server) const noexcept { return links_[static_cast<std::size_t>(server)]; }
  void take_replies(int server) noexcept;

  transport& over_;
  std::size_t own_offset_;  // of this worker's requests on each server's board
  board replies_;
  std::vector<link> links_;  // by the server's rank
  std::vector<int> owing_;   // servers that have not answered all
};

}  // namespace tobi::transports::soft
