// SPDX-License-Identifier: Apache-2.0
#include "libcore/job/collections.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <string>
#include <utility>
#include <vector>

#include "libcore/base/log.hpp"
#include "libcore/base/per_rank.hpp"
#include "libcore/job/first_failure.hpp"
#include "libcore/net/batch.hpp"
#include "libcore/pool/rebalancing.hpp"
#include "libcore/pool/shared_part.hpp"

namespace tobi::job {

collections::collections(pool::ground on, assembly& together, std::function<void(call)> enter,
                         std::function<void()> meet)
    : on_(std::move(on)), together_(together), enter_(std::move(enter)), meet_(std::move(meet)) {}

// Where an atomic is a message that the target's processor executes, the message may as well bring the tasks.
bool collections::steal_by_messages(const collection_options& how) const {
  if (!how.steals || on_.net->size() == 1) return false;
  return how.by == steal_by::messages || (how.by == steal_by::automatic && !on_.net->transport().caps().passive_amo);
}

// Made with the first collection that needs it. A key is got from each rank: it is put nowhere before there are any.
pool::mail& collections::all_mail() {
  if (mail_ != nullptr) return *mail_;
  mail_ = std::make_unique<pool::mail>(*on_.net);
  on_.places->mail = mail_->key();
  meet_();
  const std::uint64_t at = on_.net->here(&on_.places->mail).offset();
  base::per_rank<transports::region_key> keys(on_.net->size());
  net::batch gets(*on_.net);
  for (int r = 0; r < on_.net->size(); ++r) gets.get(r, at, &keys[r], sizeof keys[r]);
  gets.post();
  gets.wait();
  for (int r = 0; r < on_.net->size(); ++r) mail_->connect(r, keys[r]);
  return *mail_;
}

void collections::serve() {
  if (mail_ == nullptr) return;
  mail_->poll();
  for (const auto& part : parts_) {
    if (part != nullptr) part->send_what_is_given();
  }
}

pool::collection* collections::make(const detail::collection_type& type, const collection_options& how) {
  enter_(call::make_collection);
  if (how.capacity == 0 || how.capacity > pool::shared_part::most) {
    base::fatal("a task collection has a capacity of " + std::to_string(how.capacity) +
                    " tasks per worker; choose 1 to " + std::to_string(pool::shared_part::most) + ".",
                base::exit_usage);
  }
  // What thieves compute from must be alike.
  const std::uint64_t shape = std::uint64_t{type.task_bytes} << 32 | std::uint64_t{how.capacity} << 8 |
                              static_cast<std::uint64_t>(how.by) << 1 | (how.steals ? 1 : 0);
  std::array<std::uint64_t, 2> all{shape, ~shape};
  together_.combine(all.data(), sizeof all, [](void* into, const void* from) {
    for (int i = 0; i < 2; ++i) {
      auto& least = static_cast<std::uint64_t*>(into)[i];
      least = std::min(least, static_cast<const std::uint64_t*>(from)[i]);
    }
  });
  if (all[0] != ~all[1]) {
    base::fatal("the workers make a task collection that differs: here its tasks have " +
                    std::to_string(type.task_bytes) + " bytes, its capacity is " + std::to_string(how.capacity) +
                    ", and workers " + (how.steals ? "steal" : "do not steal") + " (steal_by " +
                    std::to_string(static_cast<int>(how.by)) + "); give all workers the same type and options.",
                base::exit_usage);
  }
  const auto free = std::find(parts_.begin(), parts_.end(), nullptr);
  if (free == parts_.end()) {
    base::fatal("there are " + std::to_string(parts_.size()) +
                    " task collections already, as many as there can be at once; end one first.",
                base::exit_usage);
  }
  pool::mail* const post = steal_by_messages(how) ? &all_mail() : nullptr;
  *free = std::make_unique<pool::collection>(on_, static_cast<std::size_t>(free - parts_.begin()), type, how, post);
  meet_();  // all have said where theirs is
  (*free)->find_neighbours();
  return free->get();
}

bool collections::any() const noexcept {
  return std::any_of(parts_.begin(), parts_.end(), [](const auto& p) { return p != nullptr; });
}

void collections::end(pool::collection* part) {
  enter_(call::end_collection);
  on_.net->drain();  // unwaited operations name memory that goes now, here and elsewhere
  meet_();
  std::find_if(parts_.begin(), parts_.end(), [&](const auto& p) { return p.get() == part; })->reset();
}

void collections::process(pool::collection& part) {
  enter_(call::process);
  part.begin();
  meet_();
  processing_ = true;
  part.work();
  processing_ = false;
  meet_();
  part.end();
  throw_first_failure(part.failure(), *on_.net, together_);
}

// Each rank on its own first, then whether all have the same ones: the tree is made of them.
void collections::check(const balance_options& how) {
  const auto refuse = [](const std::string& what) {
    base::fatal("tobi::task_collection::rebalance was given " + what + ".", base::exit_usage);
  };
  if (how.how != balancer::central && how.how != balancer::hierarchical) refuse("a balancer that there is not");
  if (how.branching < 2 || how.branching > 1024) {
    refuse("a branching factor of " + std::to_string(how.branching) + "; choose 2 to 1024");
  }
  for (const double factor : {how.c, how.d}) {
    // Not a number is neither.
    if (!(factor >= 1 && factor <= 100)) {
      refuse("a threshold of " + std::to_string(factor) + " (c or d); choose 1 to 100");
    }
  }
  if (!std::has_single_bit(how.bins_per_doubling) || how.bins_per_doubling > pool::codes_per_doubling) {
    refuse(std::to_string(how.bins_per_doubling) + " bins per doubling; choose a power of two up to " +
           std::to_string(pool::codes_per_doubling));
  }
  const std::uint64_t shape = static_cast<std::uint64_t>(how.how) << 32 | how.branching << 16 | how.bins_per_doubling;
  const auto c = std::bit_cast<std::uint64_t>(how.c);
  const auto d = std::bit_cast<std::uint64_t>(how.d);
  std::array<std::uint64_t, 6> all{shape, ~shape, c, ~c, d, ~d};
  together_.combine(all.data(), sizeof all, [](void* into, const void* from) {
    for (int i = 0; i < 6; ++i) {
      auto& least = static_cast<std::uint64_t*>(into)[i];
      least = std::min(least, static_cast<const std::uint64_t*>(from)[i]);
    }
  });
  if (all[0] != ~all[1] || all[2] != ~all[3] || all[4] != ~all[5]) {
    base::fatal("the workers call rebalance() with options that differ; give all of them the same balance_options.",
                base::exit_usage);
  }
}

void collections::rebalance(pool::collection& part, const balance_options& how) {
  enter_(call::rebalance);
  check(how);
  const std::unique_ptr<pool::rebalancing> mine = part.rebalance(how);
  pool::load_sum sum = mine->own_load();
  together_.combine(&sum, sizeof sum, [](void* into, const void* from) {
    auto& all = *static_cast<pool::load_sum*>(into);
    const auto& one = *static_cast<const pool::load_sum*>(from);
    all.known_ns += one.known_ns;
    all.known += one.known;
    all.unknown += one.unknown;
    all.cores += one.cores;
  });
  double longest_ns = mine->give(sum);
  together_.combine(&longest_ns, sizeof longest_ns, [](void* into, const void* from) {
    auto& longest = *static_cast<double*>(into);
    longest = std::max(longest, *static_cast<const double*>(from));
  });
  mine->open(longest_ns);
  meet_();
  mine->plan();
  meet_();
  mine->tell();
  meet_();
  mine->fetch();
  on_.net->drain();  // unwaited operations name memory that goes now
  pool::balance_result done = mine->own_result();
  together_.combine(&done, sizeof done, [](void* into, const void* from) {
    auto& all = *static_cast<pool::balance_result*>(into);
    const auto& one = *static_cast<const pool::balance_result*>(from);
    all.before_ns = std::max(all.before_ns, one.before_ns);
    all.after_ns = std::max(all.after_ns, one.after_ns);
    all.moved += one.moved;
    all.messages += one.messages;
    all.ns = std::max(all.ns, one.ns);
  });
  const double mean = mine->average_ns();
  part.rebalanced(*mine, {mean == 0 ? 1 : done.before_ns / mean, mean == 0 ? 1 : done.after_ns / mean, done.moved,
                          done.moved * mine->record_bytes(), done.messages, done.ns});
}

}  // namespace tobi::job
