// SPDX-License-Identifier: Apache-2.0
#include "libcore/task/futures.hpp"

#include <cxxabi.h>

#include <cstring>
#include <string>

#include "libcore/base/log.hpp"

namespace tobi::tasks {

using detail::future_name;

namespace {

// A ticket is {serial:32, any number of consumers:1}.
constexpr std::uint64_t any_number_ticket = std::uint64_t{1} << 32;
std::uint32_t serial_of(future_name which) noexcept { return static_cast<std::uint32_t>(which.ticket); }

std::string name_of(future_name which) {
  return "the future #" + std::to_string(serial_of(which)) + " of rank " +
         std::to_string(net::location{which.record}.rank());
}

void must_be_made(future_name which, const char* what) {
  if (which.record == 0) {
    base::fatal(std::string("a future that was never made was ") + what +
                ": take it from spawn_future or make_promise; a default-constructed one names none.");
  }
}

[[noreturn]] void joined_too_often(future_name which) {
  base::fatal(name_of(which) +
              " is joined more often than its maker said: give the right number of consumers, or tobi::any_number; a "
              "consumer joins once.");
}

}  // namespace

void set_twice(std::uint32_t serial, int rank) {
  base::fatal("the future #" + std::to_string(serial) + " of rank " + std::to_string(rank) +
              " was set twice: a promise is set once, by one task.");
}

std::string describe(const record& what, int rank) {
  const std::string number = "#" + std::to_string(what.serial) + " of rank " + std::to_string(rank);
  switch (what.status) {
    case record_status::promised:
      return "the promise " + number + ", which nobody has set";
    case record_status::spawned:
      return "the future " + number + ", whose task has not ended";
    case record_status::finishing:
      return "the tasks of a finish that rank " + std::to_string(rank) + " began";
    case record_status::child:
    case record_status::sent:
    case record_status::value:
    case record_status::remote_value:
    case record_status::error:
      break;
  }
  return "a child whose parent was taken from rank " + std::to_string(rank);
}

future_name futures::create(std::uint32_t consumers, bool promise) noexcept {
  if (net_ == nullptr || !promise) thread_.must_run_tasks_here(promise ? "tobi::make_promise" : "tobi::spawn_future");
  if (promise && sched_->buries_tasks()) {
    base::fatal("tobi::make_promise cannot be used with TOBI_SCHED=" + std::string(sched_->name()) +
                    ": the task that sets a promise may lie below the one that waits for it on the same stack, and "
                    "neither could go on; choose another scheduler.",
                base::exit_usage);
  }
  const std::uint64_t made = records_.need();
  auto* fresh = static_cast<record*>(net_->local(net::location{made}));
  if (++last_serial_ == 0) ++last_serial_;
  fresh->shares = std::uint64_t{consumers} * one_claim + consumers;
  fresh->status = promise ? record_status::promised : record_status::spawned;
  fresh->serial = last_serial_;
  if (consumers == 0) to_free_.push_back(made);
  return {made, fresh->serial | (consumers == 0 ? any_number_ticket : 0)};
}

// What can be known before anything is written: the value of the first set must not be touched by a second. One get, in
// which the words may come in any order: a set that is right finds its own number, and no done bit, at every moment.
// The number is there from the record's making on, and its completion writes the same one.
void futures::must_be_unset(future_name which) {
  record seen;
  net_->get(net::location{which.record}, &seen, sizeof seen);
  if (is_done(seen.word) || seen.serial != serial_of(which)) {
    base::fatal(name_of(which) + " is set twice: a promise is set once, by one task.");
  }
}

void futures::set(future_name which, const void* value, std::uint32_t bytes, bool checked) noexcept {
  if (checked) {
    must_be_made(which, "set");
    must_be_unset(which);
  }
  joins_.complete(which.record, record_status::value, value, bytes, serial_of(which));
  show_awakened(checked);
}

void futures::fail(future_name which, bool checked) noexcept {
  if (checked) {
    must_be_made(which, "set");
    if (abi::__cxa_current_exception_type() == nullptr) {
      base::fatal("tobi::promise::fail was called outside of a catch clause, where there is no exception to keep.");
    }
    must_be_unset(which);
  }
  const std::uint64_t kept = failures_.keep();
  joins_.complete(which.record, record_status::error, &kept, sizeof kept, serial_of(which));
  show_awakened(checked);
}

// The task that sets goes on: to switch to a waiter would be to evacuate it and all of its parents. An idle worker
// takes the waiters; so does this one as soon as it has nothing else. It has nothing else at once when a future's own
// task has ended whose parent is elsewhere: to show the waiters and to take one back would be for nothing.
void futures::show_awakened(bool goes_on) noexcept {
  if (goes_on || !deque_->at_base()) sched_->show_awakened();
}

void futures::join(future_name which, void* value, std::uint32_t bytes) {
  must_be_made(which, "joined");
  joins_.come_to("a future's join");
  record copy;
  bool done = false;
  if ((which.ticket & any_number_ticket) != 0) {
    done = records_.finished(which.record, copy);
    if (done && copy.serial != serial_of(which)) joined_too_often(which);
  } else {
    std::uint64_t shares = 0;
    done = records_.look(which.record, shares, copy);
    if (shares < one_claim || copy.serial != serial_of(which)) joined_too_often(which);
  }
  if (!done) {
    sched_->wait(which.record, copy);
    // The look may have been at what the record held before the claim.
    if (copy.serial != serial_of(which)) joined_too_often(which);
  }
  joins_.goes_on_behind(copy);
  if (copy.status == record_status::error) records_.throw_failure(which.record, copy);
  records_.take_result(copy, value, bytes);
  records_.consume(which.record, copy);
}

void futures::end_of_run() noexcept {
  for (const std::uint64_t where : to_free_) records_.drop(where);
  to_free_.clear();
}

}  // namespace tobi::tasks
