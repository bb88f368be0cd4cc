// finish and async: counting what was taken.
//
// A strand is the body of a finish, or an async, up to its end. As long as nobody takes an async's continuation the two
// are one strand to the rest of the world: the async returns into it. When it is taken, the async has a record, like
// any child, and the continuation finds that in its handle. It then adds one to the finish's count and puts the finish
// itself into the record, where a join would put its waiting task; the async's end finds it there and takes one off.
//
// Why the count cannot come to 0 early: it starts at 1, for the body's strand, which gives that up at the very end. A
// strand that has ended has first counted all asyncs that it was taken away from. So an async that is not counted yet
// has a parent strand that has not ended; that one is counted, or its own parent has not ended; and so on up to the
// body's. Nobody else counts, so whoever comes to 0 is the last, once, and completes the finish's record.
//
// That needs a record in which somebody other than its joiner waits, which is the greedy join's. Under the other
// schedulers each async is a strand from its fork on: its parent adds one before, and its end takes one off. The
// argument is the same, and shorter.
#include <atomic>
#include <cstring>
#include <string>

#include "libcore/base/log.hpp"
#include "libcore/task/worker.hpp"
#include "tobi/finish.hpp"

namespace tobi::tasks {

namespace {

/// At the location that names the finish. The record comes first: the body waits for it.
struct finish_object {
  record ended;
  std::uint64_t strands;   // {ended on other ranks than this object's:32, strands:32}
  std::uint64_t failures;  // the last one's location; they form a list
};

location strands_of(std::uint64_t finish) noexcept {
  const location at{finish};
  return {at.rank(), at.offset() + offsetof(finish_object, strands)};
}

constexpr std::uint64_t strands_mask = 0xffffffffu;
constexpr std::uint64_t one_elsewhere = strands_mask + 1;  // what ended there has released what it wrote

constexpr std::uint64_t named_at_most = 3;

}  // namespace

void worker::finish_begin(detail::scope_marker& marker) noexcept {
  auto* fresh = static_cast<finish_object*>(parts_.objects->allocate(sizeof(finish_object)));
  if (fresh == nullptr) base::fatal("the registered heap is full: no room for a finish; raise TOBI_HEAP_SIZE.");
  *fresh = finish_object{};
  fresh->ended.shares = 1;
  fresh->ended.status = record_status::finishing;
  fresh->strands = 1;
  scopes_.open(marker, parts_.net->here(fresh).word);
}

std::uint64_t worker::async_finish() noexcept {
  const std::uint64_t finish = scopes_.now();
  if (finish == 0) {
    base::fatal(
        "tobi::async was called outside of any tobi::finish, and nothing would wait for it; put one around it.");
  }
  if (sched_->moves_at_joins()) return finish;
  parts_.net->fetch_add(strands_of(finish), 1);
  return finish | detail::async_counted;
}

void worker::async_begin(detail::scope_marker& marker, std::uint64_t finish) noexcept {
  scopes_.open(marker, finish & ~detail::async_counted);
}

void worker::async_end(const detail::scope_marker& marker, std::uint64_t finish) noexcept {
  scope_end(marker);
  if ((finish & detail::async_counted) != 0) strand_ended(finish & ~detail::async_counted);
}

// A task that is tied to its worker never finds its parent elsewhere: its deque's base says nothing of its stack.
void worker::scope_end(const detail::scope_marker& marker) noexcept {
  scopes_.close(marker, sched_->moves_tasks() && deque_->at_base(), deque_->task_base());
}

void worker::async_parted(std::uint64_t& handle_record, std::uint64_t finish) noexcept {
  fabric& net = *parts_.net;
  const std::uint64_t child = handle_record;
  handle_record = 0;
  net.fetch_add(strands_of(finish), 1);
  if (net.compare_swap(location{child}, 0, finish | waiter_is_finish) == 0) return;
  // It has ended already, here or elsewhere. Our own strand is still counted, so this does not come to 0.
  net.fetch_add(strands_of(finish), one_elsewhere - 1);
  free_object(location{child});
}

void worker::strand_ended(std::uint64_t finish) noexcept {
  const bool here = parts_.net->is_local(location{finish});
  // SC'23, figure 5: Release #2. The finish's body may be elsewhere; a body that is tied to this worker is not.
  if (fences() && (sched_->moves_tasks() || !here)) parts_.memory->release();
  const std::uint64_t before = parts_.net->fetch_add(strands_of(finish), (here ? 0 : one_elsewhere) - 1);
  if ((before & strands_mask) != 1) return;
  complete(finish, record_status::value, nullptr, 0);
}

void worker::finish_fail(std::uint64_t finish) noexcept {
  const location at{finish & ~detail::async_counted};
  const location word{at.rank(), at.offset() + offsetof(finish_object, failures)};
  const std::uint64_t kept = keep_failure();
  auto* mine = static_cast<failure*>(parts_.net->local(location{kept}));
  std::uint64_t seen = 0;
  for (;;) {
    mine->next = seen;
    const std::uint64_t found = parts_.net->compare_swap(word, seen, kept);
    if (found == seen) return;
    seen = found;
  }
}

void worker::finish_end(detail::scope_marker& marker) {
  const std::uint64_t finish = marker.finish;
  scope_end(marker);
  fabric& net = *parts_.net;
  const location at{finish};
  // At 1 there is no strand but ours, and nobody who could make one: no atomic is needed to find that.
  const auto alone = [&] {
    return net.is_local(at) &&
           std::atomic_ref(static_cast<finish_object*>(net.local(at))->strands).load(std::memory_order_acquire) %
                   one_elsewhere ==
               1;
  };
  if (!alone() && (net.fetch_add(strands_of(finish), ~std::uint64_t{0}) & strands_mask) != 1) {
    record copy;
    wait_for(finish, copy);
  }
  // Perhaps another process by now.
  finish_object ended;
  parts_.net->get(at, &ended, sizeof ended);
  // SC'23, figure 5: Acquire #1. Strands that ended on the finish's rank were this worker's, unless the body has moved.
  if (fences() && ((ended.strands & ~strands_mask) != 0 || !net.is_local(at))) parts_.memory->acquire(0);
  free_object(at);
  if (ended.failures != 0) throw_all(ended.failures);
}

void worker::throw_all(std::uint64_t failures) {
  std::uint64_t count = 0;
  std::string text;
  for (std::uint64_t next = failures; next != 0;) {
    const location where{next};
    failure one;
    parts_.net->get(where, &one, sizeof one);
    free_object(where);
    next = one.next;
    if (++count > named_at_most) continue;
    text += (count == 1 ? "" : "; ") + std::string(one.type_name) + (one.message[0] == '\0' ? "" : ": ") + one.message +
            " (rank " + std::to_string(one.rank) + ")";
  }
  if (count > named_at_most) text += "; and " + std::to_string(count - named_at_most) + " more";
  throw finish_error(count, std::to_string(count) + " of the tasks of a finish failed: " + text);
}

}  // namespace tobi::tasks
