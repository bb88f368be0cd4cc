// SPDX-License-Identifier: Apache-2.0
#include "alloc/tsd.hpp"

#include <pthread.h>

#include <cstddef>
#include <cstdint>

extern "C" {
[[gnu::visibility("hidden")]] extern std::byte tobi_je_tsd[];  // in jemalloc's object, with what it starts as
// From the thread pointer of the thread that has the turn to tobi_je_tsd. jemalloc's code adds it to the thread
// pointer.
[[gnu::visibility("hidden")]] std::uintptr_t tobi_je_tsd_offset = 0;

// What jemalloc calls in place of the functions of these names.
[[gnu::visibility("hidden")]] int tobi_je_pthread_atfork(void (*before)(), void (*in_parent)(), void (*in_child)());
[[gnu::visibility("hidden")]] int tobi_je_pthread_key_create(pthread_key_t* key, void (*at_exit)(void*));
[[gnu::visibility("hidden")]] int tobi_je_pthread_setspecific(pthread_key_t key, const void* value);
}

namespace tobi::alloc {

namespace {

std::mutex turns;

void find_from_this_thread() noexcept {
  tobi_je_tsd_offset =
      reinterpret_cast<std::uintptr_t>(tobi_je_tsd) - reinterpret_cast<std::uintptr_t>(__builtin_thread_pointer());
}

void (*before_fork)() = nullptr;
void (*after_fork_in_parent)() = nullptr;
void (*after_fork_in_child)() = nullptr;

}  // namespace

jemalloc_turn::jemalloc_turn() noexcept : alone_(turns) { find_from_this_thread(); }

}  // namespace tobi::alloc

// A fork is a turn: jemalloc's locks are taken and given back by handlers that use its data too. The handlers of a
// process that forks within a turn would wait for it for ever, but nobody calls fork from jemalloc.
int tobi_je_pthread_atfork(void (*before)(), void (*in_parent)(), void (*in_child)()) {
  using namespace tobi::alloc;
  before_fork = before;
  after_fork_in_parent = in_parent;
  after_fork_in_child = in_child;
  return pthread_atfork(
      [] {
        turns.lock();
        find_from_this_thread();
        before_fork();
      },
      [] {
        after_fork_in_parent();
        turns.unlock();
      },
      [] {
        after_fork_in_child();
        turns.unlock();
      });
}

// The data is no thread's, and outlives them all: nothing of it is given up where one ends.
int tobi_je_pthread_key_create(pthread_key_t* key, void (*)(void*)) {
  *key = 0;
  return 0;
}
int tobi_je_pthread_setspecific(pthread_key_t, const void*) { return 0; }
