// SPDX-License-Identifier: Apache-2.0
// The context switch alone, without a runtime: built for this machine and for AArch64, where it runs under qemu-user.
// The two hooks that the assembly calls are played by this program.
#include "arch/context.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "arch/cpu.hpp"
#include "tobi/detail/fork.hpp"
#include "tobi/future.hpp"

tobi::arch::hot_state tobi_hot;

namespace {

using tobi::detail::closure_words;
using tobi::detail::handle;
using tobi::detail::registers2;
using tobi::detail::task_type;

int failures = 0;
void check(bool right, const char* rule) {
  std::printf("%s - %s\n", right ? "ok" : "not ok", rule);
  if (!right) ++failures;
}

std::uint64_t bell = 0;
std::uintptr_t slot_array[64];
std::vector<std::uintptr_t> forks_seen;
std::vector<std::uintptr_t> returns_seen;
bool leave_on_return = false;

void reset() {
  tobi_hot.bottom = slot_array;
  tobi_hot.split_sp = ~std::uintptr_t{0};
  tobi_hot.doorbell = &bell;
  bell = 0;
  forks_seen.clear();
  returns_seen.clear();
}

registers2 sum_words(std::uint64_t w0, handle*, const task_type*, std::uint64_t w1, std::uint64_t w2,
                     std::uint64_t w3) {
  // Whatever a callee may change, it changes.
  volatile double d = 1.5;
  for (int i = 0; i < 20; ++i) d = d * 1.01;
  return {w0 + 10 * w1 + 100 * w2 + 1000 * w3, 77};
}
constexpr task_type sum_type{&sum_words, 0, 16, 32};

// Child stealing has the fork call something else in the child's place.
bool exchange_type = false;
registers2 nothing(std::uint64_t, handle*, const task_type*, std::uint64_t, std::uint64_t, std::uint64_t) {
  return {5, 6};
}
constexpr task_type nothing_type{&nothing, 0, 0, 0};

// Many values live across the fork, so that every callee-saved register, and the stack, has something to lose.
bool values_survive(std::uint64_t seed) {
  volatile std::uint64_t opaque = seed;
  const std::uint64_t a = opaque + 1, b = opaque * 3, c = opaque ^ 5, d = opaque << 7, e = opaque - 9, f = opaque * 11;
  const double x = static_cast<double>(opaque) * 0.5, y = x + 1.25;
  handle h{0};
  const registers2 r = tobi::detail::fork<4>({1, 2, 3, 4}, &h, &sum_type);
  return r.a == 4321 && r.b == 77 && a == opaque + 1 && b == opaque * 3 && c == (opaque ^ 5) && d == opaque << 7 &&
         e == opaque - 9 && f == opaque * 11 && x == static_cast<double>(opaque) * 0.5 && y == x + 1.25 &&
         h.record == 0;
}

alignas(64) unsigned char region[256 * 1024];
std::uintptr_t top() { return reinterpret_cast<std::uintptr_t>(region) + sizeof region; }

int steps = 0;
void root_that_suspends(void* argument) {
  volatile std::uint64_t local = *static_cast<std::uint64_t*>(argument);
  steps = 1;
  tobi_suspend();
  steps = local == 99 ? 2 : -1;
  tobi_suspend();
  steps = local == 99 ? 3 : -1;
  tobi_leave();
}

void root_that_forks(void*) {
  handle h{0};
  tobi::detail::fork<4>({1, 0, 0, 0}, &h, &sum_type);
  // Reached only by whoever resumes the saved frame.
  steps = h.record == 1234 ? 11 : -11;
  tobi_leave();
}

void test_suspend() {
  reset();
  std::uint64_t argument = 99;
  tobi_enter_root(top() - 64, root_that_suspends, &argument);
  check(steps == 1, "a root runs until it suspends");
  const std::uintptr_t sp = tobi_hot.suspended_sp;
  // Away and back: the frames are all there is.
  std::vector<unsigned char> saved(top() - sp);
  std::memcpy(saved.data(), reinterpret_cast<void*>(sp), saved.size());
  std::memset(region, 0xdb, sizeof region);
  std::memcpy(reinterpret_cast<void*>(sp), saved.data(), saved.size());
  tobi_enter(sp);
  check(steps == 2, "a suspended task goes on where its frames were copied away and back");
  tobi_enter(tobi_hot.suspended_sp);
  check(steps == 3, "and again, until it leaves");
}

void test_steal() {
  reset();
  steps = 0;
  tobi_hot.split_sp = 0;  // every return is slow
  leave_on_return = true;
  tobi_enter_root(top() - 64, root_that_forks, nullptr);
  leave_on_return = false;
  check(returns_seen.size() == 1 && steps == 0, "a child whose parent was taken leaves");
  const std::uintptr_t sp = slot_array[0];
  check(returns_seen[0] == sp && sp % 16 == 0, "the saved stack pointer is the deque's entry, and aligned");
  auto* frame = reinterpret_cast<tobi::arch::saved_frame*>(sp);
  static_cast<handle*>(frame->handle)->record = 1234;
  tobi_enter(sp);
  check(steps == 11, "the parent goes on from its frame alone");
}

void test_enter_child() {
  reset();
  tobi_hot.split_sp = 0;
  leave_on_return = true;
  const closure_words words{5, 6, 7, 8};
  tobi_enter_child(top() - 64, words, &sum_type);
  leave_on_return = false;
  check(returns_seen.size() == 1 && returns_seen[0] == top() - 64,
        "a child without a parent returns into the slow path");
}

}  // namespace

extern "C" {
void tobi_on_fork(std::uintptr_t sp, std::uint64_t* words) noexcept {
  forks_seen.push_back(sp);
  check(words[0] == 1 && words[3] == 4, "the slow fork sees the closure's words");
  check(words[4] == reinterpret_cast<std::uint64_t>(&sum_type), "and the type behind them");
  if (exchange_type) words[4] = reinterpret_cast<std::uint64_t>(&nothing_type);
}
void tobi_on_return(std::uintptr_t sp, std::uint64_t a, std::uint64_t b) noexcept {
  returns_seen.push_back(sp);
  check(b == 77 && a != 0, "the slow return sees the result");
  if (leave_on_return) tobi_leave();
  tobi_hot.bottom = slot_array;
}
}

namespace tobi::detail {
// Named by fork(), never called.
extern "C" void tobi_abandon(handle*) noexcept { std::abort(); }
}  // namespace tobi::detail

int main() {
  reset();
  check(values_survive(12345) && tobi_hot.bottom == slot_array,
        "a fork returns the child's result and keeps what is alive");
  bell = 1;
  check(values_survive(54321) && forks_seen.size() == 1, "a fork with the bell rung is seen, and goes on");
  exchange_type = true;
  handle h{0};
  const registers2 r = tobi::detail::fork<4>({1, 2, 3, 4}, &h, &sum_type);
  check(r.a == 5 && r.b == 6 && tobi_hot.bottom == slot_array,
        "a fork calls the function that the slow path has put there");
  exchange_type = false;
  reset();
  tobi_hot.split_sp = 0;
  check(values_survive(777) && returns_seen.size() == 1, "a return to a frame that is taken back goes on");
  test_suspend();
  test_steal();
  test_enter_child();
  for (int i = 0; i < 10; ++i) tobi::arch::pause();
  return failures == 0 ? 0 : 1;
}
