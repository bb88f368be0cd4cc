// SPDX-License-Identifier: Apache-2.0
#include "libcore/task/memory_or_end.hpp"

#include <pthread.h>

#include <atomic>

#include "libcore/base/no_memory.hpp"
#include "libcore/task/door.hpp"

namespace tobi::tasks {

namespace {

// No objects of C++ that end with the library: a global runtime lives longer. Another thread may call the handler.
constinit std::atomic<std::new_handler> programs_handler{nullptr};
constinit std::atomic<pthread_t> worker{};

}  // namespace

void memory_or_end::begin() noexcept {
  worker_is_here();
  programs_handler.store(std::set_new_handler(ends_or_not), std::memory_order_relaxed);
}

void memory_or_end::end() noexcept {
  if (std::get_new_handler() == ends_or_not) std::set_new_handler(programs_handler.load(std::memory_order_relaxed));
}

void memory_or_end::worker_is_here() noexcept { worker.store(pthread_self(), std::memory_order_relaxed); }

bool memory_or_end::runtime_asks() noexcept {
  if (base::is_own_thread) return true;
  return pthread_equal(worker.load(std::memory_order_relaxed), pthread_self()) != 0 && the_door.is_inside();
}

// operator new calls it again and again until it finds memory, or this does not return.
void memory_or_end::ends_or_not() {
  if (runtime_asks()) base::no_memory();
  const std::new_handler theirs = programs_handler.load(std::memory_order_relaxed);
  if (theirs == nullptr) throw std::bad_alloc();
  theirs();
}

}  // namespace tobi::tasks
