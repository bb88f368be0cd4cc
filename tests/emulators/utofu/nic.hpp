// SPDX-License-Identifier: Apache-2.0
// The device behind a VCQ, played by a thread: it sends what was posted, executes what others ask of this process's
// memory, and takes their responses. The program's threads never do, so a target that computes is served.
//
// A request waits some turns, by the seed, and is executed in pieces of a packet or less, in any order and mixed with
// the pieces of others. One with STRONG_ORDER begins when those before it on the same path have ended (options.hpp).
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "tests/emulators/utofu/lines.hpp"
#include "tests/emulators/utofu/vcq.hpp"

namespace emulated {

class nic {
 public:
  explicit nic(vcq& of);
  ~nic();
  void run(const std::atomic<bool>& stop);

 private:
  struct peer {  // a VCQ that this one sends to
    utofu::vcq_id id;
    vcq_page* page = nullptr;
    link_page* way = nullptr;
    std::deque<std::uint32_t> to_send;  // numbers of requests
    std::size_t under_way = 0;
    bool gone = false;
  };
  struct request {
    vcq::posted posted;
    peer* to;
    std::uint32_t sent = 0;  // bytes of a put
    bool left = false;       // all of it was sent
  };
  struct piece {
    std::uint32_t offset;
    std::uint32_t bytes;
    std::vector<std::byte> data;  // of a put
  };
  struct pending {  // a request that has come
    packet head;    // without its data
    std::uint32_t arrived = 0;
    std::vector<piece> pieces;
    std::uint64_t due_ns = 0;
    std::uint32_t turns = 0;
    bool executed = false;  // and its response waits for room
    int status = code::success;
    std::uint64_t found = 0;
    watched_lines lines;
  };
  struct caller {  // a VCQ that sends to this one
    utofu::vcq_id id;
    vcq_page* page = nullptr;
    link_page* way = nullptr;
    std::deque<std::unique_ptr<pending>> requests;
  };

  // As an initiator. Each returns whether it did anything.
  bool take_posted();
  [[nodiscard]] peer& peer_of(utofu::vcq_id id);
  bool send(peer& to);
  bool send_packet(peer& to, std::uint32_t number, request& r);
  bool receive(peer& from);
  void finish(std::uint32_t number, request& r, int status, std::uint64_t found);
  void look_after(peer& of);
  // As a target.
  bool accept_callers();
  bool accept(caller& from);
  bool execute(caller& from);
  [[nodiscard]] bool may_begin(const caller& from, std::size_t index) const noexcept;
  bool step(caller& from, pending& p);
  bool put_piece(pending& p);
  bool get_piece(caller& from, pending& p);
  void change(pending& p);
  bool respond(caller& to, pending& p);
  void written(const std::byte* at, std::size_t bytes) noexcept;
  [[nodiscard]] std::uint64_t random() noexcept;

  vcq& vcq_;
  std::uint64_t state_;
  std::unordered_map<utofu::vcq_id, std::unique_ptr<peer>> peers_;
  std::unordered_map<std::uint32_t, request> requests_;
  std::uint32_t next_number_ = 1;
  std::vector<std::unique_ptr<caller>> callers_;
  std::size_t seen_callers_ = 0;
  bool blocked_ = false;  // somewhere a ring is full
  std::uint64_t looked_ns_ = 0;
  std::uint64_t next_due_ns_ = 0;
  shared_line_counts counts_;
};

}  // namespace emulated
