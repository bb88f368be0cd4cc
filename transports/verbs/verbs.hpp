// libibverbs: reliable connections, posted to directly. A chain is a list of work requests that rings the doorbell once
// and signals once; the responder executes it in order, which makes claim + read one round trip.
//
// Scope is `domain` unless the device's atomics reach the CPU's: then also a worker's own words are changed through the
// device, by a connection to itself.
#pragma once

#include <deque>
#include <vector>

#include "transports/transport.hpp"
#include "transports/verbs/wireup.hpp"

namespace tobi::transports::verbs {

class verbs_transport final : public transport {
 public:
  verbs_transport(const context& where, opened device);
  ~verbs_transport() override;

  [[nodiscard]] std::string_view name() const noexcept override { return "verbs"; }
  [[nodiscard]] const capabilities& caps() const noexcept override { return caps_; }
  [[nodiscard]] std::string describe() const override;
  [[nodiscard]] std::string why_not_registered() const override { return why_not_registered_; }
  [[nodiscard]] std::string address() const override;
  status connect(std::span<const std::string> addresses) override;
  status register_memory(const memory& local, region_key& key) override;
  status deregister_memory(const region_key& key) override;
  status attach(int rank, const region_key& key, region_id& id) override;
  [[nodiscard]] std::byte* map(region_id) noexcept override { return nullptr; }

  status post(int rank, std::span<const op> ops) noexcept override;
  status flush(int rank) noexcept override;
  status put_notify(int rank, const op& o, std::uint64_t data) noexcept override;
  status poll_notice(notice& n) noexcept override;
  void progress() noexcept override;

 private:
  static constexpr std::uint32_t chain_most = 16;
  static constexpr std::size_t slot_bytes = 256;     // an operation whose memory is not registered goes through one
  static constexpr std::uint32_t chains = 256;       // under way at once, over all connections
  static constexpr std::uint32_t queue_depth = 128;  // work requests of one connection
  static constexpr std::uint32_t small_bytes = 64;   // a put of this size releases its buffer at once
  static constexpr std::uint32_t notice_receives = 512;

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
    bool warned = false;
    status health = status::ok;
  };

  [[nodiscard]] link& link_of(int rank) noexcept { return links_[static_cast<std::size_t>(rank)]; }
  status check(int rank, std::span<const op> ops) const noexcept;
  status need_link(int rank, link& l) noexcept;
  status open_link(int rank, link& l) noexcept;
  status finish_link(int rank, link& l, const answer& a) noexcept;
  status advance(int rank, link& l) noexcept;
  bool close_idle_link() noexcept;
  void close_qp(int rank, link& l) noexcept;
  status lose(int rank, const std::string& why) noexcept;
  status send_chain(int rank, link& l, std::span<const op> ops, const std::uint32_t* immediate) noexcept;
  bool fill(const op& o, std::size_t index, chain& c, ibv_send_wr& wr, ibv_sge& at) noexcept;
  [[nodiscard]] const own_region* registered(const void* at, std::size_t bytes) const noexcept;
  void complete(const ibv_wc& done) noexcept;
  [[nodiscard]] std::string why_failed(int rank, const ibv_wc& done) const;
  bool next_notice(notice& n) noexcept;
  void receive_notice() noexcept;
  void forget_closed() noexcept;
  void give_back(chain& c) noexcept;

  int rank_;
  int size_;
  std::size_t most_links_;
  opened device_;
  capabilities caps_;
  std::uint32_t inline_bytes_ = 0;
  owned<ibv_pd> pd_;
  owned<ibv_cq> send_cq_;
  owned<ibv_cq> notice_cq_;
  owned<ibv_srq> srq_;
  std::vector<std::byte> slot_memory_;
  owned<ibv_mr> slot_mr_;
  std::vector<chain> chains_;
  chain* free_ = nullptr;
  std::vector<own_region> own_;
  std::vector<region> regions_;
  std::vector<endpoint> peers_;
  std::string why_not_registered_;
  std::vector<link> links_;
  std::size_t open_links_ = 0;
  std::uint64_t opened_ = 0;    // since the start
  std::deque<notice> arrived_;  // from queue pairs that were closed before poll_notice came to them
  std::uint32_t next_token_;
  std::uint64_t uses_ = 0;
  std::unique_ptr<wireup> wireup_;
};

std::string unusable(const context& where);
std::unique_ptr<transport> create(const context& where);

}  // namespace tobi::transports::verbs
