// SPDX-License-Identifier: Apache-2.0
#include "libcore/sched/worker.hpp"

#include <algorithm>
#include <array>

#include "arch/context.hpp"
#include "arch/cpu.hpp"
#include "libcore/deque/steal_word.hpp"
#include "libcore/deque/the_deque.hpp"
#include "libcore/sched/node_ranks.hpp"
#include "libcore/task/exceptions.hpp"
#include "libcore/trace/trace.hpp"

namespace {

// Outside of runs, and where there is no runtime at all, every fork reaches on_fork, which says what is wrong. The fork
// path itself asks nothing: it stores its entry into a slot that nobody reads.
constexpr std::uint64_t outside_rings = 1;
constinit std::array<std::uintptr_t, 2> outside_slots{};
constexpr tobi::arch::hot_state outside{outside_slots.data(), ~std::uintptr_t{0}, &outside_rings, 0, 0};

constexpr const char* a_fork = "tobi::spawn (or async, parallel_for, an algorithm)";

}  // namespace

constinit tobi::arch::hot_state tobi_hot = outside;

namespace tobi::sched {

// Not inline, so that this_worker(), which each slow fork calls, keeps to a load and a test.
[[gnu::noinline, gnu::cold]] worker::worker() noexcept = default;

worker& this_worker() noexcept {
  // Never destroyed: the runtime may be a global variable, which may live longer than those of this library.
  static union lasting {
    lasting() noexcept : it() {}
    ~lasting() {}
    worker it;
  } instance;
  return instance.it;
}

void worker::start(const worker_parts& parts) {
  parts_ = parts;
  net::fabric& net = *parts.net;
  std::erase_if(parts_.near, [&](int rank) { return net.mapped(rank) == nullptr; });
  const bool all_near = parts_.near.size() + 1 == static_cast<std::size_t>(net.size());
  // What knows of no scheduler.
  services_.net = &net;
  fences_.start(parts.memory);
  poller_.start(net.transport());
  objects_.start(net, *parts.objects, parts.incoming);
  failures_.start(net);
  records_.start(net);
  region_.start(net, parts.stack_low, parts.stack_high, *parts.images, parts.debug_migrate);
  parts.closures->watch_region(region_.low(), region_.high());
  outstanding_.start(*parts.hosts, net.rank());
  // The scheduler, and the deque on the words of its fork path.
  sched_ = &make_scheduler(parts.sched, parts.measures, services_);
  make_deque(parts_.near.empty() || all_near ? 1 : nodes_in(*parts.nodes));
  deque::deque& work = *deque_;
  services_.work = &work;
  work.reset(region_.high(), 0);
  // What knows of both.
  joins_.start(net, *sched_);
  results_.start(work, *sched_);
  futures_.start(net, work, *sched_);
  finishes_.start(net, work, *sched_);
  still_.start(net, *parts.board, *parts.objects, parts.runs_tasks ? sched_ : nullptr);
  sleepers_.start(net, *parts.window, parts_.near);
  workers_ = numbering(*parts.nodes, [&net](int rank) { return net.transport().serves_only(rank); });
  thief_.start(parts_, work, workers_, !all_near);
  idler_.start(parts_, work);
  travel_.start(parts_, *sched_);
  divisions_.start(parts_, parts.sched == base::sched_kind::adws && !parts.measures, workers_, work, counts_);
  if (sched_->moves_tasks()) thread_.frames_lie(region_.low(), region_.bytes());
  // Rung permanently, every fork reaches on_fork. A transport that moves by itself does not need that.
  if (parts.count_forks || parts.debug_migrate || poller_.must_poll()) parts.window->bells.ring(deque::bell::sticky);
  usual_bell_ = tobi_hot.doorbell;
  tobi_hot.doorbell = &outside_rings;
  presence_.start(parts_, work, sched_->moves_at_joins(), all_near);
}

void worker::make_deque(std::size_t nodes) {
  arch::hot_state& hot = sched_->deque_state();
  if (parts_.use_the) {
    deque_ = std::make_unique<deque::the_deque>(hot, parts_.slot_memory, *parts_.net, *parts_.window, *parts_.the,
                                                publisher_, region_.high(), region_.bytes());
  } else {
    deque_ = std::make_unique<deque::steal_word>(hot, parts_.slot_memory, *parts_.net, *parts_.window, publisher_,
                                                 region_.high(), region_.bytes(), !parts_.choice->none(), nodes);
  }
}

void worker::stop() noexcept {
  divisions_.stop();
  presence_.stop();
  sleepers_.stop();
  deque_.reset();
  std::destroy_at(std::exchange(sched_, nullptr));
  futures_.stop();
  failures_.stop();
  services_.net = nullptr;
  services_.work = nullptr;
  parts_ = worker_parts{};
  tobi_hot = outside;
}

void worker::schedule(void (*first)(void*), const void* argument, std::size_t argument_bytes, std::uint64_t& done,
                      std::uint64_t done_value) {
  if (trace::tracing != nullptr) trace::tracing->run_begins();
  // The program may run this in a catch clause: that exception is none of the tasks'.
  const tasks::exceptions_under_way around = tasks::take_exceptions();
  thread_.run_begins();
  fences_.usual_bell(usual_bell_);
  idler_.run_begins(done, done_value);
  sched_->run(first, argument, argument_bytes);
  divisions_.none();
  still_.moves();
  fences_.usual_bell(&outside_rings);
  tasks::give_exceptions(around);
  if (trace::tracing != nullptr) trace::tracing->run_ends();
}

void worker::on_fork(std::uintptr_t sp, std::uint64_t* words) noexcept {
  if (!thread_.inside_task() || !thread_.holds(sp)) [[unlikely]] {
    thread_.must_run_tasks_here(a_fork);
  }
  poller_.keep_moving();
  fences_.may_move("fork");
  if (parts_.count_forks) ++counts_.forks;
  if (divisions_.is_sent()) [[unlikely]]
    return;
  presence_.show_ready();
  const bool shows = presence_.asked_for_work();
  sched_->forked(sp, words);
  if (shows) presence_.tell();
}

void worker::on_return(std::uintptr_t sp, std::uint64_t a, std::uint64_t b) noexcept {
  // The return to a stack elsewhere is always a slow one.
  if (!thread_.holds(sp)) [[unlikely]] {
    thread_.must_run_tasks_here(a_fork);
  }
  poller_.keep_moving();
  if (!deque_->at_base() && deque_->take_back(sp)) {
    results_.give_to(reinterpret_cast<const arch::saved_frame*>(sp)->handle);
    presence_.tell();
    return;
  }
  results_.complete(deque_->die_record(), a, b);
  leave_dead();
}

void worker::poll() noexcept {
  if (parts_.net != nullptr) presence_.poll();  // else there is no runtime, and nobody to serve
}

statistics worker::counted() const noexcept {
  statistics all = counts_;
  all.joins = all.forks;
  all.copying_ns =
      static_cast<std::uint64_t>(arch::cycles_to_ns(counts_.steal_cycles[static_cast<std::size_t>(deque_->copying())]));
  const deque::deque::counters shown = deque_->counts();
  all.published = shown.published - shown_before_.published;
  all.taken_back = shown.taken_back - shown_before_.taken_back;
  const std::size_t own_stacks = sched_->touched_stack_bytes();
  all.peak_stack_bytes = own_stacks != 0 ? own_stacks : region_.peak();
  return all;
}

void worker::reset_counts() noexcept {
  counts_ = statistics{};
  shown_before_ = deque_->counts();
}

tasks::held_pointer worker::closure_that_holds(std::uintptr_t address, std::uintptr_t near) noexcept {
  if (parts_.closures == nullptr) return {};
  tasks::held_pointer best = parts_.closures->nearest(address, near);
  for (const int rank : parts_.near) {
    const std::byte* region = parts_.net->mapped(rank);
    const auto* theirs =
        reinterpret_cast<const tasks::closure_watch*>(region + parts_.net->here(parts_.closures).offset());
    const tasks::held_pointer found = theirs->nearest(address, best.type == nullptr ? near : address - best.word);
    if (found.type != nullptr) best = found;
  }
  return best;
}

}  // namespace tobi::sched
