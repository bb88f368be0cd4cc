// The contract between the runtime and a fabric. One instance a worker, used by one thread at a time, no locks
// inside. No operation blocks: what cannot be posted now answers `again` and has had no effect.
//
// Two rules carry everything else:
//   1. A chain is executed at the target in order: an operation of the chain takes effect, or reads, after
//      the ones before it have taken effect. Chains to one peer that were posted apart are not ordered.
//   2. A posted operation is complete, at the target and in the initiator's buffers, once flush(peer) has
//      answered ok. Until then the runtime owns none of the buffers that it named, except those of inline puts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libcore/base/settings.hpp"
#include "libcore/base/status.hpp"
#include "transports/capabilities.hpp"

namespace tobi::transports {

class meeting;  // transports/meeting.hpp

/// Memory of this process to be reached by others. A transport that maps needs `fd` and `fd_offset`.
struct memory {
  void* base = nullptr;
  std::size_t bytes = 0;
  int fd = -1;
  std::uint64_t fd_offset = 0;
};

/// What a peer needs to reach a region: opaque bytes, exchanged by the caller.
struct region_key {
  std::array<std::byte, 128> bytes{};
};
/// A region of a peer, attached. Small and dense: the caller indexes tables with it.
using region_id = std::uint32_t;

enum class op_kind : std::uint8_t { put, get, fetch_add, compare_swap };

/// One operation. `remote` is a byte offset in the peer's region. Atomics work on one aligned 64-bit
/// word and write the value found there to `local`.
struct op {
  op_kind kind = op_kind::get;
  bool guard = false;  // compare_swap: when it fails the initiator needs nothing of what follows in
                       // the chain, so a transport that can stop there may
  region_id region = 0;
  std::uint64_t remote = 0;
  void* local = nullptr;       // put: source; get: destination; atomics: the value found
  std::uint64_t bytes = 0;     // put, get
  std::uint64_t operand = 0;   // fetch_add: what is added; compare_swap: what is stored
  std::uint64_t expected = 0;  // compare_swap
};

/// A message that came with put_notify.
struct notice {
  int rank = -1;
  std::uint64_t data = 0;
};

class transport {
 public:
  virtual ~transport() = default;

  // --- setup -------------------------------------------------------------------------------------
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  [[nodiscard]] virtual const capabilities& caps() const noexcept = 0;
  /// For people: the device or provider in use, and what is emulated. One line, or "".
  [[nodiscard]] virtual std::string describe() const { return ""; }
  /// Why register_memory() last answered other than ok, and what to do: the end of a sentence, or "".
  [[nodiscard]] virtual std::string why_not_registered() const { return ""; }
  /// What connect() of the peers needs to know of this worker: opaque bytes.
  [[nodiscard]] virtual std::string address() const = 0;
  /// Takes the addresses of all ranks, in order. Connections may be made later, on first use.
  virtual status connect(std::span<const std::string> addresses) = 0;
  /// Finds out, together with the other ranks, what of caps() a library promises and may not keep: passive_* and
  /// needs_progress. Called once by every rank, after connect() and before any other operation; until then, and where
  /// nobody does, caps() says what the library says.
  virtual void measure([[maybe_unused]] meeting& with) {}
  /// Makes MEMORY reachable. The caller owns it and keeps it until deregister_memory.
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
  /// ok: everything posted to RANK is complete (rule 2); again: not yet. Makes progress itself.
  virtual status flush(int rank) noexcept = 0;
  /// A put whose completion at the target shows there as a notice that carries DATA.
  virtual status put_notify(int rank, const op&, std::uint64_t) noexcept {
    (void)rank;
    return status::unsupported;
  }
  /// ok and a notice, or again when none has come.
  virtual status poll_notice(notice&) noexcept { return status::unsupported; }
  /// Moves what the transport has under way, for fabrics that do not move by themselves.
  virtual void progress() noexcept {}
  /// A descriptor that becomes readable when progress() would do something, or -1.
  [[nodiscard]] virtual int wait_fd() const noexcept { return -1; }

  // --- the single operations, as chains of one -----------------------------------------------------
  status put(int rank, region_id region, std::uint64_t remote, const void* local, std::uint64_t bytes) noexcept {
    const op one{op_kind::put, false, region, remote, const_cast<void*>(local), bytes, 0, 0};
    return post(rank, {&one, 1});
  }
  status get(int rank, region_id region, std::uint64_t remote, void* local, std::uint64_t bytes) noexcept {
    const op one{op_kind::get, false, region, remote, local, bytes, 0, 0};
    return post(rank, {&one, 1});
  }
  status fetch_add(int rank, region_id region, std::uint64_t remote, std::uint64_t operand,
                   std::uint64_t* old) noexcept {
    const op one{op_kind::fetch_add, false, region, remote, old, 8, operand, 0};
    return post(rank, {&one, 1});
  }
  status compare_swap(int rank, region_id region, std::uint64_t remote, std::uint64_t expected, std::uint64_t desired,
                      std::uint64_t* old) noexcept {
    const op one{op_kind::compare_swap, false, region, remote, old, 8, desired, expected};
    return post(rank, {&one, 1});
  }
};

/// What a transport is created with; everything else it finds out itself.
struct context {
  int rank = 0;
  int size = 1;
  std::vector<int> nodes{};  // the node of each rank, from 0; empty: all are on one
  base::settings settings{};

  [[nodiscard]] int node_of(int r) const noexcept { return nodes.empty() ? 0 : nodes[static_cast<std::size_t>(r)]; }
  [[nodiscard]] bool single_node() const noexcept {
    for (const int n : nodes) {
      if (n != nodes.front()) return false;
    }
    return true;
  }
};

/// Something that a backend could drive, for tobi-info: "mlx5_0 port 1", a provider, a library.
struct device {
  std::string name;
  std::string facts;
  std::string why_not;  // "" when it is usable
};

/// A row of the registry (transports/select.cc): one visible array, in order of preference.
struct registry_entry {
  std::string_view name;
  std::string_view summary;
  /// "" when it can serve this job, else one sentence that says why not.
  std::string (*unusable)(const context&);
  std::unique_ptr<transport> (*create)(const context&);
  std::vector<device> (*devices)() = nullptr;
  bool automatic = true;  // may be chosen by "auto"
};
[[nodiscard]] std::span<const registry_entry> registry();
/// entry.unusable(), asked in a child process: for whoever forks the workers afterwards.
[[nodiscard]] std::string unusable_apart(const registry_entry& entry, const context& where);
/// Fatal, with the good names, when the settings name a transport, a decorator, a fault or a mode that there is not. To
/// be called before the workers are forked, so that one process says it.
void check_names(const base::settings& in_force);
/// The transport NAMED, or the first usable one for "auto"; says which and why at log level info. Fatal, with
/// the reason and the good names, when there is none.
[[nodiscard]] std::unique_ptr<transport> select(std::string_view named, const context& where);

}  // namespace tobi::transports
