// SPDX-License-Identifier: Apache-2.0
// TOBI_DEBUG_GLOBAL: each worker shows what it has checked out, and looks at what the others show. Two checkouts that
// overlap at the same time, one of them for writing, are a data race, and are reported with both places in the program.
// An update is shown as a checkout that no other update races with.
//
// A worker shows its checkout before it looks at the others', and takes it back before its checkin ends: of two that
// overlap in time at least one sees the other. Races between checkouts that do not overlap in time are not seen.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "libcore/net/batch.hpp"
#include "libcore/pgas/held.hpp"

namespace tobi::pgas {

/// In the control block, at the same offset everywhere. A slot is free when `end` is 0.
struct shown_checkout {
  std::uint64_t begin;
  std::uint64_t end;
  std::uint64_t how;
  std::uint64_t place;  // the caller's return address
};
inline constexpr std::size_t shown_most = 16;
using shown_checkouts = std::array<shown_checkout, shown_most>;

/// What a user is told of a place: the address that a call of the program returns to.
using namer = std::function<std::string(std::uintptr_t place)>;

class checkout_watch {
 public:
  /// OFFSET is that of every worker's SHOWN in its heap region. All workers have the same code at the same addresses.
  checkout_watch(net::batch& net, int rank, int size, shown_checkouts& shown, std::uint64_t offset, namer name_of)
      : net_(net), rank_(rank), size_(size), shown_(shown), offset_(offset), name_of_(std::move(name_of)) {}

  /// Ends the job when what another worker holds overlaps. More than fit are not shown, but looked for.
  void begins(const checkout_key& k, const void* place);
  void ends(const checkout_key& k) noexcept;
  /// ", at PLACE," of what this worker shows as K; "": it does not.
  [[nodiscard]] std::string where_began(const checkout_key& k) const;

 private:
  [[nodiscard]] std::string described(const shown_checkout& c, int rank) const;

  net::batch& net_;
  int rank_;
  int size_;
  shown_checkouts& shown_;
  std::uint64_t offset_;
  namer name_of_;
};

/// "function (program+0x12)", as far as the loader knows it: what addr2line wants.
std::string name_of_place(std::uintptr_t place);

}  // namespace tobi::pgas
