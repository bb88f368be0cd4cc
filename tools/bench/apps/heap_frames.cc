// SPDX-License-Identifier: Apache-2.0
// Fibonacci numbers as X10's work stealing compiles them by default (live-frame stealing, figure 2): before each async
// the state of the call is saved in frames of the heap, one for the function, its finish, the finish's body and the
// async, linked by `up`; what a call computes goes to its caller's frame. The frames come from a free list, which is as
// cheap as an allocator gets. Forks, steals and joins are those of fib.cc, so the difference is what the frames cost.
//
// A frame belongs to its process. A continuation that was taken to another one goes on with what is in its live frame,
// as it would have to anyway, and leaves the frames to the process that made them.
#include <tobi/task.hpp>

#include "tools/bench/apps/variant.hpp"

namespace tobi_bench::TOBI_BENCH_VARIANT {

namespace {

struct frame {
  frame* up;
  std::uint64_t n;
  std::uint64_t first;
  std::uint64_t second;
  std::uint64_t result;
  int pc;
};

int this_process = 0;
frame* unused = nullptr;

[[gnu::noinline]] frame* take(frame* up) {
  frame* f = unused;
  if (f == nullptr) {
    f = new frame;
  } else {
    unused = f->up;
  }
  f->up = up;
  f->pc = 0;
  return f;
}

[[gnu::noinline]] void give(frame* f) {
  f->up = unused;
  unused = f;
}

[[gnu::noinline]] int process_now() { return this_process; }

}  // namespace

void heap_frames_prepare(int process) { this_process = process; }

std::uint64_t fib_in_heap_frames(std::uint64_t n) {
  if (n < 2) return n;
  const int made_by = process_now();
  frame* function = take(nullptr);
  function->n = n;
  frame* finish = take(function);
  frame* body = take(finish);
  function->pc = 1;
  body->pc = 1;
  frame* async = take(body);
  auto x = tobi::spawn([=] {
    // Still the process that made the frames: a child begins where its parent was.
    const std::uint64_t first = fib_in_heap_frames(async->up->up->up->n - 1);
    return first;
  });
  const bool at_home = process_now() == made_by;
  if (at_home) body->pc = 2;
  const std::uint64_t second = fib_in_heap_frames((at_home ? body->up->up->n : n) - 2);
  // The recursion may have moved us, to another process and perhaps back: then the frames are still there.
  if (process_now() == made_by) function->second = second;
  const std::uint64_t first = x.join();
  if (process_now() != made_by) return first + second;
  function->first = first;
  function->second = second;
  function->result = function->first + function->second;
  const std::uint64_t result = function->result;
  give(async);
  give(body);
  give(finish);
  give(function);
  return result;
}

}  // namespace tobi_bench::TOBI_BENCH_VARIANT
