// SPDX-License-Identifier: Apache-2.0
#include "libcore/job/assembly.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <map>

#include "arch/clock.hpp"
#include "libcore/base/log.hpp"

namespace tobi::job {

using transports::op;

assembly::assembly(net::fabric& net, assembly_words& own, const base::per_rank<int>& node_of, waiting how)
    : net_(net), own_(own), offset_(net.here(&own).offset()), waiting_(std::move(how)) {
  const bool maps = net.transport().caps().maps_peers;
  std::map<int, int> places;  // of the nodes that have been met
  for (int r = 0; r < net.size(); ++r) {
    const int node = maps ? node_of[r] : r;
    const auto [found, is_new] = places.try_emplace(node, nodes());
    if (is_new) speakers_.push_back(r);
    place_of_.push_back(found->second);
  }
  place_ = place_of_[net.rank()];
  for (int r = 0; r < net.size(); ++r) {
    if (r != net.rank() && place_of_[r] == place_) neighbours_.push_back(r);
  }
}

assembly_words& assembly::of_neighbour(int rank) {
  return *reinterpret_cast<assembly_words*>(net_.mapped(rank) + offset_);
}

// Neighbours gather at their speaker. Speakers disseminate: in round k each tells the one 2^k nodes further on, and
// hears from the one 2^k back, and has heard of everybody after log2(nodes) rounds. Then they release their neighbours.
// All words only grow, and a word of `arrived` has one writer.
//
// The rank that another waits for is in this barrier too, or late, or in another call: the last is seen at its place,
// within a look or two. A barrier that comes through between two different calls is seen by the tags.
//
// Orders: what a worker did before its barrier is seen by all behind theirs. Each step is a store-release or a put that
// is behind what it tells, and a load-acquire.
void assembly::barrier() {
  ++generation_;
  const int speaker = speakers_[place_];
  if (speaker != net_.rank()) {
    come_to(speaker);
    return;
  }
  gather_neighbours();
  arriving_ = generation_ << place::bits | inside_.tag();
  int round = 0;
  for (int step = 1; step < nodes(); step *= 2, ++round) {
    const auto word = offsetof(assembly_words, arrived) + static_cast<std::size_t>(round) * sizeof own_.arrived[0];
    tell(speakers_[(place_ + step) % nodes()], word);
    hear(own_.arrived[round], speakers_[(place_ - step + nodes()) % nodes()]);
  }
  release_neighbours();
}

// Speakers are a binomial tree: the children of place p are p + 2^k for each 2^k below p's lowest bit, and place 0 has
// all. Each adds up its node from mapped memory, gets what its children have ready, adds it, and says that its own part
// is ready; the total is put down the same tree. So a rank has to do with log2(nodes) others, and nobody with all.
//
// A part is written again when its rank comes to the next barrier or sum. By then it has been read: the total is told
// only after that. And a speaker's total is overwritten only when its neighbours, which read it, have come again.
void assembly::combine(void* words, std::size_t bytes, adder add) {
  TOBI_ASSERT(bytes <= combined_max && bytes % 8 == 0, "what is combined fits into its place");
  ++generation_;
  std::memcpy(own_.part.data(), words, bytes);
  const int speaker = speakers_[place_];
  if (speaker != net_.rank()) {
    come_to(speaker);
    std::memcpy(words, of_neighbour(speaker).total.data(), bytes);
    return;
  }
  gather_neighbours();
  for (const int r : neighbours_) add(own_.part.data(), of_neighbour(r).part.data());
  int step = 1;
  int round = 0;
  for (; step < nodes() && (place_ & step) == 0; step *= 2, ++round) {
    if (place_ + step >= nodes()) continue;
    const int child = speakers_[place_ + step];
    hear(own_.ready[round], child);
    alignas(64) std::array<std::byte, combined_max> theirs;
    net_.get({child, offset_ + offsetof(assembly_words, part)}, theirs.data(), bytes);
    add(own_.part.data(), theirs.data());
  }
  arriving_ = generation_ << place::bits | inside_.tag();
  if (place_ == 0) {
    own_.total = own_.part;
  } else {
    const int parent = speakers_[place_ - step];
    tell(parent, offsetof(assembly_words, ready) + static_cast<std::size_t>(round) * sizeof own_.ready[0]);
    hear(own_.told, parent);
  }
  // The furthest child first: it has the most to tell.
  for (step /= 2; step > 0; step /= 2) {
    if (place_ + step >= nodes()) continue;
    const int child = speakers_[place_ + step];
    const op both[] = {
        op::put(net_.heap(child), offset_ + offsetof(assembly_words, total), own_.total.data(), bytes),
        op::put(net_.heap(child), offset_ + offsetof(assembly_words, told), &arriving_, 8),
    };
    net_.post(child, both);
    net_.complete(child);
  }
  release_neighbours();
  std::memcpy(words, own_.total.data(), bytes);
}

// A rank that is no speaker has come, and waits until it may go on.
void assembly::come_to(int speaker) {
  assembly_words& there = of_neighbour(speaker);
  const std::uint64_t come = std::atomic_ref(there.gathered).fetch_add(1, std::memory_order_acq_rel) + 1;
  if (come == generation_ * neighbours_.size()) waiting_.call_neighbour(speaker);
  wait({there.released, generation_}, speaker);
}

void assembly::gather_neighbours() {
  wait({own_.gathered, generation_ * neighbours_.size()}, net_.rank());
  look_at_neighbours();
}

void assembly::release_neighbours() {
  std::atomic_ref(own_.released).store(generation_, std::memory_order_release);
  waiting_.call_neighbours();
}

// Puts this generation to the word at AT of RANK's words.
void assembly::tell(int rank, std::size_t at) {
  const op one = op::put(net_.heap(rank), offset_ + at, &arriving_, 8);
  net_.post(rank, {&one, 1});
  net_.complete(rank);
}

// Waits until FROM has put this generation to WORD.
void assembly::hear(std::uint64_t& word, int from) {
  const awaited what{word, generation_ << place::bits};
  wait(what, from);
  const std::uint64_t said = what.now();
  // The next barrier's word may be there already.
  if (said >> place::bits == generation_ && (said & place::mask) != inside_.tag()) contradicted(from, place_of(from));
}

void assembly::enter(call which) noexcept {
  inside_ = inside_.next(which);
  std::atomic_ref(own_.inside).store(inside_.word, std::memory_order_release);
}

// Waits for WHAT, which PEER brings about; this rank itself: its neighbours. The clock is read now and then.
void assembly::wait(const awaited& what, int peer) {
  constexpr unsigned turns_between_clocks = 64;
  constexpr std::uint64_t between_looks_ns = 250'000'000;
  std::uint64_t look_again_ns = 0;
  for (unsigned spins = 0; !what.is_there(); ++spins) {
    waiting_.turn(spins, what);
    if (spins % turns_between_clocks != turns_between_clocks - 1) continue;
    const std::uint64_t now = arch::now_ns();
    if (look_again_ns == 0) look_again_ns = now + between_looks_ns;
    if (now < look_again_ns) continue;
    look_again_ns = now + between_looks_ns;
    if (peer == net_.rank()) {
      look_at_neighbours();
    } else {
      look_at(peer);
    }
  }
}

void assembly::look_at(int peer) {
  if (const place there = place_of(peer); there.contradicts(inside_)) contradicted(peer, there);
}

void assembly::look_at_neighbours() {
  for (const int r : neighbours_) look_at(r);
}

place assembly::place_of(int rank) {
  if (place_of_[rank] == place_) {
    return {std::atomic_ref(of_neighbour(rank).inside).load(std::memory_order_acquire)};
  }
  place there;
  net_.get({rank, offset_ + offsetof(assembly_words, inside)}, &there.word, sizeof there.word);
  return there;
}

// The others of this node that have come as far are named too.
void assembly::contradicted(int by, place there) {
  std::vector<rank_in> known{{net_.rank(), inside_}, {by, there}};
  for (const int r : neighbours_) {
    if (r == by) continue;
    if (const place at = place_of(r); at.number() == inside_.number()) known.push_back({r, at});
  }
  std::sort(known.begin(), known.end(), [](const rank_in& a, const rank_in& b) { return a.rank < b.rank; });
  base::fatal(say_contradiction(net_.rank(), known), base::exit_usage);
}

// The rank where the root ended speaks for its node here.
bool assembly::tells(int origin) const noexcept {
  if (net_.rank() == origin) return true;
  return place_ != place_of_[origin] && speakers_[place_] == net_.rank();
}

// In terms of distance from the origin's node, node d tells d + 2^k for each 2^k above d.
void assembly::tell_nodes(int origin, std::uint64_t epoch) {
  const int from = place_of_[origin];
  const int distance = (place_ - from + nodes()) % nodes();
  telling_ = {own_.notice.result, epoch};
  const std::uint64_t at = offset_ + offsetof(assembly_words, notice);
  for (int step = 1; step < nodes(); step *= 2) {
    if (step <= distance || distance + step >= nodes()) continue;
    const int to = speakers_[(from + distance + step) % nodes()];
    const op both[] = {
        op::put(net_.heap(to), at + 8, &telling_[0], 8),
        op::put(net_.heap(to), at, &telling_[1], 8),
    };
    net_.post(to, both);
  }
}

void assembly::tell_neighbours(std::uint64_t epoch, std::uint64_t result) {
  for (const int r : neighbours_) {
    auto& there = of_neighbour(r).notice;
    std::atomic_ref(there.result).store(result, std::memory_order_relaxed);
    std::atomic_ref(there.epoch).store(epoch, std::memory_order_release);
  }
}

}  // namespace tobi::job
