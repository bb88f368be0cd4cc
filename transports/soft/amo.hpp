// A transport without atomics made into one that has them, and notices: soft::amo_server at the target, which runs in
// the target's progress() or in a thread of its own.
#pragma once

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "transports/soft/amo_server.hpp"
#include "transports/soft/mailbox.hpp"
#include "transports/transport.hpp"

namespace tobi::transports::soft {

/// Makes the transport underneath for a context; called twice where the server has a thread.
using factory = std::function<std::unique_ptr<transport>(const context&)>;
/// The transport that MAKE makes, with atomics and notices by messages. TOBI_AMO_SERVER says where they are executed.
std::unique_ptr<transport> with_amo_server(const context& where, const factory& make);

class amo_transport final : public transport {
 public:
  amo_transport(const context& where, const factory& make);
  ~amo_transport() override;

  [[nodiscard]] std::string_view name() const noexcept override { return inner_->name(); }
  [[nodiscard]] const capabilities& caps() const noexcept override { return caps_; }
  [[nodiscard]] std::string describe() const override;
  [[nodiscard]] std::string why_not_registered() const override { return inner_->why_not_registered(); }
  [[nodiscard]] std::string address() const override;
  status connect(std::span<const std::string> addresses) override;
  status register_memory(const memory& local, region_key& key) override;
  status deregister_memory(const region_key& key) override;
  status attach(int rank, const region_key& key, region_id& id) override;
  [[nodiscard]] std::byte* map(region_id id) noexcept override;

  status post(int rank, std::span<const op> ops) noexcept override;
  status flush(int rank) noexcept override;
  status put_notify(int rank, const op& o, std::uint64_t data) noexcept override;
  status poll_notice(notice& n) noexcept override;
  void progress() noexcept override;

 private:
  struct region {
    int rank;
    region_id inner;
    std::uint64_t bytes;
    std::uint32_t number;  // in the target's table
  };
  struct own_region {
    region_key key;
    std::uint32_t number;
  };
  struct peer {
    bool busy = false;  // requests or notices are under way
    int server = -1;    // its rank on the transport underneath
    region_id requests = 0;
    std::uint64_t asked = 0;
    std::uint64_t answered = 0;
    void* found[amo_slots] = {};           // where each reply goes
    std::vector<std::uint64_t> to_notify;  // data of notices whose puts are not known to be complete
  };
  [[nodiscard]] peer& peer_of(int rank) noexcept { return peers_[static_cast<std::size_t>(rank)]; }
  status ask(int rank, const op& o, const region& r) noexcept;
  void take_replies(peer& p, std::size_t index) noexcept;
  void notify_pending(int rank, peer& p) noexcept;
  void keep_busy(int rank, peer& p) noexcept;

  int rank_;
  int size_;
  bool threaded_;
  std::unique_ptr<transport> inner_;         // the worker's
  std::unique_ptr<transport> server_inner_;  // the server's own, where it is a thread
  capabilities caps_;
  region_table table_;
  std::unique_ptr<amo_server> server_;
  std::unique_ptr<board> replies_;
  std::unique_ptr<mailbox<std::uint64_t>> notices_;
  std::vector<peer> peers_;
  std::vector<region> regions_;
  std::vector<own_region> own_;
  std::vector<int> busy_;
  std::thread thread_;
  std::atomic<bool> stop_{false};
};

}  // namespace tobi::transports::soft
