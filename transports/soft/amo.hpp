// SPDX-License-Identifier: Apache-2.0
// A transport without atomics made into one that has them, and notices. soft::placement says what executes the atomics
// on a rank's memory, soft::amo_client asks there, and soft::amo_server executes them.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "transports/by_rank.hpp"
#include "transports/soft/amo_client.hpp"
#include "transports/soft/amo_server.hpp"
#include "transports/soft/board.hpp"
#include "transports/soft/key_list.hpp"
#include "transports/soft/mailbox.hpp"
#include "transports/soft/placement.hpp"
#include "transports/transport.hpp"

namespace tobi::transports::soft {

/// Makes the transport underneath for a context; called twice where the server has a thread.
using factory = std::function<std::unique_ptr<transport>(const context&)>;
/// The transport that MAKE makes, with atomics and notices by messages. TOBI_AMO_SERVER says where they are executed;
/// ends the job with one sentence where that cannot be. Up to SEEN_AT_ONCE ranks requests are looked for and not
/// announced: a look at so many cells takes less than a notice.
std::unique_ptr<transport> with_amo_server(const context& where, const factory& make,
                                           int seen_at_once = looks_per_poll);

class amo_transport final : public transport {
 public:
  amo_transport(const context& where, const factory& make, int seen_at_once);
  ~amo_transport() override;

  [[nodiscard]] std::string_view name() const noexcept override { return inner_->name(); }
  [[nodiscard]] const capabilities& caps() const noexcept override { return caps_; }
  [[nodiscard]] std::string describe() const override;
  [[nodiscard]] std::string dialect() const override { return inner_->dialect() + ", atomics by messages"; }
  [[nodiscard]] std::string why_not_registered() const override { return inner_->why_not_registered(); }
  [[nodiscard]] std::string why_not_reached() const override {
    return memory_.why_not_added().empty() ? inner_->why_not_reached() : memory_.why_not_added();
  }
  [[nodiscard]] std::string address() const override;
  status connect(std::span<const std::string> addresses) override;
  void measure(meeting& with) override;
  status register_memory(const memory& local, region_key& key) override;
  status deregister_memory(const region_key& key) override;
  status attach(int rank, const region_key& key, region_id& id) override;
  [[nodiscard]] std::byte* map(region_id id) noexcept override;
  [[nodiscard]] bool serves_only(int rank) const noexcept override { return place_.serves_only(rank); }

  status post(int rank, std::span<const op> ops) noexcept override;
  status flush(int rank) noexcept override;
  status put_notify(int rank, const op& o, std::uint64_t data) noexcept override;
  status poll_notice(notice& n) noexcept override;
  void progress() noexcept override;
  [[nodiscard]] int wait_fd() const noexcept override { return caps_.has_wait_fd ? inner_->wait_fd() : -1; }
  [[nodiscard]] bool may_sleep() noexcept override;

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
    bool busy = false;                     // requests or notices are under way
    std::uint64_t asked = 0;               // requests to its server up to the last one on its memory
    std::vector<std::uint64_t> to_notify;  // data of notices whose puts are not known to be complete
    int edges = 0;                         // of puts, that are to be asked for
  };
  [[nodiscard]] std::size_t endpoints() const noexcept {
    return static_cast<std::size_t>(place_.by_thread() ? 2 * size_ : size_);
  }
  void announce() noexcept;
  void hear() noexcept;
  bool serve_by_thread() noexcept;
  struct edge {  // bytes of a put that no whole granule holds
    int rank;
    amo_request request;
  };
  status ask(int rank, const op& o, const region& r) noexcept;
  status ask(int rank, const amo_request& request, void* found) noexcept;
  status put_odd(int rank, const op& o, const region& r) noexcept;
  void ask_for_edges() noexcept;
  void notify_pending(int rank, peer& p) noexcept;
  void keep_busy(int rank, peer& p) noexcept;
  void start_thread();

  int rank_;
  int size_;
  int seen_at_once_;
  placement place_;
  std::unique_ptr<transport> inner_;         // the worker's
  std::unique_ptr<transport> server_inner_;  // the server's own, where it is a thread
  capabilities caps_;
  region_table table_;
  std::unique_ptr<region_directory> directory_;  // for the server of the node, where there is one
  served_memory memory_;
  key_list keys_;                        // of the boards of all workers, and of their threads behind them
  std::unique_ptr<board> board_;         // replies, notices, and requests where the worker itself executes them
  std::unique_ptr<board> server_board_;  // requests, where a thread does
  std::unique_ptr<amo_server> server_;   // null where another rank is this one's
  std::unique_ptr<amo_client> client_;
  std::unique_ptr<mailbox<std::uint64_t>> notices_;
  by_rank<peer> peers_;
  std::vector<region> regions_;
  std::vector<own_region> own_;
  std::vector<int> busy_;
  std::vector<edge> edges_;             // to be asked for, two at most
  std::uint64_t stored_ = 0;            // what comes back of them is nothing
  std::uint32_t granule_ = 1;           // of puts underneath
  bool listens_ = false;                // somebody asks for notices
  std::atomic<bool> announced_{false};  // the thread's: requests are
  std::thread thread_;
  std::atomic<bool> stop_{false};
};

}  // namespace tobi::transports::soft
