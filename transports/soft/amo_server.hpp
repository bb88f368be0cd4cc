// Executes other workers' atomics on this worker's memory: the communication server of the uni-address paper (section
// IV), for fabrics that have no atomics. The CPU does it, so the scope is host.
//
// A request slot and a reply slot belong together: request i of a peer lies in slot i modulo `slots`, its reply in the
// same slot at the peer, and request i + slots is sent only after reply i was read. So there is no other flow control,
// a reply always has room, and the server never waits for anybody.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "transports/soft/board.hpp"
#include "transports/soft/cell.hpp"

namespace tobi::transports::soft {

struct amo_request {
  std::uint64_t offset;
  std::uint64_t operand;
  std::uint64_t expected;
  std::uint32_t region;  // number of the target's registration
  std::uint32_t kind;    // op_kind
};
inline constexpr std::uint64_t amo_slots = 8;
using request_cell = cell<amo_request>;
using reply_cell = cell<std::uint64_t>;
static_assert(sizeof(request_cell) <= 64 && sizeof(reply_cell) <= 64, "each is copied by the put that sends it");

inline constexpr std::size_t request_bytes_a_peer = amo_slots * sizeof(request_cell);
inline constexpr std::size_t reply_bytes_a_peer = amo_slots * sizeof(reply_cell);

/// The registrations of a worker, by number: written by the worker, read by its server, which may be another thread.
class region_table {
 public:
  /// Its number, or -1 when the table is full.
  int add(std::byte* base, std::size_t bytes) noexcept;
  void remove(std::size_t number) noexcept;
  /// The word at OFFSET, or null when a request names no memory of this worker.
  [[nodiscard]] std::uint64_t* word(std::size_t number, std::uint64_t offset) const noexcept;

 private:
  static constexpr std::size_t most = 256;
  struct entry {
    std::byte* base = nullptr;
    std::atomic<std::size_t> bytes{0};  // 0: gone
  };
  std::array<entry, most> entries_;
  std::size_t used_ = 0;
};

class amo_server {
 public:
  amo_server(transport& over, int rank, int size, const region_table& regions);

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
  [[nodiscard]] std::uint64_t execute(const amo_request& r) const noexcept;
  bool send(const reply& r) noexcept;

  transport& over_;
  const region_table& regions_;
  board board_;
  std::vector<peer> peers_;
  std::vector<reply> waiting_;  // executed, but the fabric took no more
  std::size_t own_offset_;      // of this worker's replies on each client's board
};

}  // namespace tobi::transports::soft
