// SPDX-License-Identifier: Apache-2.0
// libibverbs: reliable connections, posted to directly. A chain is a list of work requests that rings the doorbell once
// and signals once; the responder executes it in order, which makes claim + read one round trip.
//
// Scope is `domain` unless the device's atomics reach the CPU's: then also a worker's own words are changed through the
// device, by a connection to itself.
#pragma once

#include <deque>
#include <vector>

#include "libcore/base/per_rank.hpp"
#include "transports/by_rank.hpp"
#include "transports/transport.hpp"
#include "transports/verbs/wireup.hpp"

namespace tobi::transports::verbs {

class verbs_transport final : public transport, public notice_keeper {
 public:
  verbs_transport(const context& where, opened device);
  ~verbs_transport() override;

  [[nodiscard]] std::string_view name() const noexcept override { return "verbs"; }
  [[nodiscard]] const capabilities& caps() const noexcept override { return caps_; }
  [[nodiscard]] std::string describe() const override;
  [[nodiscard]] std::string dialect() const override;
  [[nodiscard]] std::string why_not_registered() const override { return why_not_registered_; }
  [[nodiscard]] std::string address() const override;
  status connect(std::span<const std::string> addresses) override;
  void measure(meeting& with) override;
  status register_memory(const memory& local, region_key& key) override;
  status deregister_memory(const region_key& key) override;
  status attach(int rank, const region_key& key, region_id& id) override;
  [[nodiscard]] std::byte* map(region_id) noexcept override { return nullptr; }

  status post(int rank, std::span<const op> ops) noexcept override { return post_as(rank, ops, true); }
  status post_unordered(int rank, std::span<const op> ops) noexcept override { return post_as(rank, ops, false); }
  status flush(int rank) noexcept override;
  status put_notify(int rank, const op& o, std::uint64_t data) noexcept override;
  status poll_notice(notice& n) noexcept override;
  void progress() noexcept override;

 private:
  static constexpr std::uint32_t chain_most = 16;
  // Others have as many to a worker as it has to them, taken over all of a job; a worker may have more than its share.
  static constexpr std::size_t responders_per_connection = 2;
  static constexpr std::size_t slot_bytes = 256;     // an operation whose memory is not registered goes through one
  static constexpr std::uint32_t chains = 256;       // under way at once, over all connections
  static constexpr std::uint32_t queue_depth = 128;  // work requests of one connection
  static constexpr std::uint32_t small_bytes = 64;   // a put of this size releases its buffer at once
  static constexpr std::uint32_t notice_receives = 512;
  static constexpr std::uint64_t full_and_empty_ns = 3'000'000'000;  // a queue that refuses, with nothing under way

  struct copy {
    void* to;
    const std::byte* from;
    std::uint32_t bytes;
  };
  /// What a chain leaves to do at its completion.
  struct chain {
    chain* next_free = nullptr;
    int peer = -1;                 // -1: free
    std::uint32_t generation = 0;  // a completion that was queued before its queue pair went away is of an earlier one
    std::uint32_t requests = 0;
    std::uint32_t copies = 0;
    std::array<copy, chain_most> copied;
    std::array<ibv_mr*, chain_most> temporary{};
    std::uint32_t temporaries = 0;
    std::byte* slots = nullptr;  // chain_most of them, registered
  };
  struct own_region {
    owned<ibv_mr> mr;
    std::byte* base;
    std::size_t bytes;
    region_key key;
  };
  struct region {
    int rank = -1;
    std::uint32_t rkey = 0;
    std::uint64_t base = 0;
    std::uint64_t bytes = 0;
    bool own = false;
  };
  struct link {
    owned<ibv_qp> qp;
    std::uint32_t token = 0;
    std::uint32_t psn = 0;
    bool ready = false;
    bool used = false;  // since it is ready
    std::uint32_t pending_chains = 0;
    std::uint32_t pending_requests = 0;
    std::uint64_t last_use = 0;
    std::uint64_t asked_ns = 0;
    std::uint64_t first_asked_ns = 0;
    std::uint64_t refused_ns = 0;  // since when posts are refused, with nothing under way; 0: they are not
    bool warned = false;
    status health = status::ok;
  };

  bool excludes_the_cpu();
  [[nodiscard]] link& link_of(int rank) noexcept { return links_.of(rank); }
  status check(int rank, std::span<const op> ops) const noexcept;
  status need_link(int rank, link& l) noexcept;
  status open_link(int rank, link& l) noexcept;
  status finish_link(int rank, link& l, const answer& a) noexcept;
  status advance(int rank, link& l) noexcept;
  bool close_idle_link() noexcept;
  void leave_where_asked() noexcept;
  void close_qp(int rank, link& l) noexcept;
  status lose(int rank, const std::string& why) noexcept;
  [[nodiscard]] bool has_room(const link& l, std::size_t requests) const noexcept;
  status post_as(int rank, std::span<const op> ops, bool in_order) noexcept;
  status send_chain(int rank, link& l, std::span<const op> ops, bool in_order, const std::uint32_t* immediate) noexcept;
  status refused(int rank, link& l) noexcept;
  bool fill(const op& o, std::size_t index, chain& c, ibv_send_wr& wr, ibv_sge& at) noexcept;
  [[nodiscard]] const own_region* registered(const void* at, std::size_t bytes) const noexcept;
  void take_completions() noexcept;
  void complete(const ibv_wc& done) noexcept;
  [[nodiscard]] std::string why_failed(int rank, const ibv_wc& done) const;
  bool next_notice(notice& n) noexcept;
  bool receive_notice() noexcept;
  void receive_again() noexcept;
  void keep_notices() noexcept override;
  void give_back(chain& c) noexcept;

  int rank_;
  int size_;
  std::size_t most_links_;
  opened device_;
  capabilities caps_;
  bool may_reach_the_cpu_ = false;  // its atomics exclude the CPU's, as the device says
  std::uint32_t inline_bytes_ = 0;
  owned<ibv_pd> pd_;
  owned<ibv_cq> send_cq_;
  owned<ibv_cq> notice_cq_;
  owned<ibv_srq> srq_;
  pages slot_memory_;
  owned<ibv_mr> slot_mr_;
  std::vector<chain> chains_;
  chain* free_ = nullptr;
  // Each request can come back as a completion when its connection breaks. There are never more than send_cq_ holds.
  std::size_t requests_ = 0;        // under way, over all connections
  std::size_t stale_requests_ = 0;  // of connections that broke, whose completions may still lie there
  std::vector<own_region> own_;
  std::vector<region> regions_;
  base::per_rank<endpoint> peers_;
  std::string why_not_registered_;
  by_rank<link> links_;
  std::vector<int> open_links_;  // ranks whose link has a queue pair
  std::uint64_t opened_ = 0;     // since the start
  std::mutex notices_;           // of notice_cq_ and what follows: wireup's thread takes notices too
  std::deque<notice> arrived_;   // from queue pairs that were closed before poll_notice came to them
  std::uint32_t owed_ = 0;       // receives that the device has refused to take
  std::uint32_t next_token_;
  std::uint64_t uses_ = 0;
  std::unique_ptr<wireup> wireup_;
};

}  // namespace tobi::transports::verbs
