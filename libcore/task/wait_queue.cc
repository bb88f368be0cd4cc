// SPDX-License-Identifier: Apache-2.0
#include "libcore/task/wait_queue.hpp"

#include <algorithm>
#include <array>
#include <atomic>

#include "libcore/task/record.hpp"

namespace tobi::tasks {

using transports::op;

namespace {

// Where a record's word can be read by a load, or null.
std::uint64_t* in_reach(net::fabric& net, net::location where) {
  if (net.is_local(where)) return static_cast<std::uint64_t*>(net.local(where));
  std::byte* heap = net.mapped(where.rank());
  return heap == nullptr ? nullptr : reinterpret_cast<std::uint64_t*>(heap + where.offset());
}

}  // namespace

void wait_queue::push(net::fabric& net, const waiting& one) {
  (in_reach(net, net::location{one.record}) != nullptr ? near_ : far_).push_back(one);
}

bool wait_queue::take_done(waiting& found) {
  if (done_.empty()) return false;
  found = done_.front();
  done_.pop_front();
  return true;
}

// The oldest first, which go to the end when they must wait on.
bool wait_queue::take_near(net::fabric& net, std::uint64_t still, waiting& found) {
  if (take_done(found)) return true;
  for (std::size_t left = std::min(near_.size(), loads); left != 0; --left) {
    waiting one = near_.front();
    near_.pop_front();
    // Acquire: what the record says is read behind its word.
    if (is_done(std::atomic_ref(*in_reach(net, net::location{one.record})).load(std::memory_order_acquire))) {
      done_.push_back(one);
      continue;
    }
    if (still != 0) one.since_ns = still;
    near_.push_back(one);
  }
  return take_done(found);
}

bool wait_queue::take_far(net::fabric& net, std::uint64_t still, waiting& found) {
  if (take_done(found)) return true;
  const std::size_t n = std::min(far_.size(), gets);
  std::array<std::uint64_t, gets> words{};
  std::array<int, gets> asked{};
  for (std::size_t i = 0; i < n; ++i) {
    const net::location at{far_[i].record};
    const op look = op::get(net.heap(at.rank()), at.offset(), &words[i], 8);
    net.post_apart(at.rank(), {&look, 1});
    asked[i] = at.rank();
  }
  std::sort(asked.begin(), asked.begin() + static_cast<std::ptrdiff_t>(n));
  for (std::size_t i = 0; i < n; ++i) {
    if (i == 0 || asked[i] != asked[i - 1]) net.complete(asked[i]);
  }
  for (std::size_t i = 0; i < n; ++i) {
    waiting one = far_.front();
    far_.pop_front();
    if (!is_done(words[i]) && still != 0) one.since_ns = still;
    (is_done(words[i]) ? done_ : far_).push_back(one);
  }
  return take_done(found);
}

std::size_t wait_queue::turns() const noexcept {
  return std::max((near_.size() + loads - 1) / loads, (far_.size() + gets - 1) / gets);
}

std::vector<wait_queue::waiting> wait_queue::all() const {
  std::vector<waiting> every(done_.begin(), done_.end());
  every.insert(every.end(), near_.begin(), near_.end());
  every.insert(every.end(), far_.begin(), far_.end());
  return every;
}

}  // namespace tobi::tasks
