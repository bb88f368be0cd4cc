// SPDX-License-Identifier: Apache-2.0
// Which processes are in the job: a rank, a size, a small key-value exchange, a fence, and a way to end all of them. It
// is used while the job starts and ends, and never on a path whose speed matters.
//
// Two interfaces, because a launcher's processes are not always the job's workers. An `exchange` is what PMIx or MPI
// offers to the processes that a launcher started (its clients). A `bootstrap` is what the job sees: each client,
// together with the workers that it forks, or one process and its children where there is no launcher.
#pragma once

#include <time.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bootstrap/neighbours.hpp"
#include "libcore/base/per_rank.hpp"
#include "libcore/base/settings.hpp"

namespace tobi::bootstrap {

/// How a process learns that another one is gone: CLIENT is its rank in the exchange, or -1 for the launcher's own
/// server; HOW is what the launcher says. Called on any thread; ends this process.
using loss_handler = void (*)(int client, const char* how) noexcept;

class exchange {
 public:
  virtual ~exchange() = default;

  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  [[nodiscard]] virtual int rank() const noexcept = 0;
  [[nodiscard]] virtual int size() const noexcept = 0;

  /// Publishes VALUE under KEY of this rank; others see it after the next fence. A key is put once. Between two fences
  /// either every rank puts something or none does.
  virtual void put(std::string_view key, std::span<const std::byte> value) = 0;
  /// What RANK put under KEY before the last fence, also later, while the job runs: by one thread at a time. May ask
  /// the launcher, and block meanwhile. Fatal when there is no such key: that is a bug.
  [[nodiscard]] virtual std::vector<std::byte> get(int rank, std::string_view key) = 0;
  /// Returns when every rank has called it. Blocks without spinning.
  virtual void fence() = 0;
  /// A fence with a question: each of WORDS, 8 at most, becomes the least of what all ranks say there. Every
  /// rank asks the same.
  virtual void least(std::span<std::uint64_t> words) = 0;

  /// Ends the whole job: every process of it is gone within a second and the launcher's exit status is
  /// EXIT_STATUS. The caller has printed why. Callable from a signal handler.
  [[noreturn]] virtual void abort(int exit_status) noexcept = 0;
  /// Says that this rank needs the others no more: its death is no longer the job's. Collective.
  virtual void finalize() = 0;

  /// Whether a process that has joined may fork workers: some libraries do not survive it.
  [[nodiscard]] virtual bool may_fork() const noexcept { return true; }

  /// From now on HANDLER is called when another rank dies, where the launcher tells. One that ends the job by itself
  /// needs no handler.
  virtual void watch(loss_handler handler) { (void)handler; }

  /// What fence() and finalize() call from time to time while they wait. A process that waits here may be the target of
  /// others that are still on their way, over a fabric that moves only when it is polled.
  void while_waiting(std::function<void()> move) { move_ = std::move(move); }
  /// How many workers share a core. The more there are, the less often each of them moves while it waits: else they
  /// take the cores from those that they wait for.
  void share_cores(unsigned workers_per_core) noexcept { workers_per_core_ = workers_per_core; }

 protected:
  [[nodiscard]] timespec between_moves() const noexcept {
    constexpr unsigned most = 10'000;  // workers per core: no more than half a second
    return {0, 50'000L * static_cast<long>(std::min(workers_per_core_, most))};
  }

  std::function<void()> move_;
  unsigned workers_per_core_ = 1;
};

class bootstrap : public exchange {
 public:
  /// Ranks of the processes on this node, in order, this one included.
  [[nodiscard]] virtual std::span<const int> local_peers() const noexcept = 0;
  /// The node of each rank: numbers from 0, in the order of ranks.
  [[nodiscard]] virtual std::span<const int> nodes() const noexcept = 0;
};

/// Looks, once a second at most, whether a worker that this process has forked is gone without a SIGCHLD that reached
/// the library, and ends the job then: the program may have that signal, or wait for all its children itself. For any
/// thread of the library that waits. Null where this process has forked none.
using death_watch = void (*)() noexcept;
[[nodiscard]] death_watch watch_for_deaths() noexcept;

/// First look at a fault (SIGSEGV, SIGBUS): explains it and ends the job, or returns false because it does not know the
/// address; true: the access works now. CONTEXT is what the handler got. Runs on a stack of its own.
using fault_filter = bool (*)(const void* address, const void* context) noexcept;
void set_fault_filter(fault_filter filter) noexcept;

/// How the workers of a job are spread over the processes that a launcher started.
struct plan {
  int self = 0;                         // this client
  base::per_rank<int> first;            // of each client: its first rank; then, last, the number of all workers
  base::per_rank<int> node;             // of each client
  base::per_rank<std::string> hosts;    // of each node
  std::vector<neighbour> neighbours{};  // the other clients on this node
  node_page* shared = nullptr;          // with them; null: nothing
  int peer_timeout_s = 0;               // TOBI_PEER_TIMEOUT
  base::port_range ports{};             // TOBI_PORTS

  [[nodiscard]] int clients() const noexcept { return static_cast<int>(node.size()); }
  [[nodiscard]] int workers(int client) const noexcept { return first[client + 1] - first[client]; }
  [[nodiscard]] int client_of(int rank) const noexcept;
  [[nodiscard]] const std::string& host(int client) const noexcept { return hosts[node[client]]; }
};

/// The embedded launcher: forks `workers - 1` processes, so that the caller is rank 0 and each child
/// returns from here with its own rank. Nothing may have been opened, and no thread started, before.
[[nodiscard]] std::unique_ptr<bootstrap> fork_workers(int workers);
/// The same for a client of a launcher: forks the other workers that PLAN gives it, and speaks for them in LAUNCHER.
[[nodiscard]] std::unique_ptr<bootstrap> fork_workers(plan spread, std::unique_ptr<exchange> launcher);

inline constexpr int one_per_client = -1;
/// Starts the job's processes, or finds those that a launcher has started, as TOBI_BOOTSTRAP says. WANTED workers on
/// this machine; 0: one process for each that a launcher started here, or, where it started one or there is none, one
/// worker for each of CORES; one_per_client: one process for each that a launcher started, or this one alone. Fatal,
/// with what to do, where a launcher is in the way or missing, or where its processes cannot be one job. IN_FORCE is
/// what this process has read, and then what rank 0 has given and offered too. TELLS is called where this process is
/// about to fork, with the number of workers that it will be with them.
using fork_news = void (*)(int workers);
[[nodiscard]] std::unique_ptr<bootstrap> start(base::settings& in_force, int wanted, int cores,
                                               fork_news tells = nullptr);

/// The processes that a launcher has started, or that meet over TCP, as they are: they do not become one job. For a
/// tool that says in what they differ. Null without a launcher.
[[nodiscard]] std::unique_ptr<exchange> launched_processes(const base::settings& in_force);
/// Whether the environment says that a launcher started this process, and TOBI_BOOTSTRAP does not say otherwise.
[[nodiscard]] bool launched() noexcept;
/// The variable by which a program finds that a process of a job has started it; not TOBI_..., since it is no setting.
/// One that is to be in a job of its own, in that process's place, is started without it.
inline constexpr const char* job_mark = "_TOBIUO_JOB";
/// To be called first. Until this process has joined the others of its launcher, it is "process N on HOST" in what it
/// says, and what is fatal to it ends the job: the others would wait for it. Without a launcher this does nothing.
void before_joining();

/// A way to start a job, for tobi-info.
struct way {
  std::string_view name;
  std::string_view summary;
  std::string facts;    // version of the library that serves it
  std::string why_not;  // "" when a job could start this way, given its launcher
};
[[nodiscard]] std::vector<way> ways();

}  // namespace tobi::bootstrap
