// SPDX-License-Identifier: Apache-2.0
#include "libcore/task/records.hpp"

#include <atomic>
#include <cstring>

#include "libcore/base/log.hpp"

namespace tobi::tasks {

using transports::op;

std::uint64_t records::made_in(void* room) noexcept {
  auto* fresh = static_cast<record*>(room);
  make_unwritten(*fresh, record_status::child);
  return net_->here(fresh).word;
}

void records::child_is_sent(net::location where) noexcept {
  static_cast<record*>(net_->local(where))->status = record_status::sent;
}

// Relaxed: it may be done at this moment. Then it says what it has, and the one that waits looks at the word anyway.
bool records::waits_for_sent(net::location where) const noexcept {
  if (!net_->is_local(where)) return false;
  record_status& says = static_cast<record*>(net_->local(where))->status;
  return std::atomic_ref(says).load(std::memory_order_relaxed) == record_status::sent;
}

record records::compose(record_status status, const void* value, std::uint32_t bytes, std::uint32_t serial) {
  record made{};
  made.status = status;
  made.set_by(net_->rank());
  made.serial = serial;
  if (bytes > sizeof made.value) {
    void* big = objects_.need(bytes, "for a result", bytes);
    std::memcpy(big, value, bytes);
    made.status = record_status::remote_value;
    made.set_elsewhere(net_->here(big));
  } else if (bytes != 0) {
    std::memcpy(made.value, value, bytes);
  }
  return made;
}

// CLUSTER 2022, figure 3, lines 5 and 6.
void records::put_done(net::location where, record& made) noexcept {
  seal(made);
  if (net_->is_local(where)) {
    auto* here = static_cast<record*>(net_->local(where));
    fill_record(*here, made);
    // Release: the value before the word that says that it is there.
    std::atomic_ref(here->word).store(record_done, std::memory_order_release);
    return;
  }
  const transports::region_id heap = net_->heap(where.rank());
  const op both[] = {
      op::put(heap, where.offset() + record_head, &made.status, sizeof made - record_head),
      op::put(heap, where.offset(), &record_done, 8),
  };
  net_->post(where.rank(), both);
  net_->complete(where.rank());
}

// CLUSTER 2022, figure 4, DIE, lines 27 to 40: one atomic, whether or not somebody waits.
std::uint64_t records::add_done(net::location where, record& made) noexcept {
  seal(made);
  if (net_->is_local(where)) {
    fill_record(*static_cast<record*>(net_->local(where)), made);
    return net_->fetch_add(where, record_done);
  }
  std::uint64_t found = 0;
  const transports::region_id heap = net_->heap(where.rank());
  const op both[] = {
      op::put(heap, where.offset() + record_head, &made.status, sizeof made - record_head),
      op::add(heap, where.offset(), record_done, &found),
  };
  net_->post(where.rank(), both);
  net_->complete(where.rank());
  return found;
}

// The two are under way together, in whatever order they are executed: a record that is not done has nothing in it to
// be read but its serial number, which was there before the claim, and is looked at again after the wait.
bool records::look(std::uint64_t where, std::uint64_t& shares, record& copy) {
  const net::location at{where};
  const net::location shares_at{at.rank(), at.offset() + offsetof(record, shares)};
  if (net_->is_local(at)) {
    shares = net_->fetch_add(shares_at, ~one_claim + 1);
    const bool done = finished(where, copy);
    if (!done) std::memcpy(&copy, net_->local(at), sizeof copy);
    return done;
  }
  const transports::region_id heap = net_->heap(at.rank());
  const op both[] = {
      op::add(heap, shares_at.offset(), ~one_claim + 1, &shares),
      op::get(heap, at.offset(), &copy, sizeof copy),
  };
  net_->post_apart(at.rank(), both);
  net_->complete(at.rank());
  if (!is_done(copy.word)) return false;
  read_what_is_left(*net_, at, copy);
  return true;
}

// Nothing of it changes any more but the count of readings that are to come, which only falls, and a worker that knows
// that it is done has learned it after the completion. So the words of one get may come in any order.
void records::read_done(std::uint64_t where, record& copy) {
  net_->get(net::location{where}, &copy, sizeof copy);
  TOBI_ASSERT(is_done(copy.word) && is_written(copy), "a waiter is resumed only when its record is done");
}

void records::take_result(const record& copy, void* result, std::uint32_t bytes) {
  if (bytes == 0) return;
  if (copy.status == record_status::remote_value) {
    net_->get(copy.elsewhere(), result, bytes);
  } else {
    std::memcpy(result, copy.value, bytes);
  }
}

void records::consume(std::uint64_t where, const record& copy) noexcept {
  if (copy.readings() == 0) return;
  if (copy.readings() > 1) {
    const net::location shares{net::location{where}.rank(), net::location{where}.offset() + offsetof(record, shares)};
    if ((net_->fetch_add(shares, ~std::uint64_t{0}) & 0xffffffffu) != 1) return;
  }
  if (copy.status != record_status::value) objects_.free(copy.elsewhere());
  objects_.free(net::location{where});
}

void records::throw_failure(std::uint64_t where, const record& copy) {
  const failure what = failures_.read(copy.elsewhere());
  consume(where, copy);
  throw_task_error(what);
}

}  // namespace tobi::tasks
