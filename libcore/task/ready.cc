#include "libcore/task/ready.hpp"

#include <atomic>

#include "libcore/task/incoming_image.hpp"

namespace tobi::tasks {

using transports::op;
using transports::op_kind;

void ready_contexts::start(fabric& net, std::uint64_t& shown, bool thieves) noexcept {
  net_ = &net;
  word_ = &shown;
  word_here_ = net.here(&shown);
  thieves_ = thieves;
  lists_.clear();
  claimed_ = 0;
  shown_ = false;
}

std::uint64_t ready_contexts::load() const noexcept {
  // Relaxed: only the value counts here, what lies behind it is read after a compare-and-swap.
  return std::atomic_ref(*word_).load(std::memory_order_relaxed);
}

void ready_contexts::show_oldest() noexcept {
  if (shown_) {
    if (load() != 0) return;
    shown_ = false;
    ++claimed_;
  }
  // Only this worker fills the word, so this cannot fail. Its release hands on what the images' writers released to us.
  net_->compare_swap(word_here_, 0, lists_.front());
  lists_.pop_front();
  shown_ = true;
}

std::uint64_t ready_contexts::take() noexcept {
  if (!lists_.empty()) {
    const std::uint64_t newest = lists_.back();
    lists_.pop_back();
    return newest;
  }
  if (!shown_) return 0;
  shown_ = false;
  const std::uint64_t seen = load();
  if (seen != 0 && net_->compare_swap(word_here_, seen, 0) == seen) return seen;
  ++claimed_;
  return 0;
}

bool claim_list(fabric& net, location word, std::uint64_t list, stolen& got) {
  const int victim = word.rank();
  const location first{list & ~location_tags};
  std::uint64_t found = 0;
  const op take{op_kind::compare_swap, true, net.heap(victim), word.offset(), &found, 8, 0, list};
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

}  // namespace tobi::tasks
