// SPDX-License-Identifier: Apache-2.0
// Registered memory of the software protocols: a worker's own, and the way to the others'. Zeroed, in a memory file of
// its own so that every transport can register it. A protocol has the same part of it in every worker.
//
// A cell that is put into a peer's board is announced: by a notice of the transport underneath, where it has those. The
// put carries it, so it is no operation more; and the reader need not look where nobody has written. A notice comes
// behind its own put and in no order with other puts. So a reader looks for the next cell of that writer, and takes all
// that follow it. That loses none: of the notices of cells 0 to i one is the last to come, then all of these cells are
// there, and the look that it causes finds each that was not taken before (tests/models/announced.pml).
//
// Where the transport has no notices, or the job is so small that a look at all cells takes less than a notice, a
// reader looks at so many writers in turn at each poll.
#pragma once

#include <cstddef>
#include <cstdint>

#include "transports/by_rank.hpp"
#include "transports/soft/key_list.hpp"
#include "transports/soft/memory_file.hpp"
#include "transports/transport.hpp"

namespace tobi::transports::soft {

/// What a cell is, as its notice says; `quiet`: no rank is told, and one that waits for it looks at it.
enum class announced : std::uint8_t { quiet, request, message };

/// Writers that a reader looks at in one poll where there are no notices: a microsecond or less. To announce by a
/// further put, and once more behind the completion of the first, would cost each request two operations.
inline constexpr int looks_per_poll = 128;

class board {
 public:
  /// BYTES registered with OVER. Fatal when that fails. KEYS are those of all boards of OVER's ranks, once somebody
  /// writes there; they outlive this.
  board(transport& over, std::size_t bytes, const key_list& keys, std::size_t ranks);
  ~board();
  board(const board&) = delete;
  board& operator=(const board&) = delete;

  [[nodiscard]] std::byte* at(std::size_t offset) const noexcept { return file_.at(offset); }
  [[nodiscard]] const region_key& key() const noexcept { return key_; }
  [[nodiscard]] transport& over() noexcept { return over_; }

  /// Puts BYTES, 64 at most, into the board of RANK. As transport::put.
  status write(int rank, std::uint64_t offset, const void* cell, std::size_t bytes, announced as) noexcept;
  /// Whether cells are announced: no reader has to look around.
  [[nodiscard]] bool announces() const noexcept { return announces_; }
  /// All ranks alike, before anything is written.
  void announce(bool on) noexcept { announces_ = on; }
  /// Whether OVER's notices can carry what a cell is.
  [[nodiscard]] static bool can_announce(const transport& over) noexcept {
    return over.caps().put_notify && over.caps().msg_max >= 1;
  }

 private:
  struct place {
    region_id region = 0;
    bool attached = false;
  };
  transport& over_;
  const key_list& keys_;
  memory_file file_;
  region_key key_;
  by_rank<place> places_;
  bool announces_ = false;
};

}  // namespace tobi::transports::soft
