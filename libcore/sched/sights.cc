// SPDX-License-Identifier: Apache-2.0
#include "libcore/sched/sights.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

namespace tobi::sched {

void sights::start(net::fabric& net, deque::deque& work, node_sights& own, const base::per_rank<int>& nodes,
                   std::vector<int> near, bool far) {
  net_ = &net;
  work_ = &work;
  offset_ = net.here(&own).offset();
  got_.assign(node_sights::most, 0);
  there_ranks_.reserve(std::min(nodes.size(), node_sights::most));  // thieves do not allocate
  here_ = nullptr;
  here_ranks_ = std::move(near);
  here_ranks_.push_back(net.rank());
  std::sort(here_ranks_.begin(), here_ranks_.end());
  if (!far) return;
  nodes_ = node_ranks(nodes);
  for (const int rank : here_ranks_) {
    if (rank != net.rank() && net.mapped(rank) == nullptr) return;
  }
  const int first = here_ranks_.front();
  here_ = first == net.rank() ? own.of : reinterpret_cast<node_sights*>(net.mapped(first) + offset_)->of;
}

// Stored only where it differs: the neighbours write to the same line.
void sights::tell(int rank) noexcept {
  if (here_ == nullptr) return;
  const auto at =
      static_cast<std::size_t>(std::lower_bound(here_ranks_.begin(), here_ranks_.end(), rank) - here_ranks_.begin());
  if (at >= std::min(here_ranks_.size(), node_sights::most) || here_ranks_[at] != rank) return;
  const auto says = static_cast<std::uint8_t>(1 + static_cast<int>(work_->glance(rank)));
  const std::atomic_ref byte(here_[at]);
  if (byte.load(std::memory_order_relaxed) != says) byte.store(says, std::memory_order_relaxed);
}

int sights::choose(int partner, base::rng& rng) {
  there_ranks_.clear();
  std::size_t partner_at = 0;
  nodes_.each_beside(partner, [&](int r) {
    if (net_->transport().serves_only(r)) return true;
    if (r == partner) partner_at = there_ranks_.size();
    there_ranks_.push_back(r);
    return there_ranks_.size() < node_sights::most;
  });
  const std::size_t n = there_ranks_.size();
  if (n == 1) return partner;  // a look at itself costs no more, and is an attempt
  // Whole words, so that each byte is one that was written.
  net_->get({there_ranks_.front(), offset_}, got_.data(), (n + 7) & ~std::size_t{7});
  const auto seen_at = [&](std::size_t i) {
    return got_[i] == 0 ? deque::sight::busy : static_cast<deque::sight>(got_[i] - 1);
  };
  // The first of the best from a place by chance, but before all others the partner: it is connected already.
  const std::size_t from = static_cast<std::size_t>(rng.uniform(n));
  std::size_t best = partner_at;
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t at = from + i < n ? from + i : from + i - n;
    if (seen_at(at) < seen_at(best)) best = at;
  }
  return seen_at(best) < deque::sight::leaf ? there_ranks_[best] : -1;
}

}  // namespace tobi::sched
