// SPDX-License-Identifier: Apache-2.0
#include "libcore/deque/ready.hpp"

#include <atomic>

#include "libcore/deque/incoming_image.hpp"

namespace tobi::deque {

using transports::op;

void ready_contexts::start(net::fabric& net, std::span<std::uint64_t, ready_words> shown, bool thieves) noexcept {
  net_ = &net;
  words_ = shown.data();
  first_here_ = net.here(words_);
  thieves_ = thieves;
  lists_.clear();
  shown_ = 0;
  claimed_ = 0;
  for (bool& f : filled_) f = false;
}

std::uint64_t ready_contexts::load(std::size_t index) const noexcept {
  // Relaxed: only the value counts here, what lies behind it is read after a compare-and-swap.
  return std::atomic_ref(words_[index]).load(std::memory_order_relaxed);
}

void ready_contexts::thief_was_at(std::size_t index) noexcept {
  filled_[index] = false;
  ++claimed_;
  --shown_;
}

void ready_contexts::show_oldest() noexcept {
  for (std::size_t i = 0; i < ready_words && !lists_.empty(); ++i) {
    if (filled_[i]) {
      if (load(i) != 0) continue;
      thief_was_at(i);
    }
    // Only this worker fills the word, so this cannot fail. Its release hands on what the images' writers released to
    // us.
    net_->compare_swap(here(i), 0, lists_.front());
    lists_.pop_front();
    filled_[i] = true;
    ++shown_;
    last_filled_ = i;
  }
}

std::uint64_t ready_contexts::take() noexcept {
  if (!lists_.empty()) {
    const std::uint64_t newest = lists_.back();
    lists_.pop_back();
    return newest;
  }
  for (std::size_t back = 0; shown_ != 0 && back < ready_words; ++back) {
    const std::size_t i = (last_filled_ + ready_words - back) % ready_words;
    if (!filled_[i]) continue;
    const std::uint64_t seen = load(i);
    if (seen != 0 && net_->compare_swap(here(i), seen, 0) == seen) {
      filled_[i] = false;
      --shown_;
      return seen;
    }
    thief_was_at(i);
  }
  return 0;
}

bool claim_list(net::fabric& net, net::location word, std::uint64_t list, trace::stolen& got) {
  const int victim = word.rank();
  const net::location first{list & ~location_tags};
  std::uint64_t found = 0;
  const op take = op::cas(net.heap(victim), word.offset(), list, 0, &found).guarding();
  // The image is read behind the claim, so it is that of the list that was claimed, whatever the word named before.
  const bool with_image =
      got.image != nullptr && first.rank() == victim && net.chains(2) && got.image->is_worth_asking(first);
  if (with_image) {
    const op both[] = {take, got.image->ask(first)};
    net.post(victim, both);
  } else {
    net.post(victim, {&take, 1});
  }
  net.complete(victim);
  if (found != list) return false;
  if (with_image) got.image->came(first);
  got.list = list;
  return true;
}

}  // namespace tobi::deque
