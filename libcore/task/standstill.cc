#include "libcore/task/standstill.hpp"

#include <atomic>
#include <map>
#include <string>

#include "arch/clock.hpp"
#include "libcore/base/log.hpp"
#include "libcore/task/record.hpp"
#include "libcore/task/window.hpp"

namespace tobi::tasks {

using transports::op;
using transports::op_kind;

namespace {

constexpr std::uint64_t report_ns = 2'000'000'000;  // what a worker has not said by then is left out
constexpr std::size_t named_at_most = 4;            // kinds of records in one worker's report

std::atomic_ref<std::uint64_t> atomic(std::uint64_t& word) noexcept { return std::atomic_ref<std::uint64_t>(word); }

void add(std::uint64_t& word, std::uint64_t n) noexcept {
  // One writer. Release: the words are seen to change in the order in which they do.
  atomic(word).store(word + n, std::memory_order_release);
}

std::string counted(std::uint64_t n, const char* one, const char* many) {
  return std::to_string(n) + " " + (n == 1 ? one : many);
}

}  // namespace

void standstill::start(fabric& net, idle_board& board, alloc::remote_objects& objects) noexcept {
  net_ = &net;
  board_ = &board;
  objects_ = &objects;
  *board_ = idle_board{};
  board_->state = 1;
  still_ = false;
}

void standstill::leave() noexcept {
  still_ = false;
  add(board_->state, 1);
}

void standstill::enter(std::uint64_t given) noexcept {
  atomic(board_->given).store(given, std::memory_order_release);
  add(board_->state, 1);
  still_ = true;
}

void standstill::took() noexcept {
  moves();
  add(board_->received, 1);
}

void standstill::waits() noexcept { add(board_->suspended, 1); }
void standstill::goes_on() noexcept { add(board_->suspended, ~std::uint64_t{0}); }

idle_board standstill::read(int rank) {
  idle_board seen;
  net_->get({rank, net_->here(board_).offset()}, &seen, sizeof seen);
  return seen;
}

// One round over all workers. False: one of them is not still. SUM is of all that must be the same in two rounds; each
// part of it only grows, so equal sums are equal parts.
bool standstill::round(std::uint64_t& sum, std::uint64_t& differences, std::uint64_t& suspended) {
  sum = 0;
  differences = 0;
  suspended = 0;
  for (int r = 0; r < net_->size(); ++r) {
    const idle_board b = read(r);
    if (b.state % 2 != 0) return false;
    sum += b.state + b.given + b.received;
    differences += b.given - b.received;
    suspended += b.suspended;
  }
  return true;
}

void standstill::watch(std::uint64_t now) noexcept {
  if (atomic(board_->report).load(std::memory_order_acquire) != board_->reported) {
    say_what_waits();
    add(board_->reported, 1);
  }
  if (net_->rank() != 0 || now - looked_ < patience_ns) return;
  looked_ = now;
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  std::uint64_t differences = 0;
  std::uint64_t suspended = 0;
  if (!round(first, differences, suspended) || !round(second, differences, suspended)) return;
  // What deques count is modulo 2^24.
  if (first != second || (differences & index_mask) != 0) return;
  end(suspended);
}

// The tasks that were suspended here, by what they wait for. Whoever suspends a task keeps its image, and an image that
// was taken back has been freed: what is left is what waits.
void standstill::say_what_waits() {
  objects_->collect();
  std::map<std::uint64_t, std::uint64_t> waiting;
  std::uint64_t tasks = 0;
  objects_->for_each([&](const void* object, std::size_t bytes) {
    if (bytes < sizeof(image)) return;
    const auto* head = static_cast<const image*>(object);
    if (head->mark != (image_mark ^ net_->here(object).word) || head->waiting_for == 0) return;
    ++waiting[head->waiting_for];
    ++tasks;
  });
  if (tasks == 0) return;
  std::string text = counted(tasks, "task that was suspended here waits", "tasks that were suspended here wait") + ":";
  std::size_t named = 0;
  for (const auto& [where, count] : waiting) {
    if (named == named_at_most) {
      text += ", and for " + std::to_string(waiting.size() - named) + " more";
      break;
    }
    record waited_for;
    net_->get(location{where}, &waited_for, sizeof waited_for);
    text += (named == 0 ? " " : ", ") + std::to_string(count) + " for " + describe(waited_for, location{where}.rank());
    ++named;
  }
  base::log(base::log_level::error, text + ".");
}

void standstill::end(std::uint64_t suspended) {
  static std::uint64_t one = 1;
  for (int r = 1; r < net_->size(); ++r) {
    const op ask{op_kind::put, false, net_->heap(r), net_->here(&board_->report).offset(), &one, 8, 0, 0};
    net_->post(r, {&ask, 1});
    net_->complete(r);
  }
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
