// SPDX-License-Identifier: Apache-2.0
// The heap regions of all workers, as one that posts operations knows them: how large they are, and, where they grow,
// which part of which rank is reached by which key (net/growing_heap.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "libcore/net/location.hpp"
#include "transports/transport.hpp"

namespace tobi::net {

class fabric;

/// What everybody's heap region looks like.
struct heap_layout {
  std::uint64_t bytes;
  std::uint64_t at_first;  // reached by the keys of the start; 0: all of it
  std::uint64_t parts_at;  // where the words of its parts lie (heap_parts), within at_first

  // Not explicit: most know a size alone.
  constexpr heap_layout(std::uint64_t whole, std::uint64_t first = 0, std::uint64_t words_at = 0) noexcept
      : bytes(whole), at_first(first), parts_at(words_at) {}
};

class heap_regions {
 public:
  /// NET, whose part it is, reads what it does not know.
  heap_regions(fabric& net, const heap_layout& all) noexcept : net_(net), all_(all) {}

  [[nodiscard]] std::uint64_t bytes() const noexcept { return all_.bytes; }
  /// How many bytes from WHERE on can be got at once. May ask the worker whose they are.
  [[nodiscard]] std::uint64_t readable(location where);
  /// Whether BYTES at WHERE are in somebody's heap region, so that they can be got. May ask that worker.
  [[nodiscard]] bool can_be(location where, std::uint64_t bytes);
  /// Whether this worker knows, without asking, that the bytes of RANK's heap region before END can be reached.
  [[nodiscard]] bool knows(int rank, std::uint64_t end) const noexcept;

  /// OPS to RANK, of whose heap region REGION is the start. Operations on parts that came later go by the keys of
  /// those. What is returned is good until the next call. Fatal where RANK has no such part.
  [[nodiscard]] std::span<const transports::op> reached(int rank, transports::region_id region,
                                                        std::span<const transports::op> ops) {
    if (all_.at_first == 0) [[likely]] {
      return ops;
    }
    return by_parts(rank, region, ops);
  }

 private:
  struct part {
    std::uint64_t begin;
    std::uint64_t end;
    transports::region_id region;
  };
  static constexpr std::size_t chain_most = 16;  // operations in one call of the transport

  std::span<const transports::op> by_parts(int rank, transports::region_id region, std::span<const transports::op> ops);
  [[nodiscard]] const part* part_around(int rank, std::uint64_t offset);
  void ask(int rank);

  fabric& net_;
  heap_layout all_;
  std::unordered_map<int, std::vector<part>> parts_;  // of the ranks whose heap has grown, as far as is known
  std::array<transports::op, chain_most> moved_;
};

}  // namespace tobi::net
