// SPDX-License-Identifier: Apache-2.0
#include "libcore/deque/arrivals.hpp"

#include <atomic>

namespace tobi::deque {

void arrivals::start(net::fabric& net, arrival_area& own) noexcept {
  net_ = &net;
  own_ = &own;
  sent_ = 0;
}

// Senders begin at different words, so that two of them seldom meet.
bool arrivals::send(int rank, std::uint64_t image) {
  const std::uint64_t area = net_->here(own_).offset();
  for (std::size_t i = 0; i < arrival_words; ++i) {
    const std::size_t index = (static_cast<std::size_t>(net_->rank()) + i) % arrival_words;
    const net::location word{rank, area + offsetof(arrival_area, word) + index * sizeof(std::uint64_t)};
    if (net_->compare_swap(word, 0, image) == 0) {
      ++sent_;
      return true;
    }
  }
  return false;
}

// Relaxed: only the value counts, what lies behind it is read after a compare-and-swap.
std::uint64_t arrivals::load(std::size_t index) const noexcept {
  return std::atomic_ref(own_->word[index]).load(std::memory_order_relaxed);
}

std::uint64_t arrivals::take(bool with_tied) noexcept {
  for (std::size_t i = 0; i < arrival_words; ++i) {
    const std::uint64_t image = load(i);
    if (image == 0 || ((image & for_owner_alone) != 0 && !with_tied)) continue;
    if (net_->compare_swap(net_->here(&own_->word[i]), image, 0) == image) return image;
  }
  return 0;
}

bool arrivals::any(bool with_tied) const noexcept {
  for (std::size_t i = 0; i < arrival_words; ++i) {
    const std::uint64_t image = load(i);
    if (image != 0 && (with_tied || (image & for_owner_alone) == 0)) return true;
  }
  return false;
}

}  // namespace tobi::deque
