// SPDX-License-Identifier: Apache-2.0
#include "libcore/pgas/letters.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <new>
#include <utility>

#include "libcore/pgas/updates.hpp"

namespace tobi::pgas {

using transports::op;

namespace {

constexpr int offset_bits = net::location::offset_bits;
constexpr std::uint64_t offset_mask = (std::uint64_t{1} << offset_bits) - 1;

constexpr std::size_t words_for(std::size_t count, number_kind kind) noexcept {
  return (count * bytes_of(kind) + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t);
}

}  // namespace

// --- the owner ------------------------------------------------------------------------------------------

void letter_reader::serve() noexcept {
  const std::atomic_ref bell(*parts_.bell);
  bell.store(0, std::memory_order_relaxed);
  // The other side of L3: the bell is lowered before `drawn` is read.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  letter_box& box = *parts_.box;
  while (has_come()) {
    const letter& one = box.letters[executed_ % letter_box::places];
    if (!execute(one)) {
      bell.store(rung, std::memory_order_relaxed);
      return;
    }
    at_ = 0;
    const net::location receipt(one.receipt);
    ++executed_;
    // Release: the letter was read, and the numbers are as it says, before anybody knows.
    std::atomic_ref(box.executed).store(executed_, std::memory_order_release);
    if (!receipt) continue;
    std::atomic_thread_fence(std::memory_order_seq_cst);
    const op tell =
        op::put(parts_.net->heap(receipt.rank()), receipt.offset(), &executed_, sizeof executed_);  // in inline_max
    parts_.net->post(receipt.rank(), {&tell, 1});
  }
  if (std::atomic_ref(box.drawn).load(std::memory_order_relaxed) != executed_) {
    bell.store(rung, std::memory_order_relaxed);
  }
}

// The next one. Acquire: it was complete before.
bool letter_reader::has_come() const noexcept {
  return std::atomic_ref(parts_.box->came[executed_ % letter_box::places]).load(std::memory_order_acquire) ==
         executed_ + 1;
}

bool letter_reader::hold_lock(std::uint64_t home) noexcept {
  auto* const wanted =
      reinterpret_cast<std::uint64_t*>(reinterpret_cast<std::byte*>(parts_.locks) + update_locks::offset_of(home));
  if (wanted == lock_) return true;
  give_up_lock();
  std::uint64_t free = 0;
  // Acquire: the numbers as the last one has left them.
  if (!std::atomic_ref(*wanted).compare_exchange_strong(free, 1, std::memory_order_acquire,
                                                        std::memory_order_relaxed)) {
    return false;
  }
  lock_ = wanted;
  return true;
}

void letter_reader::give_up_lock() noexcept {
  if (lock_ == nullptr) return;
  std::atomic_ref(*std::exchange(lock_, nullptr)).fetch_sub(1, std::memory_order_release);
}

// False: it goes on at at_ the next time.
bool letter_reader::execute(const letter& one) noexcept {
  const auto kind = static_cast<number_kind>(one.kind);
  const update what{update_kind::add, kind};
  while (at_ < one.words) {
    const std::uint64_t run = one.text[at_];
    const std::uint64_t home = run & offset_mask;
    const std::size_t count = run >> offset_bits;
    const std::uint64_t* const values = &one.text[at_ + 1];
    std::byte* const to = parts_.own_region + home;
    if (is_word(kind)) {
      for (std::size_t i = 0; i < count; ++i) {
        // Relaxed, as every update of a word is.
        std::atomic_ref(reinterpret_cast<std::uint64_t*>(to)[i]).fetch_add(values[i], std::memory_order_relaxed);
      }
    } else if (is_stored(kind) || hold_lock(home)) {
      what.apply(to, reinterpret_cast<const std::byte*>(values), count * bytes_of(kind));
    } else {
      return false;
    }
    at_ += static_cast<std::uint32_t>(1 + words_for(count, kind));
  }
  give_up_lock();
  return true;
}

// --- the sender -----------------------------------------------------------------------------------------

// Registered memory of this worker. What is of a post is at the index of its first letter.
struct letter_writer::staging {
  letter letters[at_once];
  std::uint64_t tickets[at_once];
  std::uint64_t executed[at_once];  // as the boxes said last
  std::uint64_t came[at_once];      // of each letter
  std::uint64_t receipts[at_once];
};

letter_writer::letter_writer(const letter_parts& parts, std::function<std::byte*(std::size_t)> take,
                             std::function<void()> serve)
    : parts_(parts), batch_(*parts.net), take_(std::move(take)), serve_(std::move(serve)) {}

void letter_writer::add(int rank, number_kind kind, std::uint64_t home, const std::byte* values, std::size_t count) {
  const std::size_t each = bytes_of(kind);
  while (count != 0) {
    letter& one = open(rank, kind);
    const std::size_t room = (letter::most_words - one.words - 1) * sizeof(std::uint64_t) / each;
    const std::size_t n = std::min(count, room);
    std::uint64_t* const text = &one.text[one.words];
    const std::size_t words = words_for(n, kind);
    text[0] = static_cast<std::uint64_t>(n) << offset_bits | home;
    text[words] = 0;  // where the last number fills half of a word
    std::memcpy(text + 1, values, n * each);
    one.words += static_cast<std::uint32_t>(1 + words);
    home += n * each;
    values += n * each;
    count -= n;
  }
}

// The letter that is being written, or a fresh one.
letter& letter_writer::open(int rank, number_kind kind) {
  if (staging_ == nullptr) staging_ = new (take_(sizeof(staging))) staging;
  const bool same = !posts_.empty() && posts_.back().rank == rank;
  if (same) {
    letter& last = staging_->letters[written_ - 1];
    if (last.kind == static_cast<std::uint32_t>(kind) && last.words + 2 <= letter::most_words) return last;
  }
  if (written_ == at_once) finish();
  if (posts_.empty() || posts_.back().rank != rank) {
    staging_->receipts[written_] = 0;  // no put of it is on its way: it was waited for
    posts_.push_back({rank, written_, 0, 0});
  }
  post& to = posts_.back();
  ++to.count;
  letter& fresh = staging_->letters[written_++];
  fresh.kind = static_cast<std::uint32_t>(kind);
  fresh.words = 0;
  fresh.receipt = 0;
  return fresh;
}

void letter_writer::finish() {
  if (written_ == 0) return;
  for (const post& p : posts_) {
    staging_->letters[p.first + p.count - 1].receipt = parts_.net->here(&staging_->receipts[p.first]).word;
  }
  draw_tickets();
  for (unsigned spins = 0; !posts_.empty();) {
    const bool moved = deliver();
    serve_();
    if (take_receipts() || moved) {
      spins = 0;
    } else {
      parts_.net->wait(spins);
    }
  }
  batch_.wait();
  written_ = 0;
}

void letter_writer::draw_tickets() {
  const std::uint64_t box = parts_.net->here(parts_.box).offset();
  for (const post& p : posts_) {
    batch_.fetch_add(p.rank, box + offsetof(letter_box, drawn), p.count, &staging_->tickets[p.first]);
    batch_.get(p.rank, box + offsetof(letter_box, executed), &staging_->executed[p.first], sizeof(std::uint64_t));
  }
  batch_.post();
  batch_.wait();
}

// Puts the letters that have a place. Returns whether there was one.
bool letter_writer::deliver() {
  const std::uint64_t box = parts_.net->here(parts_.box).offset();
  const std::uint64_t bell = parts_.net->here(parts_.bell).offset();
  bool waits = false;
  for (const post& p : posts_) {
    if (p.delivered == p.count) continue;
    waits = true;
    const std::uint64_t end = staging_->executed[p.first] + letter_box::places;
    for (std::size_t i = p.delivered; i < p.count && staging_->tickets[p.first] + i < end; ++i) {
      const letter& one = staging_->letters[p.first + i];
      const std::uint64_t place = (staging_->tickets[p.first] + i) % letter_box::places;
      batch_.put(p.rank, box + offsetof(letter_box, letters) + place * sizeof(letter), &one,
                 offsetof(letter, text) + one.words * sizeof(std::uint64_t));
    }
  }
  if (!waits) return false;
  batch_.post();
  batch_.wait();
  bool moved = false;
  for (post& p : posts_) {
    const std::uint64_t end = staging_->executed[p.first] + letter_box::places;
    bool some = false;
    for (; p.delivered < p.count && staging_->tickets[p.first] + p.delivered < end; ++p.delivered, some = true) {
      const std::uint64_t ticket = staging_->tickets[p.first] + p.delivered;
      std::uint64_t& came = staging_->came[p.first + p.delivered];
      came = ticket + 1;
      batch_.put(p.rank, box + offsetof(letter_box, came) + ticket % letter_box::places * sizeof came, &came,
                 sizeof came);
    }
    moved = moved || some;
    if (some) batch_.put(p.rank, bell, &rung, sizeof rung);
    if (p.delivered < p.count) {
      batch_.get(p.rank, box + offsetof(letter_box, executed), &staging_->executed[p.first], sizeof(std::uint64_t));
    }
  }
  batch_.post();
  batch_.wait();
  return moved;
}

// Returns whether there was one.
bool letter_writer::take_receipts() {
  const auto is_executed = [this](const post& p) {
    if (p.delivered != p.count) return false;
    // Acquire: what the letters asked for is done.
    return std::atomic_ref(staging_->receipts[p.first]).load(std::memory_order_acquire) ==
           staging_->tickets[p.first] + p.count;
  };
  return std::erase_if(posts_, is_executed) != 0;
}

}  // namespace tobi::pgas
