// SPDX-License-Identifier: Apache-2.0
// libfabric: reliable datagram endpoints of whatever provider serves this machine.
//
// Chains are not claimed: few providers order a read behind an atomic at the target, so the runtime waits between
// dependent operations. Native atomics have scope domain, which is what libfabric promises. Where a provider has none,
// soft::amo_server stands in.
#pragma once

#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_rma.h>

#include <atomic>
#include <deque>
#include <string>
#include <thread>
#include <vector>

#include "libcore/base/per_rank.hpp"
#include "transports/by_rank.hpp"
#include "transports/ofi/passive.hpp"
#include "transports/ofi/provider.hpp"
#include "transports/transport.hpp"

namespace tobi::transports::ofi {

/// Closes what fi_* opened.
struct close_fid {
  template <class Fid>
  void operator()(Fid* f) const {
    fi_close(&f->fid);
  }
};
template <class Fid>
using handle = std::unique_ptr<Fid, close_fid>;

class ofi_transport final : public transport {
 public:
  ofi_transport(const context& where, choice chosen);
  ~ofi_transport() override;

  [[nodiscard]] std::string_view name() const noexcept override { return "ofi"; }
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

  status post(int rank, std::span<const op> ops) noexcept override;
  status flush(int rank) noexcept override;
  status put_notify(int rank, const op& o, std::uint64_t data) noexcept override;
  status poll_notice(notice& n) noexcept override;
  void progress() noexcept override;
  [[nodiscard]] int wait_fd() const noexcept override { return wait_fd_; }
  [[nodiscard]] bool may_sleep() noexcept override;

 private:
  static constexpr std::size_t small_bytes = 64;  // moved through the request itself
  static constexpr std::size_t requests = 512;    // under way at once

  /// One operation under way. libfabric owns `context` until the completion; `small` holds what must not be read from,
  /// or written to, the caller's memory directly.
  struct request {
    fi_context2 context;
    request* next_free;
    void* copy_to;      // null, or where `small` goes when it is complete
    fid_mr* temporary;  // a registration that lasts as long as this operation
    std::int32_t peer;
    std::uint32_t copy_bytes;
    alignas(16) std::byte small[small_bytes];
    std::uint64_t operand;
    std::uint64_t expected;
  };
  struct own_region {
    std::shared_ptr<fid_mr> mr;  // of the whole registration, which may be larger than this part of it
    std::byte* base;
    std::size_t bytes;
    std::byte* registered;
    std::size_t registered_bytes;
    std::uint64_t number;
    region_key key;
  };
  struct region {
    int rank = -1;
    std::uint64_t start = 0;  // what offset 0 is to the provider
    std::uint64_t key = 0;
    std::uint64_t bytes = 0;
    std::byte* here = nullptr;  // of this process
    std::uint64_t own = 0;      // and the number of its registration
  };
  struct peer {
    fi_addr_t address = FI_ADDR_UNSPEC;  // not asked for yet
    std::uint32_t pending = 0;
    status health = status::ok;
  };
  // The data of a completion at the target say which rank has written, and above that what put_notify was given. Not
  // every provider carries the 64 bits that an application may give it, so those that are there are shared.
  static constexpr unsigned rank_bytes = 3;
  static constexpr std::uint64_t nobody = (std::uint64_t{1} << 8 * rank_bytes) - 1;  // a notice of the measurement

  /// Memory to measure with.
  struct probe {
    alignas(64) std::byte target[32u << 10];  // others work on it
    alignas(64) std::uint64_t counter;
    alignas(64) std::uint64_t own_counter;
    alignas(64) std::uint64_t arrives;  // the word that its initiator leaves alone
    alignas(64) std::byte local[32u << 10];
  };

  void open(const context& where);
  void open_queue();
  void start_mover();
  void claim();
  void claim_notices();
  void believe_notices(bool they_come) noexcept;
  [[nodiscard]] bool greet(meeting& with, int partner, region_id there);
  void measure_once(meeting& with, int partner, bool sleeps_first, region_id there, std::uint32_t seen);
  [[nodiscard]] std::uint32_t try_partner(int partner, region_id there) noexcept;
  void check_own_atomics(const region_key& mine);
  [[nodiscard]] std::uint64_t patience_ns() const noexcept;
  [[nodiscard]] bool complete_within(int rank, const op& what, std::uint64_t limit_ns,
                                     const std::uint64_t* remote_data = nullptr) noexcept;
  [[nodiscard]] bool mode(std::uint64_t bit) const noexcept {
    return (static_cast<std::uint64_t>(info_->domain_attr->mr_mode) & bit) != 0;
  }
  fid_mr* register_with_provider(void* from, std::size_t bytes, std::uint64_t access, int& error);
  void* describe_local(const void* at, std::size_t bytes, request& r) noexcept;
  [[nodiscard]] status check(int rank, const op& o) const noexcept;
  status find(int rank, peer& p) noexcept;
  status post_one(peer& p, const op& o, const region& r, const std::uint64_t* remote_data = nullptr) noexcept;
  status notify(int rank, const op& o, std::uint64_t remote_data) noexcept;
  void take_notice(std::uint64_t remote_data) noexcept;
  ssize_t start_put(request& q, const peer& p, const op& o, const region& r, const std::uint64_t* remote_data) noexcept;
  ssize_t start_get(request& q, const peer& p, const op& o, const region& r) noexcept;
  ssize_t start_atomic(request& q, const peer& p, const op& o, const region& r) noexcept;
  void finish(request& q) noexcept;
  void give_back(request& q) noexcept;
  void take_error() noexcept;
  [[noreturn]] void cannot(const char* what, long error) const;

  int rank_;
  int size_;
  base::per_rank<int> nodes_;  // of each rank
  progress_facts progress_;
  capabilities caps_;
  std::unique_ptr<probe> probe_;  // outlives the endpoint
  info_list info_;
  handle<fid_fabric> fabric_;
  handle<fid_domain> domain_;
  handle<fid_av> av_;
  handle<fid_cq> cq_;
  std::string file_;  // that provider shm has made for the endpoint, or ""
  handle<fid_ep> ep_;
  handle<fid_mr> requests_mr_;
  std::vector<request> requests_;
  request* free_ = nullptr;
  std::string why_not_registered_;
  std::vector<own_region> own_;
  std::uint64_t registrations_ = 0;
  std::vector<region> regions_;
  by_rank<peer> peers_;
  std::string names_;            // of all ranks' endpoints, one behind the other
  std::size_t name_bytes_ = 0;   // of one
  std::deque<notice> arrived_;   // notices that nobody has asked for yet
  std::uint64_t greetings_ = 0;  // notices of the measurement that have come
  // Delivered: visible at the target, to its CPU too. A provider that refuses the flag with an atomic that returns a
  // value is believed without it: what has returned was executed there.
  std::uint64_t atomic_flags_ = FI_COMPLETION | FI_DELIVERY_COMPLETE;
  status domain_health_ = status::ok;
  int wait_fd_ = -1;        // the completion queue's; -1: this provider has none
  bool may_sleep_ = false;  // asked for since anything was done
  std::thread mover_;       // TOBI_OFI_PROGRESS=thread
  std::atomic<bool> stop_mover_{false};
};

}  // namespace tobi::transports::ofi
