// SPDX-License-Identifier: Apache-2.0
// utofu: the Tofu interconnect by its public interface, one virtual control queue (VCQ) per worker.
//
// A request is found again by its edata, of which one byte comes back with its notice: so 256 are under way at most. It
// has ended when its notice is in the MRQ: then a put is at its target, a get is here, and an atomic's old value is in
// the notice itself. The TCQ says before that that it has left, and is polled because the TOQ has no room otherwise.
//
// The order of a chain is STRONG_ORDER's as far as that is trusted (TOBI_UTOFU_ORDER). That puts and atomics of one VCQ
// to one target take effect in order is what public programs rely on; that a get waits for them is said nowhere. So
// where only writes are trusted a chain goes in stages: a get is posted when the writes before it have ended, and a
// write when the gets before it have. What follows a get waits for its initiator's progress then, and only that: the
// initiator of a get polls for it anyway.
//
// put_notify is not claimed. Its notices would lie in the MRQ in which the ends of one's own requests come, nothing
// holds back a sender when it is full, and a full one stops the device; soft/mailbox has flow control.
#pragma once

#include <vector>

#include "libcore/base/per_rank.hpp"
#include "transports/by_rank.hpp"
#include "transports/transport.hpp"
#include "transports/utofu/library.hpp"
#include "transports/utofu/settings.hpp"

namespace tobi::transports::utofu {

class utofu_transport final : public transport {
 public:
  utofu_transport(const context& where, const library& lib, interfaces has);
  ~utofu_transport() override;

  [[nodiscard]] std::string_view name() const noexcept override { return "utofu"; }
  [[nodiscard]] const capabilities& caps() const noexcept override { return caps_; }
  [[nodiscard]] std::string describe() const override;
  [[nodiscard]] std::string dialect() const override;
  [[nodiscard]] std::string why_not_registered() const override { return why_not_registered_; }
  [[nodiscard]] std::string address() const override;
  status connect(std::span<const std::string> addresses) override;
  status register_memory(const memory& local, region_key& key) override;
  status deregister_memory(const region_key& key) override;
  status attach(int rank, const region_key& key, region_id& id) override;
  [[nodiscard]] std::byte* map(region_id) noexcept override { return nullptr; }

  status post(int rank, std::span<const op> ops) noexcept override;
  status flush(int rank) noexcept override;
  void progress() noexcept override;

 private:
  static constexpr std::uint32_t requests_most = 256;  // what one byte of edata tells apart
  static constexpr std::uint32_t chain_most = 16;
  static constexpr std::uint32_t pieces_most = 4;  // requests of one put or get: each has a greatest length
  static constexpr std::uint32_t chain_requests = chain_most * pieces_most;
  static constexpr std::size_t slot_bytes = 256;   // of a request whose memory is not registered: a line of its own
  static constexpr std::size_t inline_bytes = 64;  // a put of this size releases its buffer at once

  struct chain;
  /// By its edata. Memory that is registered for it alone ends with it.
  struct request {
    chain* of = nullptr;  // null: free
    std::uint8_t op = 0;  // of the chain
    bool has_temporary = false;
    stadd temporary = 0;
    std::byte* bounce = nullptr;  // freed with it
    void* copy_to = nullptr;      // of a get that went through its slot or bounce
    const std::byte* copy_from = nullptr;
    std::uint64_t copy_bytes = 0;
    std::uint8_t next_free = 0;
  };
  struct chain {
    chain* next_free = nullptr;
    int peer = -1;
    std::uint32_t count = 0;
    std::uint32_t next = 0;      // operation that was not posted yet
    std::uint32_t reserved = 0;  // requests that the rest of it needs
    std::uint32_t reads = 0;     // under way
    std::uint32_t writes = 0;
    std::uint32_t leaving = 0;  // in the TOQ or the TCQ
    bool begun = false;         // and listed so
    std::array<op, chain_most> ops;
    std::array<std::array<std::byte, inline_bytes>, chain_most> inlined;
  };
  /// Requests that are posted together.
  struct stage {
    std::array<std::uint8_t, chain_requests> requests;
    std::uint32_t count = 0;
    std::uint32_t ops = 0;
    std::uint32_t reads = 0;
    std::uint32_t writes = 0;
    std::size_t bytes = 0;
    alignas(8) std::array<std::byte, chain_requests * descriptor_most> descriptors;
  };
  struct own_region {
    std::byte* base;
    std::size_t bytes;
    stadd at;
    region_key key;
  };
  struct region {
    int rank = -1;
    stadd at = 0;
    std::uint64_t bytes = 0;
    std::byte* here = nullptr;  // of this rank
  };
  struct link {
    std::uint32_t chains = 0;  // under way
    status health = status::ok;
  };
  struct piece {  // of a put or get
    std::byte* local;
    stadd remote;
    std::uint64_t bytes;
  };

  void create_vcq(const context& where, const interfaces& has, int wished);
  status check(int rank, std::span<const op> ops) const noexcept;
  [[nodiscard]] std::uint32_t requests_of(const op& o) const noexcept;
  [[nodiscard]] bool may_go(const chain& c, std::uint32_t index, const stage& s) const noexcept;
  status advance(chain& c) noexcept;
  bool add(chain& c, std::uint32_t index, stage& s) noexcept;
  int prepare(const chain& c, const op& o, request& r, std::uint8_t edata, const piece& p, unsigned long flags,
              std::byte* desc, std::size_t* bytes) noexcept;
  bool find_local(const op& o, request& r, std::uint8_t edata, const piece& p, stadd& local) noexcept;
  bool register_for(request& r, std::byte* at, std::uint64_t bytes, stadd& local) noexcept;
  [[nodiscard]] const own_region* registered(const std::byte* at, std::uint64_t bytes) const noexcept;
  void undo(stage& s) noexcept;
  void release(std::uint8_t edata) noexcept;
  void take_tcq() noexcept;
  void take_mrq() noexcept;
  void ended(const mrq_notice& n, int got) noexcept;
  void drop_rest(chain& c) noexcept;
  void settle(chain& c) noexcept;
  void go_on() noexcept;
  void lose(int rank, const std::string& why) noexcept;
  void lose_domain(const std::string& what, int got) noexcept;
  [[nodiscard]] std::string place_of(vcq_id id) const;

  const library& lib_;
  onesided_caps device_;
  trusted_order order_;
  int rank_;
  int size_;
  std::uint32_t granule_;      // of puts and gets: 1, or 4 on a Tofu 1
  std::uint64_t piece_bytes_;  // of one request
  std::size_t tnis_;
  tni_id tni_ = 0;
  capabilities caps_;
  vcq_handle vcq_ = 0;
  vcq_id id_ = 0;
  std::byte* slots_ = nullptr;
  stadd slots_at_ = 0;
  std::array<request, requests_most> requests_;
  std::uint8_t free_request_ = 0;
  std::uint32_t free_requests_ = 0;
  std::uint32_t stage_most_ = chain_requests;  // requests that the TOQ takes at once, as it turned out
  std::uint32_t reserved_ = 0;                 // of the free ones, for chains that were begun
  std::vector<chain> chains_;
  chain* free_chain_ = nullptr;
  std::vector<chain*> begun_;  // not all of which is posted
  std::vector<own_region> own_;
  std::vector<region> regions_;
  base::per_rank<vcq_id> peers_;
  by_rank<link> links_;
  std::string why_not_registered_;
  status health_ = status::ok;
};

std::string unusable(const context& where);
std::unique_ptr<transport> create(const context& where);
std::vector<device> devices();

}  // namespace tobi::transports::utofu
