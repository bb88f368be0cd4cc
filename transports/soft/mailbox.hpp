// SPDX-License-Identifier: Apache-2.0
// Messages of a fixed small size between all ranks, over puts alone: what put_notify is where the fabric has none, and
// what active messages travel in.
//
// Each receiver has a ring of cells for each sender. The sender counts what it has sent, the receiver puts back, every
// half ring, how much it has read; the sender never goes further ahead than a ring. Nobody waits: send() returns
// `again` when the ring is full. Which rank has written is announced (board.hpp), or looked for.
//
// Puts may overtake each other. A cell cannot be hurt: it is written again only after it was read. The count can, since
// an old one may land last, and a sender that believes it would wait for ever for a receiver that waits for messages.
// So a receiver that finds nothing, and has put the count twice or more, puts it once more when those have landed.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "transports/by_rank.hpp"
#include "transports/soft/board.hpp"
#include "transports/soft/cell.hpp"

namespace tobi::transports::soft {

template <class Message>
class mailbox {
 public:
  static constexpr std::uint64_t slots = 16;

  /// Its part of a board, which begins at AT. SIZE: ranks that send and receive.
  mailbox(board& on, std::size_t at, int rank, int size)
      : board_(on), at_(at), rank_(rank), size_(size), links_(static_cast<std::size_t>(size)) {}
  [[nodiscard]] static constexpr std::size_t bytes(int size) noexcept {
    return static_cast<std::size_t>(size) * per_sender;
  }

  /// ok: on its way; it shows at the peer in the order of the calls. again: the peer has not read enough yet.
  status send(int rank, const Message& m) noexcept {
    link& l = links_.of(rank);
    // Acquire: the receiver has read the cells that it gives back, before a put of ours writes them again.
    const std::uint64_t read =
        std::atomic_ref(*reinterpret_cast<std::uint64_t*>(board_.at(credit_of(rank)))).load(std::memory_order_acquire);
    if (l.sent - read >= slots) return status::again;
    const auto packed = cell<Message>::pack(m, turn_of(l.sent, slots));
    const status s = board_.write(rank, cell_of(rank_, l.sent), &packed, sizeof packed, announced::message);
    if (s == status::ok) ++l.sent;
    return s;
  }

  /// RANK was announced.
  void look(int rank) noexcept {
    const link* known = links_.find(rank);
    if (known != nullptr && known->listed) return;
    Message ignored;
    if (!arrived(rank, known == nullptr ? 0 : known->read, ignored)) return;
    links_.of(rank).listed = true;
    there_.push_back(rank);
  }

  /// Whether receive() would find something.
  [[nodiscard]] bool has_come() noexcept {
    if (!board_.announces()) look_around();
    return !there_.empty();
  }
  /// ok and the next message of some rank, or again.
  status receive(int& from, Message& m) noexcept {
    // Now and then although there is something: others may have written since.
    if (!board_.announces() && (there_.empty() || ++since_look_ == 8)) look_around();
    settle_credits();
    if (there_.empty()) return status::again;
    // One of each rank that has sent, in turn: one that floods us keeps none away.
    from = there_.front();
    there_.pop_front();
    link& l = links_.of(from);
    (void)arrived(from, l.read, m);
    ++l.read;
    Message ignored;
    l.listed = arrived(from, l.read, ignored);
    if (l.listed) there_.push_back(from);
    return_credit(from, l);
    return status::ok;
  }

 private:
  struct link {
    std::uint64_t sent = 0;
    std::uint64_t read = 0;
    std::uint64_t told = 0;  // how much of `read` the sender knows
    int credits = 0;         // puts of it that may still overtake each other
    bool listed = false;     // its next message has come
    bool owing = false;      // its credit is not settled
  };
  static constexpr std::size_t ring_bytes = slots * sizeof(cell<Message>);
  static constexpr std::size_t per_sender = ring_bytes + sizeof(std::uint64_t);  // and the credit word
  static_assert(sizeof(cell<Message>) <= 64, "a message is copied by the put that sends it");

  [[nodiscard]] std::size_t part_of(int sender) const noexcept {
    return at_ + static_cast<std::size_t>(sender) * per_sender;
  }
  [[nodiscard]] std::size_t cell_of(int sender, std::uint64_t index) const noexcept {
    return part_of(sender) + index % slots * sizeof(cell<Message>);
  }
  /// Next to the ring of a peer is the word in which that peer says how much of our messages it has read.
  [[nodiscard]] std::size_t credit_of(int peer) const noexcept { return part_of(peer) + ring_bytes; }
  [[nodiscard]] bool arrived(int sender, std::uint64_t index, Message& m) noexcept {
    return reinterpret_cast<cell<Message>*>(board_.at(cell_of(sender, index)))->unpack(turn_of(index, slots), m);
  }

  void look_around() noexcept {
    since_look_ = 0;
    for (int looks = std::min(size_, looks_per_poll); looks > 0; --looks) {
      look(next_);
      next_ = next_ + 1 < size_ ? next_ + 1 : 0;
    }
  }

  void return_credit(int rank, link& l) noexcept {
    if (l.read - l.told < slots / 2) return;
    if (put_credit(rank, l)) ++l.credits;
    // What could not be put is put later, and what may have been overtaken once more.
    if ((l.read == l.told && l.credits < 2) || l.owing) return;
    l.owing = true;
    owing_.push_back(rank);
  }
  // Each whose credit could not be put, or may have been overtaken by an older one.
  void settle_credits() noexcept {
    if (owing_.empty()) return;
    std::erase_if(owing_, [this](int rank) {
      link& l = links_.of(rank);
      if (l.read - l.told >= slots / 2 && put_credit(rank, l)) ++l.credits;
      if (!l.listed && l.credits >= 2 && board_.over().flush(rank) == status::ok && put_credit(rank, l)) l.credits = 1;
      l.owing = l.credits >= 2 || l.read - l.told >= slots / 2;
      return !l.owing;
    });
  }
  bool put_credit(int rank, link& l) noexcept {
    if (board_.write(rank, credit_of(rank_), &l.read, sizeof l.read, announced::quiet) != status::ok) return false;
    l.told = l.read;
    return true;
  }

  board& board_;
  std::size_t at_;
  int rank_;
  int size_;
  by_rank<link> links_;
  std::deque<int> there_;   // senders whose next message has come
  std::vector<int> owing_;  // senders whose credit is not settled
  int next_ = 0;            // to look at, where nobody announces
  int since_look_ = 0;      // messages received
};

}  // namespace tobi::transports::soft
