// Records: how a result, or the lack of one, reaches the task that joins.
#include <cxxabi.h>
#include <sched.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>

#include "arch/cpu.hpp"
#include "libcore/base/log.hpp"
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
  fresh->consumers = 1;
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
  const int rank = where.rank();
  while (alloc::free_remote(parts_.net->transport(), rank, parts_.net->heap(rank), where.offset()) == status::again) {
    parts_.net->transport().progress();
  }
}

// The child's side: CLUSTER 2022, figure 4, DIE. One atomic when nobody waits yet.
void worker::complete(std::uint64_t where, record_status status, const void* value, std::uint32_t bytes) noexcept {
  fabric& net = *parts_.net;
  const location at{where};
  record made;
  std::uint64_t elsewhere = 0;
  // SC'23, figure 5: Release #2. Whoever joins may be elsewhere.
  if (fences()) parts_.memory->release();
  made.completed_by = static_cast<std::uint16_t>(net.rank());
  made.status = status;
  made.bytes = bytes;
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

  constexpr std::size_t head = offsetof(record, status);
  std::uint64_t found = 0;
  if (net.is_local(at)) {
    std::memcpy(static_cast<std::byte*>(net.local(at)) + head, &made.status, sizeof made - head);
    found = net.compare_swap(at, 0, record_done);
  } else {
    const op both[] = {
        {op_kind::put, false, net.heap(at.rank()), at.offset() + head, &made.status, sizeof made - head, 0, 0},
        {op_kind::compare_swap, false, net.heap(at.rank()), at.offset(), &found, 8, record_done, 0},
    };
    net.post(at.rank(), both);
    net.complete(at.rank());
  }
  while (found != 0) {
    const std::uint64_t waiters = found;
    found = net.compare_swap(at, waiters, record_done);
    if (found == waiters) {
      wake(waiters);
      return;
    }
  }
}

// The waiters become this worker's: the scheduler takes the last one pushed at once when the completing task has died.
void worker::wake(std::uint64_t waiters) {
  for (std::uint64_t w = waiters; w != 0;) {
    const location where{w & ~location_tags};
    std::uint64_t next = 0;
    if ((w & waiter_has_next) != 0) {
      parts_.net->get({where.rank(), where.offset() + offsetof(image, next)}, &next, sizeof next);
    }
    ready_.push_back(where.word);
    w = next;
  }
}

// Whether the record at WHERE is done; if so COPY is what it says. A remote read may take the bytes of a line in any
// order, so the word is read first, and the rest behind it in the same chain.
bool worker::finished(std::uint64_t where, record& copy) {
  fabric& net = *parts_.net;
  const location at{where};
  if (net.is_local(at)) {
    auto* here = static_cast<record*>(net.local(at));
    if (std::atomic_ref(here->word).load(std::memory_order_acquire) != record_done) return false;
    std::memcpy(&copy, here, sizeof copy);
    return true;
  }
  std::uint64_t word = 0;
  const op both[] = {
      {op_kind::get, false, net.heap(at.rank()), at.offset(), &word, 8, 0, 0},
      {op_kind::get, false, net.heap(at.rank()), at.offset(), &copy, sizeof copy, 0, 0},
  };
  net.post(at.rank(), both);
  net.complete(at.rank());
  return word == record_done;
}

void worker::wait_for(std::uint64_t where, record& copy) {
  keep_moving();
  if (fences()) {
    parts_.memory->nothing_held("join");
    parts_.memory->serve();
  }
  if (finished(where, copy)) {
    acquire_from(copy);
    return;
  }
  waiting_for_ = where;
  left_ = left::suspended;
  tobi_suspend();
  // Perhaps another process by now; `this` is the worker there. `copy` is on the stack and moved along.
  const bool done = finished(where, copy);
  TOBI_ASSERT(done, "a waiter is resumed only when its record is done");
  acquire_from(copy);
}

// SC'23, figure 5: Acquire #1. What a task wrote that ended on this worker is here: it was written through this cache,
// or that task has acquired it by it.
void worker::acquire_from(const record& copy) noexcept {
  if (fences() && copy.completed_by != parts_.net->rank()) parts_.memory->acquire(0);
}

// Gives up this join's share in the record.
void worker::consume(std::uint64_t where, const record& copy) noexcept {
  if (copy.consumers == 0) return;
  if (copy.consumers > 1 &&
      parts_.net->fetch_add({location{where}.rank(), location{where}.offset() + offsetof(record, consumers)},
                            ~std::uint64_t{0}) != 1) {
    return;
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
  if (std::uncaught_exceptions() > 0) {
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

std::uint64_t worker::future_create(std::uint32_t consumers) noexcept {
  const std::uint64_t made = need_record();
  static_cast<record*>(parts_.net->local(location{made}))->consumers = consumers;
  if (consumers == 0) to_free_.push_back(made);
  return made;
}

void worker::future_set(std::uint64_t where, const void* value, std::uint32_t bytes) noexcept {
  complete(where, record_status::value, value, bytes);
}

void worker::future_fail(std::uint64_t where) noexcept {
  const std::uint64_t kept = keep_failure();
  complete(where, record_status::error, &kept, sizeof kept);
}

void worker::future_join(std::uint64_t where, void* value, std::uint32_t bytes) {
  record copy;
  wait_for(where, copy);
  if (copy.status == record_status::error) throw_failure(where, copy);
  take_result(copy, value, bytes);
  consume(where, copy);
}

void worker::end_of_run() noexcept {
  for (const std::uint64_t where : to_free_) drop_record(where);
  to_free_.clear();
}

}  // namespace tobi::tasks
