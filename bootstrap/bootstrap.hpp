// Who is in the job. The one interface that fork, PMIx and MPI implement: a rank, a size, a small
// key-value exchange, a fence, and a way to end everybody. It is used while the job starts and ends, and
// never on a path whose speed matters.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libcore/base/settings.hpp"

namespace tobi::bootstrap {

class bootstrap {
 public:
  virtual ~bootstrap() = default;

  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  [[nodiscard]] virtual int rank() const noexcept = 0;
  [[nodiscard]] virtual int size() const noexcept = 0;
  /// Ranks of the processes on this node, in order, this one included.
  [[nodiscard]] virtual std::span<const int> local_peers() const noexcept = 0;

  /// Publishes VALUE under KEY of this rank; others see it after the next fence. A key is put once.
  virtual void put(std::string_view key, std::span<const std::byte> value) = 0;
  /// What RANK put under KEY before the last fence. Fatal when there is no such key: that is a bug.
  [[nodiscard]] virtual std::vector<std::byte> get(int rank, std::string_view key) = 0;
  /// Returns when every rank has called it. Blocks without spinning.
  virtual void fence() = 0;

  /// What fence() and finalize() call from time to time while they wait. A process that waits here may be the target of
  /// others that are still on their way, over a fabric that moves only when it is polled.
  void while_waiting(std::function<void()> move) { move_ = std::move(move); }

  /// Ends the whole job: every process of it is gone within a second and the launcher's exit status is
  /// EXIT_STATUS. The caller has printed why. Callable from a signal handler.
  [[noreturn]] virtual void abort(int exit_status) noexcept = 0;
  /// Says that this rank needs the others no more: its death is no longer the job's. Collective.
  virtual void finalize() = 0;

 protected:
  std::function<void()> move_;
};

/// First look at a fault (SIGSEGV, SIGBUS): explains it and ends the job, or returns because it does not know the
/// address. Runs in a signal handler on a stack of its own.
using fault_filter = void (*)(const void* address) noexcept;
void set_fault_filter(fault_filter filter) noexcept;

/// The embedded launcher: forks `workers - 1` processes, so that the caller is rank 0 and each child
/// returns from here with its own rank. Nothing may have been opened, and no thread started, before.
[[nodiscard]] std::unique_ptr<bootstrap> fork_workers(int workers);

}  // namespace tobi::bootstrap
