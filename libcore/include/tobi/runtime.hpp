// SPDX-License-Identifier: Apache-2.0
// Start and end of a job, and the way from SPMD code into fork-join code.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

#include "tobi/detail/fork.hpp"
#include "tobi/error.hpp"
#include "tobi/statistics.hpp"

namespace tobi {

/// What a program may decide itself. The TOBI_* environment decides the rest.
struct options {
  int workers = 0;  // of this machine, the caller included; 0: TOBI_WORKERS, or one per core; or one_per_process
};
/// For options::workers: each process that a launcher started is one worker, whatever their number on a host; without a
/// launcher the program is the only worker.
inline constexpr int one_per_process = -1;

/// The job, from constructor to destructor. Without a launcher the constructor forks the other workers, so every worker
/// returns from it and runs the rest of main (SPMD). A program makes one, outside of tasks, before any thread. An error
/// of the environment or of the machine ends the program with one sentence, and with status 2 for what the user typed.
class runtime {
 public:
  /// Starts the job as the environment says. The arguments are those of main.
  runtime(int argc, char** argv);
  /// Starts the job as CHOSEN says, and as the environment says where CHOSEN leaves it open.
  explicit runtime(const options& chosen = {});
  /// Collective: waits for all workers. Prints the statistics with TOBI_STATS=1.
  ~runtime();
  runtime(const runtime&) = delete;
  runtime& operator=(const runtime&) = delete;

  /// Returns the rank of this worker, from 0 on.
  [[nodiscard]] int rank() const noexcept;
  /// Returns the number of workers of the job. Each runs main.
  [[nodiscard]] int size() const noexcept;
  /// Returns the number of workers that run tasks: all of them, except one per node with TOBI_AMO_SERVER=worker over a
  /// fabric without atomics.
  [[nodiscard]] int computing() const noexcept;
  /// Returns the number of nodes, as the transports see them: TOBI_NODES splits a machine.
  [[nodiscard]] int nodes() const noexcept;
  /// Collective: every worker returns after every worker has called.
  void barrier();
  /// Collective, outside of run(): returns the sum over all workers since the start or the last reset. EACH is null, or
  /// has room for size() of them, and gets each worker's own by rank.
  [[nodiscard]] statistics stats(statistics* each = nullptr);
  /// Collective, outside of run(): counts from zero again.
  void reset_stats();
  /// Returns the name of what moves bytes between nodes, or within the one node.
  [[nodiscard]] std::string_view transport_name() const noexcept;
  /// Returns what TOBI_SCHED has chosen.
  [[nodiscard]] std::string_view sched_name() const noexcept;
  /// Returns what TOBI_DEQUE has chosen.
  [[nodiscard]] std::string_view deque_name() const noexcept;
  /// Returns false with TOBI_LOCAL_COLLECTION=0.
  [[nodiscard]] bool local_collection() const noexcept;
};

namespace detail {

/// A root task, type-erased. `body` runs in a task and writes the result to RESULT.
struct root {
  void (*body)(const void* closure, void* result);
  const void* closure;
  std::uint32_t closure_bytes;
  std::uint32_t result_bytes;
};
/// The body of the root task F. It makes a copy of F by bytes and uses the copy alone, because the place of the root's
/// argument is aligned for most types, not for all.
template <class F, class R>
void run_root_task(const void* closure, void* result) {
  own_closure<F> mine(closure);
  if constexpr (std::is_void_v<R>) {
    (void)result;
    mine.function();
  } else {
    const R value = mine.function();
    std::memcpy(result, std::addressof(value), sizeof value);
  }
}
/// Runs ROOT and leaves its result in RESULT on every worker. Throws task_error on every worker if the root threw.
void run_root(const root& what, void* result);

}  // namespace detail

/// Runs FUNCTION as the one root task, on the workers together, and returns its result on every worker. Collective:
/// FUNCTION is taken from rank 0. Its closure and result must have trivial copy constructors and destructors. Every
/// task that the root spawned, and every future, must be joined before it returns. A task must not call it.
/// @code
/// const int answer = tobi::run([n = 21] { return 2 * n; });  // one task, on one of the workers
/// if (rt.rank() == 0) std::printf("%d\n", answer);           // prints 42
/// @endcode
template <class Function>
detail::result_of<std::decay_t<Function>> run(Function&& function) {
  using F = std::decay_t<Function>;
  using R = detail::result_of<F>;
  detail::check_closure<F>();
  detail::check_result<R>();
  const F& closure = function;
  const detail::root what{&detail::run_root_task<F, R>, std::addressof(closure), sizeof(F), detail::result_bytes<R>()};
  if constexpr (std::is_void_v<R>) {
    detail::run_root(what, nullptr);
  } else {
    detail::room_for<R> got;
    detail::run_root(what, std::addressof(got.value));
    return got.value;
  }
}

}  // namespace tobi
