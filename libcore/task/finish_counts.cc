// SPDX-License-Identifier: Apache-2.0
#include "libcore/task/finish_counts.hpp"

#include <atomic>
#include <cstring>
#include <string>

#include "libcore/base/log.hpp"
#include "libcore/deque/image.hpp"
#include "libcore/task/record.hpp"

namespace tobi::tasks {

namespace {

/// At the location that names the finish. The record comes first: the body waits for it.
struct finish_object {
  record ended;
  std::uint64_t strands;   // {ended on other ranks than this object's:32, strands:32}
  std::uint64_t failures;  // the last one's location; they form a list
};

net::location strands_of(std::uint64_t finish) noexcept {
  const net::location at{finish};
  return {at.rank(), at.offset() + offsetof(finish_object, strands)};
}

constexpr std::uint64_t strands_mask = 0xffffffffu;
constexpr std::uint64_t one_elsewhere = strands_mask + 1;  // what ended there has released what it wrote

constexpr std::uint64_t named_at_most = 3;

}  // namespace

std::uint64_t finish_counts::make(const char* what) noexcept {
  thread_.must_run_tasks_here(what);
  auto* fresh = static_cast<finish_object*>(objects_.need(sizeof(finish_object), "for a finish"));
  *fresh = finish_object{};
  make_unwritten(fresh->ended, record_status::finishing);
  fresh->strands = 1;
  return net_->here(fresh).word;
}

void finish_counts::begin(detail::scope_marker& marker) noexcept { scopes_.open(marker, make("tobi::finish")); }

std::uint64_t finish_counts::begin_group() noexcept { return make("tobi::task_group"); }

std::uint64_t finish_counts::async_finish() noexcept {
  const std::uint64_t finish = scopes_.now();
  if (finish == 0) {
    base::fatal(
        "tobi::async was called outside of any tobi::finish, and nothing would wait for it; put one around it.");
  }
  return new_async(finish);
}

std::uint64_t finish_counts::new_async(std::uint64_t finish) noexcept {
  if (sched_->moves_at_joins()) return finish;
  net_->fetch_add(strands_of(finish), 1);
  return finish | detail::async_counted;
}

void finish_counts::async_begin(detail::scope_marker& marker, std::uint64_t finish) noexcept {
  scopes_.open(marker, finish & ~detail::async_counted);
}

void finish_counts::async_end(const detail::scope_marker& marker, std::uint64_t finish) noexcept {
  close(marker);
  if ((finish & detail::async_counted) != 0) strand_ended(finish & ~detail::async_counted);
}

// A task that is tied to its worker never finds its parent elsewhere: its deque's base says nothing of its stack.
void finish_counts::close(const detail::scope_marker& marker) noexcept {
  scopes_.close(marker, sched_->moves_tasks() && deque_->at_base(), deque_->task_base());
}

void finish_counts::async_parted(std::uint64_t& handle_record, std::uint64_t finish) noexcept {
  net::fabric& net = *net_;
  const std::uint64_t child = handle_record;
  handle_record = 0;
  net.fetch_add(strands_of(finish), 1);
  if (net.compare_swap(net::location{child}, 0, finish | waiter_is_finish) == 0) return;
  // It has ended already, here or elsewhere. Our own strand is still counted, so this does not come to 0.
  net.fetch_add(strands_of(finish), one_elsewhere - 1);
  objects_.free(net::location{child});
}

void finish_counts::strand_ended(std::uint64_t finish) noexcept {
  const bool here = net_->is_local(net::location{finish});
  sched_->strand_ends(finish);
  // SC'23, figure 5: Release #2. The finish's body may be elsewhere; a body that is tied to this worker is not.
  if (fences_.used() && (sched_->moves_tasks() || !here)) fences_.release();
  const std::uint64_t before = net_->fetch_add(strands_of(finish), (here ? 0 : one_elsewhere) - 1);
  if ((before & strands_mask) != 1) return;
  joins_.complete(finish, record_status::value, nullptr, 0);
}

void finish_counts::fail(std::uint64_t finish) noexcept {
  const net::location at{finish & ~detail::async_counted};
  const net::location word{at.rank(), at.offset() + offsetof(finish_object, failures)};
  const std::uint64_t kept = failures_.keep();
  auto* mine = static_cast<failure*>(net_->local(net::location{kept}));
  std::uint64_t seen = 0;
  for (;;) {
    mine->next = seen;
    const std::uint64_t found = net_->compare_swap(word, seen, kept);
    if (found == seen) return;
    seen = found;
  }
}

void finish_counts::end(detail::scope_marker& marker) {
  const std::uint64_t finish = marker.finish;
  close(marker);
  end(finish);
}

void finish_counts::end(std::uint64_t finish) {
  const net::location at{finish};
  // At 1 there is no strand but ours, and none that could make one: no atomic is needed to find that.
  const auto alone = [this, at] {
    net::fabric& net = *net_;
    return net.is_local(at) &&
           std::atomic_ref(static_cast<finish_object*>(net.local(at))->strands).load(std::memory_order_acquire) %
                   one_elsewhere ==
               1;
  };
  if (!alone() && (net_->fetch_add(strands_of(finish), ~std::uint64_t{0}) & strands_mask) != 1) {
    record copy;
    joins_.wait_for(finish, copy);
  }
  // Perhaps another process by now, with a fabric elsewhere.
  sched_->goes_on_behind_finish(finish);
  finish_object ended;
  net_->get(at, &ended, sizeof ended);
  // SC'23, figure 5: Acquire #1. Strands that ended on the finish's rank were this worker's, unless the body has moved.
  if ((ended.strands & ~strands_mask) != 0 || !net_->is_local(at)) fences_.acquire(0);
  objects_.free(at);
  if (ended.failures != 0) throw_all(ended.failures);
}

void finish_counts::throw_all(std::uint64_t first) {
  std::uint64_t count = 0;
  std::string text;
  for (std::uint64_t next = first; next != 0;) {
    const net::location where{next};
    failure one;
    net_->get(where, &one, sizeof one);
    objects_.free(where);
    next = one.next;
    if (++count > named_at_most) continue;
    text += (count == 1 ? "" : "; ") + std::string(one.type_name) + (one.message[0] == '\0' ? "" : ": ") + one.message +
            " (rank " + std::to_string(one.rank) + ")";
  }
  if (count > named_at_most) text += "; and " + std::to_string(count - named_at_most) + " more";
  throw finish_error(count, std::to_string(count) + " of the tasks of a finish failed: " + text);
}

}  // namespace tobi::tasks
