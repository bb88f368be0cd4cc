// Messages of a fixed small size between all ranks, over puts alone: what put_notify is where the fabric has none, and
// what active messages travel in.
//
// Each receiver has a ring of cells for each sender. The sender counts what it has sent, the receiver puts back, every
// half ring, how much it has read; the sender never goes further ahead than a ring. Nobody waits: send() answers
// `again` when the ring is full. Reading costs a look at one cell a sender.
//
// Puts may overtake each other. A cell cannot be hurt: it is written again only after it was read. The count can, since
// an old one may land last, and a sender that believes it would wait for ever for a receiver that waits for messages.
// So a receiver that finds nothing, and has put the count twice or more, puts it once more when those have landed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "transports/soft/board.hpp"
#include "transports/soft/cell.hpp"

namespace tobi::transports::soft {

template <class Message>
class mailbox {
 public:
  static constexpr std::uint64_t slots = 16;

  mailbox(transport& over, int rank, int size)
      : over_(over),
        rank_(rank),
        links_(static_cast<std::size_t>(size)),
        board_(over, static_cast<std::size_t>(size) * per_sender) {}

  /// What the peers need, to be given to their connect().
  [[nodiscard]] const region_key& key() const noexcept { return board_.key(); }
  status connect(int rank, const region_key& key) { return over_.attach(rank, key, link_of(rank).region); }

  /// ok: on its way; it shows at the peer in the order of the calls. again: the peer has not read enough yet.
  status send(int rank, const Message& m) noexcept {
    link& l = link_of(rank);
    std::uint64_t read = 0;
    std::memcpy(&read, board_.at(offset_of(rank) + ring_bytes), sizeof read);
    std::atomic_signal_fence(std::memory_order_acquire);
    if (l.sent - read >= slots) return status::again;
    const auto packed = cell<Message>::pack(m, turn_of(l.sent, slots));
    const std::uint64_t to = offset_of(rank_) + l.sent % slots * sizeof packed;
    const status s = over_.put(rank, l.region, to, &packed, sizeof packed);
    if (s == status::ok) ++l.sent;
    return s;
  }

  /// ok and the next message of some rank, or again.
  status receive(int& from, Message& m) noexcept {
    const std::size_t n = links_.size();
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t r = (next_ + i) % n;
      link& l = links_[r];
      return_credit(static_cast<int>(r), l);
      auto* c = reinterpret_cast<cell<Message>*>(board_.at(r * per_sender + l.read % slots * sizeof(cell<Message>)));
      if (!c->unpack(turn_of(l.read, slots), m)) {
        settle_credit(static_cast<int>(r), l);
        continue;
      }
      ++l.read;
      return_credit(static_cast<int>(r), l);
      from = static_cast<int>(r);
      next_ = (r + 1) % n;
      return status::ok;
    }
    return status::again;
  }

 private:
  struct link {
    region_id region = 0;
    std::uint64_t sent = 0;
    std::uint64_t read = 0;
    std::uint64_t told = 0;  // how much of `read` the sender knows
    int credits = 0;         // puts of it that may still overtake each other
  };
  static constexpr std::size_t ring_bytes = slots * sizeof(cell<Message>);
  static constexpr std::size_t per_sender = ring_bytes + sizeof(std::uint64_t);  // and the credit word
  static_assert(sizeof(cell<Message>) <= 64, "a message is copied by the put that sends it");

  [[nodiscard]] static std::size_t offset_of(int rank) noexcept { return static_cast<std::size_t>(rank) * per_sender; }
  [[nodiscard]] link& link_of(int rank) noexcept { return links_[static_cast<std::size_t>(rank)]; }

  // The peer keeps, beside my ring of its board, the word in which I say how much of its messages I have read.
  void return_credit(int rank, link& l) noexcept {
    if (l.read - l.told < slots / 2) return;
    if (put_credit(rank, l)) ++l.credits;
  }
  void settle_credit(int rank, link& l) noexcept {
    if (l.credits < 2 || over_.flush(rank) != status::ok) return;
    if (put_credit(rank, l)) l.credits = 1;
  }
  bool put_credit(int rank, link& l) noexcept {
    if (over_.put(rank, l.region, offset_of(rank_) + ring_bytes, &l.read, sizeof l.read) != status::ok) return false;
    l.told = l.read;
    return true;
  }

  transport& over_;
  int rank_;
  std::vector<link> links_;
  board board_;
  std::size_t next_ = 0;
};

}  // namespace tobi::transports::soft
