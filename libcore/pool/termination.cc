// SPDX-License-Identifier: Apache-2.0
#include "libcore/pool/termination.hpp"

#include <atomic>
#include <cstddef>

#include "libcore/base/invariants.hpp"

namespace tobi::pool {

using transports::op;

namespace {

// A token, and what comes down, is a wave's number with one bit. Up: the token is void. Down: all is over, and the
// number is that of the next process()'s first wave.
constexpr std::uint64_t token(std::uint64_t wave, bool said) noexcept { return wave << 1 | (said ? 1 : 0); }
constexpr std::uint64_t wave_of(std::uint64_t word) noexcept { return word >> 1; }
constexpr bool said(std::uint64_t word) noexcept { return (word & 1) != 0; }

// Acquire: a rank that reads a wave's number also sees what its sender did before.
std::uint64_t load(std::uint64_t& word) noexcept { return std::atomic_ref(word).load(std::memory_order_acquire); }

}  // namespace

termination::termination(net::fabric& net, peers& others, collection_words& own)
    : net_(net), peers_(others), own_(own) {
  constexpr auto fan_out = static_cast<int>(tree_children);
  const int self = net.rank();
  if (self != 0) {
    parent_ = (self - 1) / fan_out;
    seat_ = static_cast<std::size_t>((self - 1) % fan_out);
  }
  for (int c = self * fan_out + 1; c <= self * fan_out + fan_out && c < net.size(); ++c) children_.push_back(c);
}

void termination::tell(int rank, std::uint64_t offset, std::uint64_t word) {
  const net::location words = peers_.words_of(rank);
  // Short puts release their source at once.
  const op put = op::put(net_.heap(rank), words.offset() + offset, &word, sizeof word);
  net_.post(rank, {&put, 1});
}

void termination::tell_children(std::uint64_t word) {
  for (const int child : children_) tell(child, offsetof(collection_words, down), word);
}

void termination::begin(std::uint64_t claimed) noexcept {
  counted_ = claimed;
  waves_ = 0;
  passed_on_ = false;
  ++processed_;
}

// A child sends its token of a wave when the wave has begun, and the root begins the next when it has all tokens. So a
// child is in this rank's wave, or has not sent anything in it; a parent may have gone on by one.
bool termination::is_valid() const noexcept {
  for (std::size_t c = 0; c < children_.size(); ++c) {
    const std::uint64_t theirs = wave_of(load(own_.up[c]));
    if (!base::holds("a child's token is of this wave at most", theirs <= wave_)) return false;
  }
  return base::holds("a parent is ahead by one wave at most", wave_of(load(own_.down)) <= wave_ + 1);
}

bool termination::passive(std::uint64_t claimed) {
  if (!sent_) {
    bool is_void = claimed != counted_;
    for (std::size_t c = 0; c < children_.size(); ++c) {
      const std::uint64_t theirs = load(own_.up[c]);
      if (wave_of(theirs) != wave_) return false;
      is_void = is_void || said(theirs);
    }
    counted_ = claimed;
    ++waves_;
    if (parent_ < 0) {
      ++wave_;
      tell_children(token(wave_, !is_void));
      return !is_void;
    }
    sent_ = true;
    tell(parent_, offsetof(collection_words, up) + seat_ * sizeof(std::uint64_t), token(wave_, is_void));
    base::expect_valid(*this);
    return false;
  }
  const std::uint64_t from_above = load(own_.down);
  if (wave_of(from_above) <= wave_) return false;
  ++wave_;
  sent_ = false;
  tell_children(from_above);
  return said(from_above);
}

void termination::abandon() {
  std::atomic_ref(own_.abandoned).store(processed_, std::memory_order_relaxed);
  (void)abandoned();
}

bool termination::abandoned() {
  if (std::atomic_ref(own_.abandoned).load(std::memory_order_relaxed) < processed_) [[likely]] {
    return false;
  }
  if (passed_on_) return true;
  passed_on_ = true;
  if (parent_ >= 0) tell(parent_, offsetof(collection_words, abandoned), processed_);
  for (const int child : children_) tell(child, offsetof(collection_words, abandoned), processed_);
  return true;
}

}  // namespace tobi::pool
