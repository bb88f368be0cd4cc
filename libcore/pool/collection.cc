// SPDX-License-Identifier: Apache-2.0
#include "libcore/pool/collection.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>
#include <string>

#include "arch/clock.hpp"
#include "arch/heavy_fence.hpp"
#include "libcore/base/log.hpp"
#include "libcore/pool/one_sided_thief.hpp"
#include "libcore/sched/worker.hpp"
#include "libcore/task/door.hpp"

namespace tobi::pool {

namespace {

constexpr std::size_t task_alignment = 64;

collection_words* make_words(const ground& on, std::size_t number, std::size_t record_bytes, std::uint64_t capacity) {
  const std::size_t bytes = ring_offset + record_bytes * capacity;
  void* room = on.heap->allocate(bytes, alignof(collection_words));
  if (room == nullptr) {
    base::fatal("the registered heap is full: no room for a collection of " + std::to_string(capacity) +
                " tasks per worker, which needs " + std::to_string(bytes) +
                " bytes; raise TOBI_HEAP_SIZE, or lower the collection's capacity.");
  }
  auto* words = new (room) collection_words{};
  std::atomic_ref(on.places->at[number]).store(on.net->here(words).offset(), std::memory_order_release);
  return words;
}

}  // namespace

collection::collection(const ground& on, std::size_t number, const detail::collection_type& type,
                       const collection_options& how, mail* post)
    : on_(on),
      type_(type),
      how_(how),
      number_(number),
      record_bytes_((sizeof(head) + type.task_bytes + 7) / 8 * 8),
      words_(make_words(on, number, record_bytes_, how.capacity)),
      peers_(*on.net, *on.places, number),
      mail_(post),
      executed_(record_bytes_),
      record_(record_bytes_ + task_alignment),
      added_(record_bytes_) {
  const bool alone = !how.steals || on_.net->size() == 1;
  const queue::thieves kind = alone             ? queue::thieves::none
                              : post != nullptr ? queue::thieves::asking
                                                : queue::thieves::one_sided;
  queue_ = std::make_unique<queue>(*on_.net, *words_, record_bytes_, how.capacity, kind);
  if (post != nullptr && !alone) {
    giver_ = std::make_unique<giver>(*on_.net, *post, *queue_, *words_, number);
    post->read_by(number, this);
  }
  end_ = std::make_unique<termination>(*on_.net, peers_, *words_);
  if (!alone && !on_.serves_only) {
    make_thief();
    start_attendant();
  }
  fences_.start(on_.memory);
  // The task itself is aligned, not the head before it.
  void* at = record_.data() + sizeof(head);
  std::size_t room = record_.size() - sizeof(head);
  now_ = static_cast<std::byte*>(std::align(task_alignment, type_.task_bytes, at, room)) - sizeof(head);
}

void collection::make_thief() {
  if (giver_ == nullptr) {
    thief_ = std::make_unique<one_sided_thief>(*on_.net, peers_, *queue_, *on_.choice, on_.near);
    return;
  }
  auto asking =
      std::make_unique<message_thief>(*on_.net, peers_, *queue_, *on_.choice, on_.near, *mail_, number_, on_.wait);
  asking_thief_ = asking.get();
  thief_ = std::move(asking);
}

collection::~collection() {
  attendant_.reset();
  if (giver_ != nullptr) mail_->read_by(number_, nullptr);
  std::atomic_ref(on_.places->at[number_]).store(0, std::memory_order_relaxed);
  on_.heap->deallocate(words_);
}

void collection::find_neighbours() {
  if (thief_ == nullptr) return;
  for (const int rank : on_.near) {
    (void)std::atomic_ref(peers_.mapped(rank)->shared).load(std::memory_order_relaxed);
  }
}

void collection::start_attendant() {
  transports::transport& transport = on_.net->transport();
  if (!transport.caps().any_thread || !arch::prepare_heavy_fence().empty()) return;  // the worker's start has said so
  const bool must_poll = on_.must_poll || giver_ != nullptr;  // messages show nowhere but in memory
  const bool all_near = on_.near.size() + 1 == static_cast<std::size_t>(on_.net->size());
  attendant_ = std::make_unique<sched::attendant>(
      *this, words_->window,
      sched::attendant::habits{must_poll, transport.wait_fd(), must_poll || !all_near, on_.workers_per_core});
}

bool collection::attend() noexcept {
  if (on_.must_poll) on_.net->transport().progress();
  queue_->share();  // what these tasks are to read was released when they were added
  serve();
  return false;
}
bool collection::may_sleep() const noexcept { return on_.net->transport().may_sleep(); }
std::uint64_t collection::sign_of_life() const noexcept {
  return std::atomic_ref(words_->executed).load(std::memory_order_relaxed);
}

bool collection::asked(int thief, const mail::request& what) { return giver_->asked(thief, what); }
void collection::delivered(std::uint64_t count) { asking_thief_->delivered(count); }

void collection::send_what_is_given() {
  if (giver_ != nullptr) giver_->serve();
}

void collection::serve() {
  if (giver_ == nullptr) return;
  mail_->poll();
  giver_->serve();
}

// Between two tasks, of which a thief that asks must not wait for many. NOW: cycles.
void collection::serve_at_times(std::uint64_t now) noexcept {
  if (giver_ == nullptr || arch::cycles_to_ns(now - served_) < queue::private_ns) [[likely]] {
    return;
  }
  served_ = now;
  serve();
}

void collection::refuse_add() const {
  base::fatal("a task was added to a collection whose process() has ended; call restore() or clear() first.",
              base::exit_usage);
}

void collection::add(std::uint32_t function, const void* task) {
  if (state_ == state::processed) refuse_add();
  const bool in_a_task = state_ == state::processing;
  const head what{function, in_a_task ? 1u : 0u};
  std::memcpy(added_.data(), &what, sizeof what);
  std::memcpy(added_.data() + sizeof what, task, type_.task_bytes);
  if (!in_a_task && !how_.retains) keep(added_.data());
  if (in_a_task) fences_.release();
  queue_->add(added_.data());
}

void collection::keep(const std::byte* record) { kept_.insert(kept_.end(), record, record + record_bytes_); }

// The task at now_ was executed here, or dropped.
void collection::keep_executed(time_code took) {
  head what;
  std::memcpy(&what, now_, sizeof what);
  if (what.added != 0) return;
  executed_.add(now_, took);
}

void collection::begin() {
  if (state_ == state::processed) {
    base::fatal(
        "process() was called again on a collection that holds what it has executed; call restore() or clear() first.",
        base::exit_usage);
  }
  state_ = state::processing;
  counted_ = {};
  failure_ = 0;
  end_->begin(queue_->claimed());
  if (thief_ != nullptr) thief_->reset_counts();
}

void collection::work() {
  const std::uint64_t began = arch::now_ns();
  std::atomic_ref(words_->window.busy).store(1, std::memory_order_relaxed);
  if (attendant_ != nullptr) attendant_->task_begins();
  queue_->share();
  for (unsigned spins = 0;; on_.wait(spins++)) {
    if (on_.serves_only && how_.steals) {
      while (end_->abandoned() && queue_->take(now_)) keep_executed(no_time);
      if (queue_->gives_away() && end_->passive(queue_->claimed())) break;
      continue;
    }
    while (queue_->take(now_)) {
      spins = 0;
      keep_executed(end_->abandoned() ? no_time : execute());
    }
    if (queue_->empty() && end_->passive(queue_->claimed())) break;
    if (thief_ != nullptr && !end_->abandoned() && thief_->steal()) {
      fences_.acquire(0);
      spins = 0;
    }
  }
  std::atomic_ref(words_->window.busy).store(0, std::memory_order_relaxed);
  if (attendant_ != nullptr) attendant_->task_ends();
  counted_.process_ns = arch::now_ns() - began;
  counted_.waves = end_->waves();
  if (thief_ == nullptr) return;
  counted_.attempted_steals = thief_->attempts();
  counted_.steals = thief_->steals();
  counted_.stolen = thief_->stolen();
}

// The task at now_. It is the program's code: the attendant may come in meanwhile.
time_code collection::execute() {
  head what;
  std::memcpy(&what, now_, sizeof what);
  const std::uint64_t began = arch::cycles();
  tasks::the_door.step_out();
  try {
    type_.execute(type_.face, what.function, now_ + sizeof what);
    tasks::the_door.step_in();
  } catch (...) {
    tasks::the_door.step_in();
    if (failure_ == 0) failure_ = sched::this_worker().failures().keep();
    end_->abandon();
  }
  const std::uint64_t ended = arch::cycles();
  const auto ns = static_cast<std::uint64_t>(arch::cycles_to_ns(ended - began));
  queue_->took(ns);
  ++counted_.executed;
  counted_.task_ns += ns;
  // One writer.
  std::atomic_ref(words_->executed).store(words_->executed + 1, std::memory_order_relaxed);
  fences_.nothing_held("the end of a collection's task");
  serve_at_times(ended);
  return code_of(ns);
}

void collection::restore() {
  if (state_ != state::processed) return;
  state_ = state::filling;
  // The queue is taken from its end: what was executed first is executed first again.
  if (how_.retains) {
    for (std::size_t i = executed_.count(); i != 0; --i) queue_->add(executed_.record(i - 1));
  } else {
    for (std::size_t at = kept_.size(); at != 0; at -= record_bytes_) queue_->add(kept_.data() + at - record_bytes_);
  }
  executed_.clear();
}

std::unique_ptr<rebalancing> collection::rebalance(const balance_options& how) {
  if (state_ != state::processed) {
    base::fatal(
        "rebalance() was called on a collection that was not processed since it was filled; call process() "
        "first.",
        base::exit_usage);
  }
  return std::make_unique<rebalancing>(
      rebalancing::ground{on_.net, on_.heap, &peers_, words_, !on_.serves_only, &on_.wait}, executed_, record_bytes_,
      how);
}

void collection::rebalanced(const rebalancing& done, const balance_statistics& what) {
  state_ = state::filling;
  balanced_ = what;
  kept_.clear();
  const auto put = [this](const std::byte* record) {
    queue_->add(record);
    if (!how_.retains) keep(record);
  };
  for (std::uint64_t i = 0; i < done.received(); ++i) put(done.record(i));
  for (std::size_t i = executed_.count(); i != 0; --i) put(executed_.record(i - 1));
  executed_.clear();
}

void collection::clear() {
  queue_->drop();
  executed_.clear();
  kept_.clear();
  state_ = state::filling;
}

}  // namespace tobi::pool
