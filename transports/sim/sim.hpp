// SPDX-License-Identifier: Apache-2.0
// A simulated weak fabric between workers of one node, for tests: what the contract allows and real machines rarely do
// happens here all the time, decided by a seed.
//
// Each worker's NIC is simulated inside its own process. post() only queues; a queued chain is executed in small steps
// by later calls of post(), flush() and progress() of the initiator, on the peer's mapped memory:
//   - chains to one peer overtake each other, links clog for a while, post() returns `again` at times and always when
//     the queue of the peer is full;
//   - a put or get moves word by word in any order, with pauses in which the initiator does something else; an aligned
//     word does not tear. A put that is not inline is read late, a get's buffer is poisoned until it is filled;
//   - a word of a longer put is written once more at times, over what the target's CPU may have stored there, as long
//     as another word of the put has not been written;
//   - operations that were posted unordered are executed in any order;
//   - a get is executed before the get in front of it in its chain, unless `ordered-gets` promises that none is;
//   - an atomic is a load, a pause and a store, under a lock that only the target's NIC knows: scope domain. A change
//     of the word by a CPU, or by a put, that falls into the pause is lost;
//   - with `manual` nothing happens at a target that does not poll: an operation is executed only after the target has
//     called progress() or flush() since it was posted.
//
// Decisions depend on the seed, the rank and the sequence of calls alone. What the peers' processes do between two
// calls is the machine's, so a replay is of the decisions, not of every interleaving.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "libcore/base/per_rank.hpp"
#include "libcore/base/rng.hpp"
#include "transports/peer_memory.hpp"
#include "transports/transport.hpp"

namespace tobi::transports::sim {

inline constexpr std::uint32_t chain_limit = 16;
inline constexpr std::uint32_t inline_limit = 64;  // the least that the contract allows

/// What TOBI_SIM asks for.
struct modes {
  bool manual_rma = false;    // puts and gets need the target's polling
  bool manual_amo = false;    // atomics do
  bool chains = true;         // chains of more than one operation
  bool atomics = true;        // fetch_add and compare_swap
  bool ordered_gets = false;  // gets of one chain read in order
  bool overtaking = true;     // chains to one peer may overtake each other
  std::uint32_t depth = 8;    // chains in the queue of one peer
  std::uint32_t delay = 6;    // steps that something usually waits, at most
  std::uint32_t clog = 1000;  // of so many posts one clogs its link; 0: none does
  std::uint64_t seed = 1;
};
/// Reads TOBI_SIM's list. "" or what is wrong with it, as a sentence that lists the good names.
std::string read_modes(const base::settings& in_force, modes& into);

/// What a worker shares with the NICs of the others. `lock` is free (0) or holds 1 + the rank of its holder.
struct nic_page {
  static constexpr std::uint32_t slots = 64;
  alignas(64) std::atomic<std::uint32_t> lock;
  alignas(64) std::atomic<std::uint64_t> polled;  // how often this worker has polled
  alignas(64) std::uint64_t taken;                // notices: under the lock
  std::uint64_t given;
  notice inbox[slots];
};

class sim_transport final : public transport {
 public:
  sim_transport(const context& where, const modes& chosen);
  ~sim_transport() override;

  [[nodiscard]] std::string_view name() const noexcept override { return "sim"; }
  [[nodiscard]] const capabilities& caps() const noexcept override { return caps_; }
  [[nodiscard]] std::string describe() const override;
  [[nodiscard]] std::string why_not_reached() const override {
    return memory_.why_not_attached().empty() ? why_not_met_ : memory_.why_not_attached();
  }
  [[nodiscard]] std::string address() const override { return {}; }  // a key says where its owner's NIC is
  status connect(std::span<const std::string> addresses) override;
  status register_memory(const memory& local, region_key& key) override;
  status deregister_memory(const region_key& key) override;
  status attach(int rank, const region_key& key, region_id& id) override;
  [[nodiscard]] std::byte* map(region_id) noexcept override { return nullptr; }

  status post(int rank, std::span<const op> ops) noexcept override;
  status post_unordered(int rank, std::span<const op> ops) noexcept override;
  status flush(int rank) noexcept override;
  status put_notify(int rank, const op& put, std::uint64_t data) noexcept override;
  status poll_notice(notice& got) noexcept override;
  void progress() noexcept override;

 private:
  // A transfer that stops in the middle: its words in the order start, start + stride, ... modulo their number.
  struct cursor {
    std::uint64_t words = 0;  // 0: not begun
    std::uint64_t done = 0;
    std::uint64_t at = 0;
    std::uint64_t stride = 1;
  };
  struct chain {
    std::uint32_t count = 0;
    std::uint32_t next = 0;       // operation to execute
    std::uint64_t due = 0;        // step from which it may go on
    std::uint64_t polled_at = 0;  // what the target's `polled` was when this was posted
    cursor moving;
    bool notifies = false;
    std::uint64_t data = 0;
    op ops[chain_limit];
    std::byte* remote[chain_limit];
    std::byte inlined[chain_limit][inline_limit];
  };
  using chain_pointer = std::unique_ptr<chain>;
  struct link {  // to one peer
    nic_page* nic = nullptr;
    int process = -1;  // pidfd, or -1
    bool lost = false;
    std::uint64_t clogged_until = 0;
    std::uint64_t looked_at = 0;  // the step at which the process was last seen alive
    std::uint32_t refused = 0;    // attempts in a row that found the NIC's lock taken
    std::uint32_t waited = 0;     // flushes in a row that had to return again
    std::vector<chain_pointer> queue;
  };

  status meet(int rank, const region_key& key);
  // datapath.cc
  void reorder_gets(chain& c) noexcept;
  void shuffle(chain& c) noexcept;
  enum class kind : std::uint8_t { ordered, unordered, notifying };
  status enqueue(int rank, std::span<const op> ops, kind of, std::uint64_t data) noexcept;
  void poll() noexcept;
  void step() noexcept;
  void run(link& l, chain& c) noexcept;
  [[nodiscard]] bool alive(link& l) noexcept;
  [[nodiscard]] std::uint64_t delay() noexcept;
  // nic.cc: each returns whether the operation is done
  bool execute(link& l, chain& c) noexcept;
  bool transfer(cursor& moving, const op& o, std::byte* remote) noexcept;
  bool change(link& l, const op& o, std::byte* remote, bool& stops) noexcept;
  bool give_notice(link& l, std::uint64_t data) noexcept;
  bool take_lock(link& l) noexcept;
  void dawdle() noexcept;

  link& to(int rank) noexcept { return links_[rank]; }

  int rank_;
  int size_;
  modes modes_;
  capabilities caps_;
  base::rng rng_;
  std::string replay_;  // the settings that make the same decisions
  peer_memory memory_;
  std::string why_not_met_;
  int nic_fd_ = -1;
  nic_page* nic_ = nullptr;
  base::per_rank<link> links_;
  std::vector<int> busy_;             // ranks with something queued
  std::vector<chain_pointer> spare_;  // chains to be used again
  std::uint64_t now_ = 0;             // steps so far
};

}  // namespace tobi::transports::sim
