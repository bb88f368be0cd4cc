// SPDX-License-Identifier: Apache-2.0
// A serial program recurses as deep as its tree, and the stack that a process starts with is too small for the deep
// ones (T3L has 17,844 levels). The elision therefore runs on a thread with a stack of its own, as tasks do.
#pragma once

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>

namespace tobi_bench {

namespace detail {

inline constexpr std::size_t deep_stack_bytes = std::size_t{1} << 30;  // address space; memory comes as it is used
inline constexpr std::size_t deep_stack_guard_bytes = std::size_t{1} << 20;
inline std::byte* deep_stack_low = nullptr;
inline struct sigaction before_deep_stack;

// An overflow is one sentence. Any other fault is left to the handler that was there before, or happens again without a
// handler.
inline void deep_stack_fault(int signal, siginfo_t* info, void* context) {
  const auto* at = static_cast<const std::byte*>(info->si_addr);
  const bool overflow = at >= deep_stack_low && at < deep_stack_low + deep_stack_guard_bytes;
  if (overflow) {
    constexpr char text[] = "tobi-bench: this tree is too deep for the serial program, whose stack has 1 GiB.\n";
    const ssize_t ignored = write(STDERR_FILENO, text, sizeof text - 1);
    (void)ignored;
  }
  if ((before_deep_stack.sa_flags & SA_SIGINFO) != 0) {
    before_deep_stack.sa_sigaction(signal, info, context);
  } else if (overflow) {
    _exit(1);
  } else {
    sigaction(SIGSEGV, &before_deep_stack, nullptr);
  }
}

inline void deep_stack_must(bool worked, const char* what) {
  if (worked) return;
  std::fprintf(stderr, "tobi-bench: cannot have the serial program's stack of 1 GiB (%s failed); raise ulimit -v.\n",
               what);
  std::exit(1);
}

}  // namespace detail

/// Runs BODY on a thread with a stack of 1 GiB and waits for it. Not from two threads at a time.
template <class Body>
void on_deep_stack(Body body) {
  using namespace detail;
  void* stack = mmap(nullptr, deep_stack_bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  deep_stack_must(stack != MAP_FAILED && mprotect(stack, deep_stack_guard_bytes, PROT_NONE) == 0, "mmap");
  deep_stack_low = static_cast<std::byte*>(stack);

  struct sigaction mine {};
  mine.sa_sigaction = deep_stack_fault;
  mine.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGSEGV, &mine, &before_deep_stack);

  pthread_attr_t how;
  pthread_attr_init(&how);
  pthread_attr_setstack(&how, deep_stack_low + deep_stack_guard_bytes, deep_stack_bytes - deep_stack_guard_bytes);
  const auto run = [](void* f) -> void* {
    // The handler cannot run on the stack that has overflowed.
    constexpr std::size_t handler_bytes = 64 * 1024;
    const auto handler_stack = std::make_unique<std::byte[]>(handler_bytes);
    stack_t own{};
    own.ss_sp = handler_stack.get();
    own.ss_size = handler_bytes;
    sigaltstack(&own, nullptr);
    (*static_cast<Body*>(f))();
    own.ss_flags = SS_DISABLE;
    sigaltstack(&own, nullptr);
    return nullptr;
  };
  pthread_t thread;
  deep_stack_must(pthread_create(&thread, &how, run, &body) == 0, "pthread_create");
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&how);
  sigaction(SIGSEGV, &before_deep_stack, nullptr);
  munmap(stack, deep_stack_bytes);
}

}  // namespace tobi_bench
