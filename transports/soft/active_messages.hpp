// SPDX-License-Identifier: Apache-2.0
// Active messages: a small message names a handler, which runs at the target when the target polls. Over puts alone, so
// every transport has them.
//
// A handler runs to its end where it was called. It never waits and never sends: it may return one message, the reply,
// which is sent when there is room. Requests and replies travel apart, and the handler of a reply has no reply. So
// replies are always read, their places come free, and two workers that flood each other cannot lock each other up; a
// worker whose own replies are stuck reads no further requests, and its peers are told `again`.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "libcore/base/log.hpp"
#include "transports/soft/mailbox.hpp"

namespace tobi::transports::soft {

class active_messages {
 public:
  static constexpr std::size_t payload_max = 48;
  static constexpr std::size_t handlers_max = 32;
  static constexpr std::size_t replies_max = 64;  // of this worker, that wait for room

  struct message {
    std::uint8_t handler = 0;
    std::uint8_t bytes = 0;
    std::byte data[payload_max] = {};

    message() = default;
    message(std::uint8_t to, std::span<const std::byte> payload) : handler(to) {
      TOBI_ASSERT(payload.size() <= payload_max, "an active message carries up to 48 bytes");
      bytes = static_cast<std::uint8_t>(payload.size());
      if (!payload.empty()) std::memcpy(data, payload.data(), payload.size());
    }
    [[nodiscard]] std::span<const std::byte> payload() const noexcept { return {data, bytes}; }
  };
  /// The payload lasts as long as the call.
  using handler = std::function<std::optional<message>(int from, std::span<const std::byte> payload)>;
  active_messages(transport& over, int rank, int size)
      : over_(over),
        keys_(static_cast<std::size_t>(size)),
        board_(over, 2 * mailbox<message>::bytes(size), keys_, static_cast<std::size_t>(size)),
        requests_(board_, 0, rank, size),
        replies_(board_, mailbox<message>::bytes(size), rank, size) {}

  /// What the peers need, for their connect().
  [[nodiscard]] const region_key& key() const noexcept { return board_.key(); }
  void connect(int rank, const region_key& theirs) { keys_.set(static_cast<std::size_t>(rank), theirs); }
  /// Before anybody may send: all workers give a number the same meaning.
  void on(std::uint8_t number, handler does) {
    TOBI_ASSERT(number < handlers_max, "handlers have the numbers 0 to 31");
    handlers_[number] = std::move(does);
  }

  /// ok: on its way, in the order of the calls; again: the peer has not read enough yet, poll() and try again.
  status send(int rank, std::uint8_t number, std::span<const std::byte> payload) noexcept {
    refuse_inside("send");
    return requests_.send(rank, {number, payload});
  }
  /// Runs the handlers of what has come; Returns how many.
  std::size_t poll() noexcept {
    refuse_inside("poll");
    progress();
    std::size_t ran = 0;
    int from = -1;
    message m;
    // No more than one ring: a worker that is flooded must come back to its own work.
    while (ran < most_per_poll && replies_.receive(from, m) == status::ok) ran += run(from, m, true);
    while (ran < most_per_poll && waiting_.size() < replies_max && requests_.receive(from, m) == status::ok) {
      ran += run(from, m, false);
    }
    send_replies();
    return ran;
  }
  /// Moves the transport and the replies that wait, and runs nothing.
  void progress() noexcept {
    refuse_inside("progress");
    over_.progress();
    send_replies();
  }

 private:
  static constexpr std::size_t most_per_poll = mailbox<message>::slots;
  struct reply {
    int rank;
    message what;
  };

  void refuse_inside(const char* call) const noexcept {
    if (!running_) [[likely]] {
      return;
    }
    base::fatal(std::string("a handler of active messages called ") + call +
                "(), which may wait for this very handler; it may return one message as its reply instead.");
  }

  std::size_t run(int from, const message& m, bool is_reply) noexcept {
    if (m.handler >= handlers_max || m.bytes > payload_max || !handlers_[m.handler]) {
      base::fatal("an active message of rank " + std::to_string(from) + " names the handler " +
                  std::to_string(m.handler) + ", which this worker has not registered.");
    }
    running_ = true;
    const std::optional<message> answer = handlers_[m.handler](from, m.payload());
    running_ = false;
    if (!answer) return 1;
    if (is_reply) base::fatal("the handler of a reply returned a message; only requests are replied to.");
    waiting_.push_back({from, *answer});
    return 1;
  }

  // One peer that has no room holds up its own replies alone; each peer's keep their order.
  void send_replies() noexcept {
    std::size_t full = 0;
    for (std::size_t i = waiting_.size(); i > 0; --i) {
      const reply r = waiting_.front();
      waiting_.pop_front();
      bool held = false;
      for (std::size_t k = waiting_.size() - full; !held && full > 0 && k < waiting_.size(); ++k) {
        held = waiting_[k].rank == r.rank;
      }
      // A peer that is lost gets none; the transport has said so to its user.
      if (!held && replies_.send(r.rank, r.what) != status::again) continue;
      waiting_.push_back(r);
      ++full;
    }
  }

  transport& over_;
  key_list keys_;
  board board_;  // not announced: the transport's notices are its user's
  mailbox<message> requests_;
  mailbox<message> replies_;
  std::array<handler, handlers_max> handlers_{};
  std::deque<reply> waiting_;
  bool running_ = false;
};

}  // namespace tobi::transports::soft
