// Executes other workers' atomics: the communication server of the uni-address paper (section 6), for fabrics that have
// no atomics. A CPU of the node does it, so the scope is host.
//
// A request slot and a reply slot belong together: request i of a peer lies in slot i modulo `slots`, its reply in the
// same slot at the peer, and request i + slots is sent only after reply i was read. So there is no other flow control,
// a reply always has room, and the server never waits for anybody.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

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
  std::uint16_t kind;    // op_kind
};
inline constexpr std::uint64_t amo_slots = 8;
using request_cell = cell<amo_request>;
using reply_cell = cell<std::uint64_t>;
static_assert(sizeof(request_cell) <= 64 && sizeof(reply_cell) <= 64, "each is copied by the put that sends it");
static_assert(regions_max <= 1u << 16, "a request names any of them");

inline constexpr std::size_t request_bytes_a_peer = amo_slots * sizeof(request_cell);
inline constexpr std::size_t reply_bytes_a_peer = amo_slots * sizeof(reply_cell);

class amo_server {
 public:
  amo_server(transport& over, int rank, int size, served_memory& memory);

  [[nodiscard]] const region_key& key() const noexcept { return board_.key(); }
  /// CLIENT is the peer's rank on OVER, RANK the peer's rank in the job, REPLIES the board where its replies go.
  status connect(int rank, int client, const region_key& replies);
  /// Executes what has come. True if there was anything.
  bool serve() noexcept;

 private:
  struct peer {
    int client = -1;
    region_id replies = 0;
    std::uint64_t served = 0;
  };
  struct reply {
    std::size_t peer;
    std::uint64_t index;
    std::uint64_t value;
  };
  [[nodiscard]] std::uint64_t execute(const amo_request& r) noexcept;
  bool send(const reply& r) noexcept;

  transport& over_;
  served_memory& memory_;
  board board_;
  std::vector<peer> peers_;
  std::vector<reply> waiting_;  // executed, but the fabric took no more; at most amo_slots of each peer
  std::size_t own_offset_;      // of this server's replies on each client's board
};

}  // namespace tobi::transports::soft
