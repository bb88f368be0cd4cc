// SPDX-License-Identifier: Apache-2.0
// Where the other ranks' parts of a collection are. A rank asks another one when it first has to do with it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "libcore/net/fabric.hpp"
#include "libcore/pool/words.hpp"
#include "transports/by_rank.hpp"
#include "transports/transport.hpp"

namespace tobi::pool {

/// Collections that exist at once.
inline constexpr std::size_t collections_max = 64;

/// In every rank's control block: where in its heap region the rank's part of each collection lies, by the collection's
/// number; 0: there is none.
struct collection_places {
  std::uint64_t at[collections_max];
  transports::region_key mail;  // of the rank's mail (mail.hpp), once it has one
};

class peers {
 public:
  /// PLACES is this rank's own, and the others have theirs at the same place.
  peers(net::fabric& net, collection_places& places, std::size_t number)
      : net_(net), places_(places), number_(number), known_(static_cast<std::size_t>(net.size())) {}

  /// One round trip at the first use of RANK.
  [[nodiscard]] net::location words_of(int rank) {
    peer& p = known_.of(rank);
    if (p.at == 0) [[unlikely]] {
      const std::uint64_t at = net_.here(&places_.at[number_]).offset();
      net_.get({rank, at}, &p.at, sizeof p.at);
      p.here = net_.mapped(rank);
      if (p.here != nullptr) p.here += p.at;
    }
    return {rank, p.at};
  }
  /// Where this rank's own are in its heap region.
  [[nodiscard]] std::uint64_t own_offset() const noexcept { return places_.at[number_]; }
  /// In this process's memory, or null.
  [[nodiscard]] collection_words* mapped(int rank) {
    (void)words_of(rank);
    return reinterpret_cast<collection_words*>(known_.of(rank).here);
  }
  /// Whether a claim at RANK was in vain, and nothing was seen there since.
  [[nodiscard]] bool& was_empty(int rank) { return known_.of(rank).was_empty; }
  /// For how long RANK has executed the same task, as far as this rank has seen, at NOW. RANK is mapped.
  [[nodiscard]] std::uint64_t silent_ns(int rank, std::uint64_t now) {
    peer& p = known_.of(rank);
    const std::uint64_t executed = std::atomic_ref(mapped(rank)->executed).load(std::memory_order_relaxed);
    if (p.silent_since == 0 || executed != p.executed) {
      p.executed = executed;
      p.silent_since = now;
    }
    return now - p.silent_since;
  }

 private:
  struct peer {
    std::uint64_t at = 0;
    std::byte* here = nullptr;
    bool was_empty = false;
    std::uint64_t executed = 0;
    std::uint64_t silent_since = 0;  // ns; 0: never looked at
  };
  net::fabric& net_;
  collection_places& places_;
  std::size_t number_;
  transports::by_rank<peer> known_;
};

}  // namespace tobi::pool
