// SPDX-License-Identifier: Apache-2.0
// Start and end of a program, what it can ask, and its options. A name means what it means in Itoyori.
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tobi/tobi.hpp"

extern char** environ;

namespace ityr {

/// A process's number, from 0 on.
using rank_t = int;
/// Nanoseconds of gettime_ns().
using wallclock_t = std::uint64_t;

namespace internal {

/// The runtime between init() and fini().
inline std::unique_ptr<tobi::runtime> the_runtime;

/// An option of the environment, and what it is called here; null: there is none.
struct option {
  const char* theirs;
  const char* ours;
};
inline constexpr option options[] = {
    {"ITYR_ITO_STACK_SIZE", "TOBI_STACK_SIZE"},
    {"ITYR_ITO_WSQUEUE_CAPACITY", "TOBI_DEQUE_SIZE"},
    {"ITYR_ORI_CACHE_SIZE", "TOBI_CACHE_SIZE"},
    {"ITYR_ORI_SUB_BLOCK_SIZE", "TOBI_SUB_BLOCK_SIZE"},
    {"ITYR_ORI_NONCOLL_ALLOCATOR_SIZE", "TOBI_HEAP_SIZE"},
    {"ITYR_ITO_THREAD_STATE_ALLOCATOR_SIZE", nullptr},
    {"ITYR_ITO_SUSPENDED_THREAD_ALLOCATOR_SIZE", nullptr},
    {"ITYR_ITO_ADWS_WSQUEUE_CAPACITY", nullptr},
    {"ITYR_ITO_ADWS_MAX_NUM_QUEUE", nullptr},
    {"ITYR_ORI_MAX_DIRTY_CACHE_SIZE", nullptr},
    {"ITYR_ORI_LAZY_RELEASE_CHECK_INTERVAL", nullptr},
    {"ITYR_ORI_LAZY_RELEASE_MAKE_MPI_PROGRESS", nullptr},
    {"ITYR_ENABLE_SHARED_MEMORY", nullptr},
};

/// Gives the options of the environment their names here, unless these are set, and returns a note on each.
inline std::vector<std::string> take_options() {
  std::vector<std::string> notes;
  for (char** each = environ; *each != nullptr; ++each) {
    if (std::strncmp(*each, "ITYR_", 5) != 0) continue;
    const char* const equals = std::strchr(*each, '=');
    if (equals == nullptr) continue;
    const std::string name(*each, static_cast<std::size_t>(equals - *each));
    const char* ours = nullptr;
    for (const option& known : options) {
      if (name == known.theirs) ours = known.ours;
    }
    notes.push_back(name + (ours == nullptr                ? " has no counterpart and is ignored"
                            : std::getenv(ours) != nullptr ? std::string(" is ignored, because ") + ours + " is set"
                                                           : std::string(" is taken as ") + ours));
  }
  // Behind the loop, which goes over what this changes.
  for (const option& known : options) {
    const char* const value = std::getenv(known.theirs);
    if (value != nullptr && known.ours != nullptr) setenv(known.ours, value, 0);
  }
  return notes;
}

}  // namespace internal

/// Collective: starts the runtime. A program does it once. Rank 0 says on standard error what has become of options
/// that the environment has under Itoyori's names.
inline void init() {
  const std::vector<std::string> notes = internal::take_options();
  internal::the_runtime = std::make_unique<tobi::runtime>();
  if (internal::the_runtime->rank() != 0) return;
  for (const std::string& note : notes) std::fprintf(stderr, "tobi: %s.\n", note.c_str());
}
/// The same. The communicator is not used: the runtime finds the processes of its launcher itself.
template <class Communicator>
void init(Communicator) {
  init();
}
/// Collective: ends the runtime.
inline void fini() { internal::the_runtime.reset(); }

/// Returns the number of the process in which the caller is just now.
inline rank_t my_rank() { return tobi::pieces::here(); }
/// Returns the number of processes.
inline rank_t n_ranks() { return tobi::detail::the_runtime().size(); }
/// Returns whether this is process 0.
inline bool is_master() { return my_rank() == 0; }
/// Returns whether the caller is a task. (In Itoyori: whether it is the root task.)
inline bool is_root() { return tobi::detail::tobi_in_task() != 0; }
/// Returns whether the caller is no task: main, or what coll_exec() was given.
inline bool is_spmd() { return !is_root(); }
/// Collective, outside of tasks. What was written to global memory before is read behind it.
inline void barrier() { tobi::detail::the_runtime().barrier(); }
/// Returns the time by the clocks of the hosts.
inline wallclock_t gettime_ns() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<wallclock_t>(now.tv_sec) * 1'000'000'000u + static_cast<wallclock_t>(now.tv_nsec);
}

/// Collective, outside of tasks: counts from zero.
inline void profiler_begin() { tobi::detail::the_runtime().reset_stats(); }
/// Collective: counts end with profiler_flush().
inline void profiler_end() {}
/// Collective, outside of tasks: process 0 prints what all have counted since profiler_begin(). TOBI_TRACE has more.
inline void profiler_flush() {
  const tobi::statistics all = tobi::detail::the_runtime().stats();
  if (!is_master()) return;
  std::printf("steals %llu, bytes fetched %llu, bytes written back %llu\n",
              static_cast<unsigned long long>(all.steals_ok), static_cast<unsigned long long>(all.global.fetched_bytes),
              static_cast<unsigned long long>(all.global.written_bytes));
  std::fflush(stdout);
}
/// Prints what is running: on the process that calls it.
inline void print_compile_options() { std::printf("ityr/ityr.hpp of tobi, C++ %ld\n", static_cast<long>(__cplusplus)); }
/// Prints what was chosen: on the process that calls it.
inline void print_runtime_options() {
  const tobi::runtime& rt = tobi::detail::the_runtime();
  std::printf("transport=%s\nscheduler=%s\ndeque=%s\nnodes=%d\n", std::string(rt.transport_name()).c_str(),
              std::string(rt.sched_name()).c_str(), std::string(rt.deque_name()).c_str(), rt.nodes());
}

namespace common::topology {
using ityr::my_rank;
using ityr::n_ranks;
using ityr::rank_t;
}  // namespace common::topology

/// Events of a program's own, which are not recorded here: TOBI_TRACE has tobi::begin_phase().
namespace common::profiler {
class event {
 public:
  event() = default;
  virtual ~event() = default;
  [[nodiscard]] virtual std::string str() const { return {}; }
};
template <class Event>
struct event_initializer {
  event_initializer() noexcept {}
};
}  // namespace common::profiler

}  // namespace ityr

#define ITYR_CONCAT_TEXT(a, b) a##b
#define ITYR_CONCAT(a, b) ITYR_CONCAT_TEXT(a, b)
/// A name that nothing else has.
#define ITYR_ANON_VAR ITYR_CONCAT(ityr_anonymous_, __COUNTER__)
#define ITYR_PROFILER_RECORD(...) static_cast<void>(0)
