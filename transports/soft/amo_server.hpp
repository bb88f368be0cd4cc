// SPDX-License-Identifier: Apache-2.0
// Executes other workers' atomics: the communication server of the uni-address paper (section 6), for fabrics that have
// no atomics. A CPU of the node does it, so the scope is host.
//
// A request slot and a reply slot belong together: request i of a peer lies in slot i modulo `slots`, its reply in the
// same slot at the peer, and request i + slots is sent only after reply i was read. So there is no other flow control,
// a reply always has room, and the server never waits for anybody.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "transports/by_rank.hpp"
#include "transports/soft/board.hpp"
#include "transports/soft/cell.hpp"
#include "transports/soft/regions.hpp"

namespace tobi::transports::soft {

struct amo_request {
  std::uint64_t offset;
  std::uint64_t operand;
  std::uint64_t expected;
  std::uint32_t target;  // whose memory, where a server has that of several ranks
  std::uint16_t region;  // number of the target's registration
  std::uint16_t kind;    // op_kind, or stores_bytes
};
/// A request that is no atomic: `expected` bytes of `operand`, 8 at most, are stored at any offset. A put underneath
/// that moves whole granules only cannot do that.
inline constexpr std::uint16_t stores_bytes = 0xff;
inline constexpr std::uint64_t amo_slots = 8;
using request_cell = cell<amo_request>;
using reply_cell = cell<std::uint64_t>;
static_assert(sizeof(request_cell) <= 64 && sizeof(reply_cell) <= 64, "each is copied by the put that sends it");
static_assert(regions_max <= 1u << 16, "a request names any of them");

inline constexpr std::size_t request_bytes_per_peer = amo_slots * sizeof(request_cell);
inline constexpr std::size_t reply_bytes_per_peer = amo_slots * sizeof(reply_cell);

/// Where the cells of message INDEX lie on boards: a request on its server's, by the client's rank; a reply on its
/// client's, by the server's.
struct amo_places {
  std::size_t requests = 0;  // where they begin
  std::size_t replies = 0;

  [[nodiscard]] std::size_t request(int client, std::uint64_t index) const noexcept {
    return requests + static_cast<std::size_t>(client) * request_bytes_per_peer +
           index % amo_slots * sizeof(request_cell);
  }
  [[nodiscard]] std::size_t reply(int server, std::uint64_t index) const noexcept {
    return replies + static_cast<std::size_t>(server) * reply_bytes_per_peer + index % amo_slots * sizeof(reply_cell);
  }
};

class amo_server {
 public:
  /// Requests come to ON, whose transport has the clients under their ranks in the job, of which there are SIZE.
  amo_server(board& on, const amo_places& places, int rank, int size, served_memory& memory);

  /// Sends the replies that wait, and where requests are not announced looks for some. True if there was anything.
  bool serve() noexcept;
  /// Executes what has come from CLIENT, which was announced. True if there was anything.
  bool look(int client) noexcept;
  /// Ends the job. Nobody else would: a server makes no operations of its own, and its clients wait for replies.
  [[noreturn]] static void fabric_is_gone(const std::string& what);
  /// Whether replies wait for room.
  [[nodiscard]] bool owes() const noexcept { return !waiting_.empty(); }

 private:
  struct reply {
    int client;
    std::uint64_t index;
    std::uint64_t value;
  };
  [[nodiscard]] std::uint64_t execute(const amo_request& r) noexcept;
  std::uint64_t store(const amo_request& r) noexcept;
  bool send(const reply& r) noexcept;

  board& board_;
  amo_places places_;
  int rank_;
  int size_;
  served_memory& memory_;
  by_rank<std::uint64_t> served_;  // requests of each client so far
  std::vector<reply> waiting_;     // executed, but the fabric took no more; at most amo_slots of each client
  int next_ = 0;                   // to look at, where nobody announces
};

}  // namespace tobi::transports::soft
