// SPDX-License-Identifier: Apache-2.0
// The contract between the runtime and a fabric. One instance per worker, used by one thread at a time. No
// operation blocks, and the way of one takes no lock: what cannot be posted now returns `again` and has had no effect.
// A transport that has a thread of its own, to connect or to serve, locks what it shares with it.
//
// Two rules carry everything else:
//   1. A chain is executed at the target in order: an operation of the chain takes effect, or reads, after
//      the ones before it have taken effect. A get changes nothing: a later get of the chain may read before it, unless
//      caps().ordered_gets. (A device may read memory for both at once: PCIe lets a read pass a read.) The words of one
//      get are read in any order. Order is of one chain: what was posted by two calls, or by post_unordered(), has
//      none, to the same peer and the same word too.
//   2. A posted operation is complete, at the target and in the initiator's buffers, once flush(peer) has returned ok.
//      Until then the runtime owns none of the buffers that it named, except those of inline puts.
//      Complete at the target is: a load of its CPU finds what a put or an atomic has written, a later operation of
//      anybody too. That holds in every scope; the scope says what may change a word that atomics change.
//      What lies next to it, in the same cache line too, is left alone: the target's CPU may store there meanwhile.
//      Completion may need a poll of the target (passive_*). A rank that stops polling has first met the others where
//      waiting moves the fabric.
//
// No word of 8 bytes tears in a put or a get of at most 256 bytes whose place, buffer and length are multiples of 8.
// Such a put may write a word more than once, but not any more when all of its words are there: code that copies memory
// writes twice where its last two stores overlap. A put of one word so writes it once: a target that has seen the word
// may store there at once, before the initiator knows of anything, and what it stores remains.
// A rank posts to itself as to a peer. A put or a get of 0 bytes is ok and does nothing.
//
// What is lost stays lost. `peer_lost`: post() and flush() of that rank return it from then on, and the others go on.
// `domain_lost`: so for all ranks, since the device or the library is gone. What was under way may have taken effect or
// not, and its buffers are not given back: the job ends, or never uses them again. Where nothing was under way to a
// dead peer, flush() may return ok: only an operation finds out.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libcore/base/per_rank.hpp"
#include "libcore/base/settings.hpp"
#include "libcore/base/shared_memory.hpp"
#include "libcore/base/status.hpp"
#include "transports/capabilities.hpp"
#include "transports/op.hpp"

namespace tobi::transports {

class meeting;  // transports/meeting.hpp

/// Memory of this process to be reached by others. A transport that maps needs `fd` and `fd_offset`.
using memory = base::shared_memory;

/// What a peer needs to reach a region: opaque bytes, exchanged by the caller.
struct region_key {
  std::array<std::byte, 128> bytes{};
};
/// Of these a fabric's own transport uses the first ones, at most so many: soft atomics and routing put their parts
/// behind.
inline constexpr std::size_t own_key_bytes_max = 64;
/// A message that came with put_notify.
struct notice {
  int rank = -1;
  std::uint64_t data = 0;
};

class transport {
 public:
  /// All ranks have met, and nothing of the job is posted any more. Others may be gone already: it waits for none,
  /// except where create() has waited for all, too.
  virtual ~transport() = default;

  // --- setup: address(), connect() and register_memory(), then measure(), then attach(); a destructor for the end ----
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  [[nodiscard]] virtual const capabilities& caps() const noexcept = 0;
  /// For people: the device or provider in use, and what is emulated. One line, or "".
  [[nodiscard]] virtual std::string describe() const { return ""; }
  /// What all ranks must have alike besides the name, such as libfabric's provider; "" where the name says all.
  [[nodiscard]] virtual std::string dialect() const { return ""; }
  /// Why register_memory() last returned other than ok, and what to do: the end of a sentence, or "".
  [[nodiscard]] virtual std::string why_not_registered() const { return ""; }
  /// Why connect() or attach() last returned other than ok, and what to do: a sentence without its full stop, or "".
  [[nodiscard]] virtual std::string why_not_reached() const { return ""; }
  /// What connect() of the peers needs to know of this worker: opaque bytes.
  [[nodiscard]] virtual std::string address() const = 0;
  /// Takes the addresses of all ranks, in order. Connections may be made later, on first use.
  virtual status connect(std::span<const std::string> addresses) = 0;
  /// Finds out, together with the other ranks, what of caps() a library promises and may not keep: passive_* and
  /// needs_progress. Called once by every rank, after connect() and before any other operation; until then, and where
  /// nobody does, caps() says what the library says.
  virtual void measure([[maybe_unused]] meeting& with) {}
  /// Makes MEMORY reachable. The caller owns it and keeps it until deregister_memory. May be called at any time, also
  /// between operations.
  ///
  /// With caps().pins_memory the key reaches the first `at_first` bytes alone, and the others are not pinned; the
  /// caller registers more parts of the same memory as they come into use, each under a key of its own. map() shows all
  /// of it in any case. Without pins_memory the key reaches all of it.
  virtual status register_memory(const memory& local, region_key& key) = 0;
  virtual status deregister_memory(const region_key& key) = 0;
  /// Makes a peer's region usable here, for operations to that RANK alone.
  virtual status attach(int rank, const region_key& key, region_id& id) = 0;
  /// The address of a peer's region in this process, or null where memory is not shared directly.
  [[nodiscard]] virtual std::byte* map(region_id id) noexcept = 0;
  /// Whether RANK is here for the others' operations alone (TOBI_AMO_SERVER=worker): it calls progress() all the time,
  /// and is given no work.
  [[nodiscard]] virtual bool serves_only([[maybe_unused]] int rank) const noexcept { return false; }

  // --- data --------------------------------------------------------------------------------------
  /// Posts OPS to RANK as one chain (rule 1). All or nothing. `invalid`: out of the region's range, misaligned,
  /// longer than chain_max or put_max; `unsupported`: an operation that caps() does not claim.
  virtual status post(int rank, std::span<const op> ops) noexcept = 0;
  /// The same without rule 1: one call, one doorbell, and no order among OPS. For what was only collected, such as the
  /// blocks of a cache; a fabric that orders by fences puts none. All or nothing, as post().
  virtual status post_unordered(int rank, std::span<const op> ops) noexcept { return post(rank, ops); }
  /// ok: everything posted to RANK is complete (rule 2); again: not yet. Makes progress itself.
  virtual status flush(int rank) noexcept = 0;
  /// A put whose completion at the target shows there as a notice that carries DATA.
  virtual status put_notify(int rank, const op&, std::uint64_t) noexcept {
    (void)rank;
    return status::unsupported;
  }
  /// ok and a notice, or again when none has come. Makes progress itself where there was none.
  virtual status poll_notice(notice&) noexcept { return status::unsupported; }
  /// Moves what the transport has under way, for fabrics that do not move by themselves.
  virtual void progress() noexcept {}
  /// A descriptor that becomes readable when progress() would do something, or -1.
  [[nodiscard]] virtual int wait_fd() const noexcept { return -1; }
  /// Whether a sleep on wait_fd() that begins now misses nothing. Asked before each sleep; false: progress() first.
  /// It may itself let in what others have put (libfabric's tcp does), which then shows at no descriptor: what a caller
  /// looks for in its memory it looks for behind it.
  [[nodiscard]] virtual bool may_sleep() noexcept { return true; }

  // --- the single operations, as chains of one -----------------------------------------------------
  status put(int rank, region_id region, std::uint64_t remote, const void* local, std::uint64_t bytes) noexcept {
    const op one = op::put(region, remote, local, bytes);
    return post(rank, {&one, 1});
  }
  status get(int rank, region_id region, std::uint64_t remote, void* local, std::uint64_t bytes) noexcept {
    const op one = op::get(region, remote, local, bytes);
    return post(rank, {&one, 1});
  }
  status fetch_add(int rank, region_id region, std::uint64_t remote, std::uint64_t operand,
                   std::uint64_t* old) noexcept {
    const op one = op::add(region, remote, operand, old);
    return post(rank, {&one, 1});
  }
  status compare_swap(int rank, region_id region, std::uint64_t remote, std::uint64_t expected, std::uint64_t desired,
                      std::uint64_t* old) noexcept {
    const op one = op::cas(region, remote, expected, desired, old);
    return post(rank, {&one, 1});
  }
};

/// What a transport is created with; everything else it finds out itself.
struct context {
  int rank = 0;
  int size = 1;
  base::per_rank<int> nodes{};  // the node of each rank, from 0; empty: all are on one
  base::settings settings{};

  [[nodiscard]] int node_of(int r) const noexcept { return nodes.empty() ? 0 : nodes[r]; }
  [[nodiscard]] bool single_node() const noexcept {
    for (const int n : nodes) {
      if (n != nodes.front()) return false;
    }
    return true;
  }
  /// Some node has two workers or more, and there are other nodes.
  [[nodiscard]] bool has_neighbours_and_others() const noexcept {
    return !single_node() && static_cast<std::size_t>(*std::max_element(nodes.begin(), nodes.end())) + 1 < nodes.size();
  }
};

/// Something that a backend could drive, for tobi-info: "mlx5_0 port 1", a provider, a library.
struct device {
  std::string name;
  std::string facts;
  std::string why_not;  // "" when it is usable
};

}  // namespace tobi::transports
