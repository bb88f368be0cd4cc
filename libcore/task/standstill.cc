// SPDX-License-Identifier: Apache-2.0
#include "libcore/task/standstill.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <string>
#include <utility>

#include "arch/clock.hpp"
#include "libcore/base/log.hpp"
#include "libcore/deque/window.hpp"
#include "libcore/net/batch.hpp"
#include "libcore/task/record.hpp"

namespace tobi::tasks {

namespace {

constexpr std::uint64_t report_ns = 30'000'000'000;  // what a worker has not said by then is left out
constexpr std::size_t kinds_at_most = 4;             // kinds of records in one worker's report

void add(std::uint64_t& word, std::uint64_t n) noexcept {
  // One writer. Release: the words are seen to change in the order in which they do.
  deque::atomic(word).store(word + n, std::memory_order_release);
}

std::string counted(std::uint64_t n, const char* one, const char* many) {
  return std::to_string(n) + " " + (n == 1 ? one : many);
}

}  // namespace

void standstill::start(net::fabric& net, idle_board& board, alloc::remote_objects& objects, const tied_tasks* tied) {
  net_ = &net;
  board_ = &board;
  objects_ = &objects;
  tied_ = tied;
  *board_ = idle_board{};
  board_->state = tied != nullptr ? 1 : 0;
  board_->reported = tied != nullptr ? 0 : 1;
  still_ = false;
}

void standstill::leave() noexcept {
  still_ = false;
  add(board_->state, 1);
}

void standstill::mark(std::uint64_t given) noexcept {
  deque::atomic(board_->given).store(given, std::memory_order_release);
  add(board_->state, 1);
  still_ = true;
}

void standstill::took() noexcept {
  moves();
  add(board_->received, 1);
}

void standstill::passed() noexcept { add(board_->passes, 1); }
void standstill::waits() noexcept { add(board_->suspended, 1); }
void standstill::goes_on() noexcept { add(board_->suspended, ~std::uint64_t{0}); }

idle_board standstill::read(int rank) {
  idle_board seen;
  net_->get({rank, net_->here(board_).offset()}, &seen, sizeof seen);
  return seen;
}

// False: a worker is not still, or what was given is not what was received. Boards are read together, twice as many
// each time: a worker that is not still ends the round, with at most about as many read in vain as were needed, and a
// round of all has few waits.
bool standstill::round(reading& seen) {
  seen = {};
  constexpr int together = 64;
  std::array<idle_board, together> boards;
  net::batch reads(*net_);
  for (int first = 0, count = 1; first < net_->size(); first += count, count = std::min(2 * count, together)) {
    count = std::min(count, net_->size() - first);
    for (int i = 0; i < count; ++i) {
      idle_board& b = boards[static_cast<std::size_t>(i)];
      if (first + i == net_->rank()) {
        b = *board_;
      } else {
        reads.get(first + i, net_->here(board_).offset(), &b, sizeof b);
      }
    }
    reads.post();
    reads.wait();
    for (int i = 0; i < count; ++i) {
      const idle_board& b = boards[static_cast<std::size_t>(i)];
      if (b.state % 2 != 0) return false;
      seen.sum += b.state + b.given + b.received;
      seen.differences += b.given - b.received;
      seen.suspended += b.suspended;
      seen.passes.push_back(b.state == 0 ? ~std::uint64_t{0} : b.passes);
    }
  }
  return (seen.differences & deque::index_mask) == 0;  // what deques count is modulo 2^24
}

void standstill::watch(std::uint64_t now) noexcept {
  if (deque::atomic(board_->report).load(std::memory_order_acquire) != board_->reported) {
    say_what_waits();
    add(board_->reported, 1);
  }
  if (net_->rank() != 0 || now - looked_ < patience_ns) return;
  looked_ = now;
  reading fresh;
  if (!round(fresh)) {
    agreed_ = 0;
    return;
  }
  if (agreed_ == 0 || fresh.sum != seen_.sum) {
    agreed_ = 1;
    seen_ = std::move(fresh);
    return;
  }
  if (agreed_ == 1) {
    agreed_ = 2;
    seen_ = std::move(fresh);
    return;
  }
  for (std::size_t r = 0; r < seen_.passes.size(); ++r) {
    const bool runs_tasks = fresh.passes[r] != ~std::uint64_t{0};
    if (runs_tasks && fresh.passes[r] - seen_.passes[r] < 2) return;
  }
  end(fresh.suspended);
}

// The tasks that were suspended here, by what they wait for. The worker that suspends a task keeps its image, and an
// image that was taken back has been freed: what is left is what waits. Tasks that are tied to this worker the
// scheduler knows.
void standstill::say_what_waits() {
  objects_->collect();
  std::map<std::uint64_t, std::uint64_t> waiting;
  std::uint64_t tasks = 0;
  objects_->for_each([&](const void* object, std::size_t bytes) {
    if (bytes < sizeof(deque::image)) return;
    const auto* head = static_cast<const deque::image*>(object);
    if (head->mark != (deque::image_mark ^ net_->here(object).word) || head->waiting_for == 0) return;
    ++waiting[head->waiting_for];
    ++tasks;
  });
  for (const std::uint64_t where : tied_->tied_tasks_wait_for()) {
    ++waiting[where];
    ++tasks;
  }
  if (tasks == 0) return;
  std::string text = counted(tasks, "task that was suspended here waits", "tasks that were suspended here wait") + ":";
  std::size_t named = 0;
  for (const auto& [where, count] : waiting) {
    if (named == kinds_at_most) {
      text += ", and for " + std::to_string(waiting.size() - named) + " more";
      break;
    }
    record waited_for;
    net_->get(net::location{where}, &waited_for, sizeof waited_for);
    text +=
        (named == 0 ? " " : ", ") + std::to_string(count) + " for " + describe(waited_for, net::location{where}.rank());
    ++named;
  }
  base::log(base::log_level::error, text + ".");
  if (const std::size_t held = tied_->held_by_exceptions(); held != 0) {
    base::log(base::log_level::error,
              counted(held, "parent of a task that waits in a destructor, under an exception, has",
                      "parents of tasks that wait in destructors, under an exception, have") +
                  " to wait with it; where one of them would give the result, join before the exception is thrown, or "
                  "set TOBI_SCHED=child_full.");
  }
}

void standstill::end(std::uint64_t suspended) {
  static std::uint64_t one = 1;
  net::batch asks(*net_);
  for (int r = 1; r < net_->size(); ++r) asks.put(r, net_->here(&board_->report).offset(), &one, sizeof one);
  asks.post();
  asks.wait();
  say_what_waits();
  const std::uint64_t begin = arch::now_ns();
  for (int r = 1; r < net_->size(); ++r) {
    unsigned spins = 0;
    while (read(r).reported == 0 && arch::now_ns() - begin < report_ns) net_->wait(spins);
  }
  base::fatal("the job stands still: " + counted(static_cast<std::uint64_t>(net_->size()), "worker is", "workers are") +
              " idle, nothing can run, and the root has not ended; " +
              counted(suspended, "task waits for a result", "tasks wait for results") +
              " that nobody will give: set each promise, and let no tasks wait for each other in a circle.");
}

}  // namespace tobi::tasks
