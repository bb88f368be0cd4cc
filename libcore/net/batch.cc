// SPDX-License-Identifier: Apache-2.0
#include "libcore/net/batch.hpp"

#include <algorithm>
#include <array>

namespace tobi::net {

using transports::op;
using transports::op_kind;

namespace {
constexpr std::size_t chain_most = 16;
}

batch::batch(fabric& net) : net_(net), waiting_for_(net.size()) {}

void batch::note(int rank, op_kind kind, std::uint64_t at, void* local, std::uint64_t bytes) {
  const std::uint64_t most = net_.transport().caps().put_max;
  const transports::region_id region = net_.heap(rank);
  for (std::uint64_t done = 0; done < bytes;) {
    const std::uint64_t step = most == 0 ? bytes - done : std::min(most, bytes - done);
    noted_.push_back({rank, {kind, false, region, at + done, static_cast<std::byte*>(local) + done, step, 0, 0}});
    done += step;
  }
}

void batch::get(int rank, std::uint64_t from, void* local, std::uint64_t bytes) {
  note(rank, op_kind::get, from, local, bytes);
}

void batch::put(int rank, std::uint64_t to, const void* local, std::uint64_t bytes) {
  note(rank, op_kind::put, to, const_cast<void*>(local), bytes);
}

void batch::fetch_add(int rank, std::uint64_t word, std::uint64_t operand, std::uint64_t* found) {
  noted_.push_back({rank, op::add(net_.heap(rank), word, operand, found)});
}

void batch::compare_swap(int rank, std::uint64_t word, std::uint64_t expected, std::uint64_t desired,
                         std::uint64_t* found) {
  noted_.push_back({rank, op::cas(net_.heap(rank), word, expected, desired, found)});
}

void batch::post_in_order(int rank, std::span<const op> ops) {
  net_.post(rank, ops);
  is_under_way(rank);
}

void batch::post_chain(int rank, std::size_t first, std::size_t count) {
  std::array<op, chain_most> chain;
  for (std::size_t i = 0; i < count; ++i) chain[i] = noted_[first + i].what;
  net_.post_apart(rank, {chain.data(), count});
  is_under_way(rank);
}

void batch::is_under_way(int rank) {
  char& waiting = waiting_for_[rank];
  if (waiting == 0) under_way_.push_back(rank);
  waiting = 1;
}

void batch::post() {
  if (noted_.empty()) return;
  // By target, and within one in the order of the calls.
  const auto other =
      std::find_if(noted_.begin(), noted_.end(), [&](const noted& n) { return n.rank != noted_.front().rank; });
  if (other != noted_.end()) {
    std::stable_sort(noted_.begin(), noted_.end(), [](const noted& a, const noted& b) { return a.rank < b.rank; });
  }
  const std::size_t most = std::clamp<std::size_t>(net_.transport().caps().chain_max, 1, chain_most);
  for (std::size_t first = 0; first < noted_.size();) {
    const int rank = noted_[first].rank;
    std::size_t count = 1;
    while (count < most && first + count < noted_.size() && noted_[first + count].rank == rank) ++count;
    post_chain(rank, first, count);
    first += count;
  }
  noted_.clear();
}

bool batch::is_done(int rank) {
  if (waiting_for_[rank] == 0) return true;
  const status s = net_.transport().flush(rank);
  if (s == status::again) return false;
  if (s != status::ok) net_.settle(rank);  // which ends the job, and says why
  waiting_for_[rank] = 0;
  std::erase(under_way_, rank);
  return true;
}

void batch::wait(int rank) {
  if (waiting_for_[rank] == 0) return;
  net_.settle(rank);
  waiting_for_[rank] = 0;
  std::erase(under_way_, rank);
}

void batch::wait() {
  for (const int rank : under_way_) {
    net_.settle(rank);
    waiting_for_[rank] = 0;
  }
  under_way_.clear();
}

}  // namespace tobi::net
