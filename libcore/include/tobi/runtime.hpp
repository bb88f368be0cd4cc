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

/// What a program may decide itself; what it leaves alone comes from the TOBI_* environment.
struct options {
  int workers = 0;  // processes, the caller included; 0: TOBI_WORKERS, or one a core
};

/// The job, from constructor to destructor. Without a launcher the constructor forks the other workers, so every worker
/// returns from it and runs main on (SPMD). A program makes one, outside of tasks, before any thread.
/// Errors of the environment and of the machine end the program: one sentence, status 2 for what the user typed.
class runtime {
 public:
  runtime(int argc, char** argv);
  explicit runtime(const options& chosen);
  /// Collective: waits for all workers. Prints the statistics with TOBI_STATS=1.
  ~runtime();
  runtime(const runtime&) = delete;
  runtime& operator=(const runtime&) = delete;

  [[nodiscard]] int rank() const noexcept;
  [[nodiscard]] int size() const noexcept;
  /// Collective: every worker returns after every worker has called.
  void barrier();
  /// Collective, outside of run(): the sum over all workers since the start or the last reset.
  [[nodiscard]] statistics stats();
  /// Collective, outside of run(): counts from zero again.
  void reset_stats();
  [[nodiscard]] std::string_view transport_name() const noexcept;
  [[nodiscard]] std::string_view deque_name() const noexcept;
};

namespace detail {

/// A root task, type-erased. `body` runs in a task and writes the result to RESULT.
struct root {
  void (*body)(const void* closure, void* result);
  const void* closure;
  std::uint32_t closure_bytes;
  std::uint32_t result_bytes;
};
/// Runs ROOT and leaves its result in RESULT on every worker. Throws task_error on every worker if the root threw.
void run_root(const root& what, void* result);

}  // namespace detail

/// Runs FUNCTION as the one root task, on the workers together, and returns its result on every worker. Collective;
/// FUNCTION is taken from rank 0. Its closure and result must be trivially copyable. Every task that the root spawned,
/// and every future, must be joined before it returns. Not to be called inside a task.
template <class F>
detail::result_of<F> run(F function) {
  using R = detail::result_of<F>;
  detail::check_closure<F>();
  detail::check_result<R>();
  const auto body = [](const void* closure, void* result) {
    F mine = *static_cast<const F*>(closure);
    if constexpr (std::is_void_v<R>) {
      (void)result;
      mine();
    } else {
      const R value = mine();
      std::memcpy(result, &value, sizeof value);
    }
  };
  const detail::root what{body, &function, sizeof(F), detail::result_bytes<R>()};
  if constexpr (std::is_void_v<R>) {
    detail::run_root(what, nullptr);
  } else {
    detail::room_for<R> got;
    detail::run_root(what, &got.value);
    return got.value;
  }
}

}  // namespace tobi
