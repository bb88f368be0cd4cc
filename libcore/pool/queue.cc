// SPDX-License-Identifier: Apache-2.0
#include "libcore/pool/queue.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "libcore/base/invariants.hpp"

namespace tobi::pool {

queue::queue(net::fabric& net, collection_words& words, std::size_t task_bytes, std::uint64_t capacity,
             thieves there_are)
    : net_(net),
      words_(words),
      ring_(reinterpret_cast<std::byte*>(&words) + ring_offset),
      task_bytes_(task_bytes),
      capacity_(capacity),
      thieves_(there_are) {}

// Acquire: what a thief has copied, it has copied before it said so; see has_room().
shared_part queue::part() const noexcept {
  return shared_part::unpack(std::atomic_ref(words_.shared).load(std::memory_order_acquire));
}

bool queue::is_valid() const noexcept {
  // As in has_room(): what is copied first. Thieves only claim and copy meanwhile.
  const std::uint64_t copied = std::atomic_ref(words_.copied).load(std::memory_order_acquire);
  const shared_part now = part();
  return base::holds("Q1: the shared word ends at the split",
                     now.count == split_ - base_ && (now.count == 0 || now.first == base_ % capacity_)) &&
         base::holds("the tail is not beyond the split, nor that beyond the head",
                     base_ + now.claimed() <= split_ && split_ <= head_) &&
         base::holds("Q2: no more is copied than was claimed", copied <= base_ + now.claimed()) &&
         base::holds("Q2: what is used again was copied, and all that is here has a place",
                     reused_ <= copied && head_ - reused_ <= capacity_);
}

bool queue::has_room(std::uint64_t count) noexcept {
  if (head_ + count - reused_ <= capacity_) return true;
  // Q2. What is copied is read first, and what is claimed behind it: both only grow, and no more is copied than was
  // claimed. So where they are equal all of it was copied at the first look, and nothing was claimed until the second.
  // In the other order copies of later claims could stand in for those of an earlier one. Acquire: the copies lie
  // before our writes into the same places, and the second look behind the first.
  const std::uint64_t copied = std::atomic_ref(words_.copied).load(std::memory_order_acquire);
  if (copied == tail_now()) reused_ = copied;
  return head_ + count - reused_ <= capacity_;
}

std::uint64_t queue::may_keep() const noexcept {
  if (thieves_ == thieves::none) return capacity_;
  if (mean_ns_ == 0) return 0;
  return std::min(private_ns * weight / mean_ns_, capacity_ / 2);
}

// Q1. Returns the tail of that moment; where that is beyond TO, everything up to there has been claimed and is left so.
std::uint64_t queue::move_split(std::uint64_t to) {
  for (;;) {
    const std::uint64_t seen = std::atomic_ref(words_.shared).load(std::memory_order_acquire);
    const std::uint64_t tail = base_ + shared_part::unpack(seen).claimed();
    const std::uint64_t split = std::max(tail, to);
    const std::uint64_t wanted = shared_part{0, split - tail, tail % capacity_}.pack();
    if (seen != wanted) {
      // What was written into the ring is there before a thief finds it offered, and what a thief claims before we
      // take it back it has: compare_swap releases and acquires.
      if (thieves_ == thieves::asking) {
        std::atomic_ref(words_.shared)
            .store(wanted, std::memory_order_relaxed);  // others only look whether there are any
      } else if (net_.compare_swap(net_.here(&words_.shared), seen, wanted) != seen)
        continue;
    }
    base_ = tail;
    split_ = split;
    return tail;
  }
}

void queue::tell() noexcept {
  const bool keeps = head_ != split_;
  if (keeps == told_ || thieves_ == thieves::none) return;
  told_ = keeps;
  keeps ? words_.window.bells.ring(deque::bell::publish) : words_.window.bells.lower(deque::bell::publish);
}

void queue::share() {
  if (head_ == split_ || thieves_ == thieves::none) return;
  move_split(head_);
  tell();
  base::expect_valid(*this);
}

void queue::add(const void* task) {
  if (!overflow_.empty() || !has_room(1)) {
    const auto* bytes = static_cast<const std::byte*>(task);
    overflow_.insert(overflow_.end(), bytes, bytes + task_bytes_);
    return;
  }
  std::memcpy(place(head_), task, task_bytes_);
  ++head_;
  offer(may_keep());
}

void queue::added(std::uint64_t count) {
  head_ += count;
  offer(std::max<std::uint64_t>(may_keep(), 1));
}

// Shares all but KEPT where thieves find nothing.
void queue::offer(std::uint64_t kept) {
  if (thieves_ != thieves::none && head_ - split_ > kept && part().left() == 0) move_split(head_ - kept);
  tell();
  base::expect_valid(*this);
}

// The newest first: the rest stays in order.
void queue::refill() {
  while (!overflow_.empty() && has_room(1) && head_ - split_ < std::max<std::uint64_t>(capacity_ / 2, 1)) {
    std::memcpy(place(head_), overflow_.data() + overflow_.size() - task_bytes_, task_bytes_);
    overflow_.resize(overflow_.size() - task_bytes_);
    ++head_;
  }
}

// Half of what is shared at most, so that thieves find the other half.
bool queue::take_back() {
  const std::uint64_t left = part().left();
  if (left == 0) return false;
  const std::uint64_t count = std::min(std::max<std::uint64_t>(may_keep(), 1), (left + 1) / 2);
  const std::uint64_t tail = move_split(split_ - count);
  base::expect_valid(*this);
  return head_ != split_ && head_ > tail;
}

bool queue::take(void* task) {
  while (head_ == split_) {
    if (take_back()) break;
    if (part().left() != 0) continue;  // thieves were faster, and have left some
    refill();
    if (head_ == split_) {
      tell();
      return false;
    }
  }
  --head_;
  std::memcpy(task, place(head_), task_bytes_);
  offer(may_keep());  // the rest is for thieves where they have taken everything
  return true;
}

void queue::took(std::uint64_t ns) noexcept {
  mean_ns_ = mean_ns_ == 0 ? std::max<std::uint64_t>(ns, 1) * weight
                           : std::max<std::uint64_t>(mean_ns_ - mean_ns_ / weight + ns, weight);
}

queue::portion queue::give(std::uint64_t most) {
  const shared_part now = part();
  const std::uint64_t count = std::min((now.count + 1) / 2, most);
  if (count == 0) return {0, 0};
  base_ += count;
  std::atomic_ref(words_.shared)
      .store(shared_part{0, now.count - count, (now.first + count) % capacity_}.pack(), std::memory_order_relaxed);
  base::expect_valid(*this);
  return {now.first, count};
}

bool queue::gives_away() {
  refill();
  share();
  return empty();
}

void queue::drop() {
  head_ = move_split(0);
  overflow_.clear();
  tell();
  base::expect_valid(*this);
}

}  // namespace tobi::pool
