// Records: how a result, or the lack of one, reaches the task that joins.
#include <cxxabi.h>
#include <sched.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iterator>
#include <memory>

#include "arch/clock.hpp"
#include "libcore/base/door.hpp"
#include "libcore/base/log.hpp"
#include "libcore/task/trace.hpp"
#include "libcore/task/worker.hpp"
#include "tobi/detail/fork.hpp"
#include "tobi/error.hpp"

namespace tobi::tasks {

using transports::op;
using transports::op_kind;

std::uint64_t worker::make_record() noexcept {
  auto* fresh = static_cast<record*>(parts_.objects->allocate(sizeof(record)));
  if (fresh == nullptr) return 0;
  fresh->word = 0;
  fresh->shares = 1;
  fresh->status = record_status::value;
  fresh->serial = 0;
  return parts_.net->here(fresh).word;
}

std::uint64_t worker::need_record() {
  const std::uint64_t made = make_record();
  if (made == 0) base::fatal("the registered heap is full: no room for a join record; raise TOBI_HEAP_SIZE.");
  return made;
}

void worker::drop_record(std::uint64_t record) noexcept {
  parts_.objects->free_local(parts_.net->local(location{record}));
}

void worker::free_object(location where) noexcept {
  if (parts_.net->is_local(where)) {
    parts_.objects->free_local(parts_.net->local(where));
    return;
  }
  if (parts_.incoming != nullptr) {
    parts_.incoming->free(where);
    return;
  }
  const int rank = where.rank();
  while (alloc::free_remote(parts_.net->transport(), rank, parts_.net->heap(rank), where.offset()) == status::again) {
    parts_.net->transport().progress();
  }
}

// The child's side: DIE of CLUSTER 2022, figures 3 and 4. What the record says then; the scheduler says how it gets
// there.
void worker::complete(std::uint64_t where, record_status status, const void* value, std::uint32_t bytes,
                      std::uint32_t serial) noexcept {
  fabric& net = *parts_.net;
  const location at{where};
  record made;
  std::uint64_t elsewhere = 0;
  // SC'23, figure 5: Release #2. Whoever joins may be elsewhere; a task that is tied to this worker is not.
  const bool joined_here = !sched_->moves_tasks() && serial == 0 && net.is_local(at);
  if (fences() && !joined_here) parts_.memory->release();
  made.status = status;
  made.by = static_cast<std::uint16_t>(net.rank());
  made.serial = serial;
  made.done_ns = 0;
  if (bytes > sizeof made.value) {
    void* big = parts_.objects->allocate(bytes);
    if (big == nullptr) {
      base::fatal("the registered heap is full: no room for a result of " + std::to_string(bytes) +
                  " bytes; raise TOBI_HEAP_SIZE.");
    }
    std::memcpy(big, value, bytes);
    elsewhere = net.here(big).word;
    made.status = record_status::remote_value;
    std::memcpy(made.value, &elsewhere, sizeof elsewhere);
  } else if (bytes != 0) {
    std::memcpy(made.value, value, bytes);
  }

  sched_->conclude(at, made);
}

// The whole of it where nobody waits in the record: CLUSTER 2022, figure 3, lines 5 and 6.
void worker::put_done(location at, record& made) noexcept {
  fabric& net = *parts_.net;
  if (net.is_local(at)) {
    auto* here = static_cast<record*>(net.local(at));
    fill_record(*here, made);
    // Release: the value before the word that says that it is there.
    std::atomic_ref(here->word).store(record_done, std::memory_order_release);
    return;
  }
  const op both[] = {
      {op_kind::put, false, net.heap(at.rank()), at.offset() + record_head, &made.status, sizeof made - record_head, 0,
       0},
      {op_kind::put, false, net.heap(at.rank()), at.offset(), const_cast<std::uint64_t*>(&record_done), 8, 0, 0},
  };
  net.post(at.rank(), both);
  net.complete(at.rank());
}

// What a completed record has found waiting in it is this worker's.
void worker::wake(location record, std::uint64_t waiters) {
  if ((waiters & waiter_is_finish) != 0) {
    free_object(record);
    strand_ended(waiters & ~location_tags);
    return;
  }
  // When the completing task has died the scheduler lets the first one go on at once and shows the others to thieves; a
  // task that goes on itself shows them all (future_set).
  if (tracing != nullptr) trace_ready(waiters);
  ready_.push(waiters);
}

// For the tracer alone: each task of the list can go on now.
void worker::trace_ready(std::uint64_t waiters) {
  std::vector<std::uint64_t> lists{waiters};
  while (!lists.empty()) {
    const std::uint64_t list = lists.back();
    const location where{list & ~location_tags};
    lists.pop_back();
    tracing->ready(where.word);
    waiter_links before{};
    parts_.net->get({where.rank(), where.offset() + offsetof(image, before)}, &before, sizeof before);
    for (const std::uint64_t rest : before.rest(list)) {
      if (rest != 0) lists.push_back(rest);
    }
  }
}

// A claim, and the same as finished() behind it: SHARES is what they were before. Without chains the record is read
// beside the claim, and again behind it where it is done: a record that is not done has nothing in it to be read but
// its serial number, which is looked at again after the wait.
bool worker::look(std::uint64_t where, std::uint64_t& shares, record& copy) {
  fabric& net = *parts_.net;
  const location at{where};
  const location shares_at{at.rank(), at.offset() + offsetof(record, shares)};
  if (net.is_local(at)) {
    shares = net.fetch_add(shares_at, ~one_claim + 1);
    const bool done = finished(where, copy);
    if (!done) std::memcpy(&copy, net.local(at), sizeof copy);
    return done;
  }
  std::uint64_t word = 0;
  const transports::region_id heap = net.heap(at.rank());
  const op all[] = {
      {op_kind::fetch_add, false, heap, shares_at.offset(), &shares, 8, ~one_claim + 1, 0},
      {op_kind::get, false, heap, at.offset(), &word, 8, 0, 0},
      {op_kind::get, false, heap, at.offset(), &copy, sizeof copy, 0, 0},
  };
  if (net.chains(std::size(all))) {
    net.post(at.rank(), all);
    net.complete(at.rank());
    return is_done(word);
  }
  const op beside[] = {all[0], all[2]};
  net.post_apart(at.rank(), beside);
  net.complete(at.rank());
  if (!is_done(copy.word)) return false;
  net.get(at, &copy, sizeof copy);
  return true;
}

// Whether the record at WHERE is done; if so COPY is what it says. A remote read may take the bytes of a line in any
// order, so the word is read first, and the rest behind it: in the same chain, or, without chains, by a second reading
// once a first one has found the record done. Only what is done costs a second round trip then.
bool worker::finished(std::uint64_t where, record& copy) {
  fabric& net = *parts_.net;
  const location at{where};
  if (net.is_local(at)) {
    auto* here = static_cast<record*>(net.local(at));
    if (!is_done(std::atomic_ref(here->word).load(std::memory_order_acquire))) return false;
    std::memcpy(&copy, here, sizeof copy);
    return true;
  }
  std::uint64_t word = 0;
  const op both[] = {
      {op_kind::get, false, net.heap(at.rank()), at.offset(), &word, 8, 0, 0},
      {op_kind::get, false, net.heap(at.rank()), at.offset(), &copy, sizeof copy, 0, 0},
  };
  if (!net.chains(std::size(both))) {
    net.get(at, &copy, sizeof copy);
    if (!is_done(copy.word)) return false;
    net.get(at, &copy, sizeof copy);
    return true;
  }
  net.post(at.rank(), both);
  net.complete(at.rank());
  return is_done(word);
}

// Of a record that is known to be done: nothing of it changes any more but the count of readings that are to come,
// which only falls. So the words of one get may come in any order.
void worker::read_done(std::uint64_t where, record& copy) {
  parts_.net->get(location{where}, &copy, sizeof copy);
  TOBI_ASSERT(is_done(copy.word), "a waiter is resumed only when its record is done");
}

void worker::wait_for(std::uint64_t where, record& copy) {
  keep_moving();
  before_a_wait();
  if (!finished(where, copy)) sched_->wait(where, copy);
  // Perhaps another process by now; `this` is the worker there. `copy` is on the stack and moved along.
  acquire_from(copy);
}

void worker::before_a_wait() noexcept {
  if (!fences()) return;
  parts_.memory->nothing_held("join");
  parts_.memory->serve();
}

// SC'23, figure 5: Acquire #1. What a task wrote that ended on this worker is here: it was written through this cache,
// or that task has acquired it by it.
void worker::acquire_from(const record& copy) noexcept {
  if (fences() && copy.by != parts_.net->rank()) parts_.memory->acquire(0);
}

void worker::suspend_for(std::uint64_t where, record& copy) {
  waiting_for_ = where;
  left_ = left::suspended;
  tobi_suspend();
  base::the_door.step_in();
  // Perhaps another process by now; `this` is the worker there. `copy` is on the stack and moved along.
  read_done(where, copy);
  // Where it was completed on a host with another clock the time is not known, and counts as none.
  if (std::exchange(had_to_wait_, false) && one_clock_with(copy.by)) count_resumed(copy.done_ns);
}

// Gives up this join's share in the record.
void worker::consume(std::uint64_t where, const record& copy) noexcept {
  if (copy.readings() == 0) return;
  if (copy.readings() > 1) {
    const location shares{location{where}.rank(), location{where}.offset() + offsetof(record, shares)};
    if ((parts_.net->fetch_add(shares, ~std::uint64_t{0}) & 0xffffffffu) != 1) return;
  }
  if (copy.status != record_status::value) {  // a large result or a failure, in an object of its own
    std::uint64_t elsewhere = 0;
    std::memcpy(&elsewhere, copy.value, sizeof elsewhere);
    free_object(location{elsewhere});
  }
  free_object(location{where});
}

void worker::take_result(const record& copy, void* result, std::uint32_t bytes) {
  if (bytes == 0) return;
  if (copy.status == record_status::remote_value) {
    std::uint64_t elsewhere = 0;
    std::memcpy(&elsewhere, copy.value, sizeof elsewhere);
    parts_.net->get(location{elsewhere}, result, bytes);
  } else {
    std::memcpy(result, copy.value, bytes);
  }
}

[[noreturn]] static void raise(const failure& what) { throw task_error(what.type_name, what.message, what.rank); }

// The record's exception, for a join that gives up its share in the record with it.
void worker::throw_failure(std::uint64_t where, const record& copy) {
  std::uint64_t kept = 0;
  std::memcpy(&kept, copy.value, sizeof kept);
  failure what;
  parts_.net->get(location{kept}, &what, sizeof what);
  consume(where, copy);
  raise(what);
}

void worker::join(std::uint64_t& handle_record, void* result, std::uint32_t bytes) {
  const std::uint64_t where = handle_record;
  if ((where & failure_tag) != 0) {
    handle_record = 0;
    const location kept{where & ~location_tags};
    failure what;
    parts_.net->get(kept, &what, sizeof what);
    free_object(kept);
    raise(what);
  }
  record copy;
  wait_for(where, copy);
  handle_record = 0;
  if (copy.status == record_status::error) throw_failure(where, copy);
  take_result(copy, result, bytes);
  consume(where, copy);
}

void worker::abandon(std::uint64_t& handle_record) noexcept {
  const std::uint64_t where = handle_record;
  handle_record = 0;
  if ((where & failure_tag) != 0) {
    free_object(location{where & ~location_tags});
    return;
  }
  record copy;
  if (sched_->moves_at_joins() && std::uncaught_exceptions() > 0) {
    // An exception under way belongs to this process and cannot move: wait here, and keep serving.
    while (!finished(where, copy)) {
      poll();
      sched_yield();
    }
    acquire_from(copy);
  } else {
    wait_for(where, copy);
  }
  consume(where, copy);
}

std::uint64_t worker::keep_failure() noexcept {
  auto* kept = static_cast<failure*>(parts_.objects->allocate(sizeof(failure)));
  if (kept == nullptr) base::fatal("the registered heap is full: no room for an exception; raise TOBI_HEAP_SIZE.");
  *kept = failure{};
  kept->rank = parts_.net->rank();
  if (const std::type_info* type = abi::__cxa_current_exception_type()) {
    int ok = 0;
    const std::unique_ptr<char, void (*)(void*)> readable(abi::__cxa_demangle(type->name(), nullptr, nullptr, &ok),
                                                          std::free);
    std::strncpy(kept->type_name, ok == 0 ? readable.get() : type->name(), sizeof kept->type_name - 1);
  }
  try {
    throw;
  } catch (const task_error& e) {
    // A failure that passes through several joins keeps its first name.
    std::strncpy(kept->type_name, e.type_name().c_str(), sizeof kept->type_name - 1);
    std::strncpy(kept->message, e.message().c_str(), sizeof kept->message - 1);
    kept->rank = e.rank();
  } catch (const std::exception& e) {
    std::strncpy(kept->message, e.what(), sizeof kept->message - 1);
  } catch (...) {
  }
  return parts_.net->here(kept).word;
}

}  // namespace tobi::tasks
