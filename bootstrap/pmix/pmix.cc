// SPDX-License-Identifier: Apache-2.0
// Values travel with the fence, to the servers of all nodes, and a process gets from its own what it asks for. A server
// that had to ask another one for them then (direct modex) would not do: between three hosts Slurm 22.05 says of a
// value that was committed before the fence that it is not found, and in Open MPI 4.1 one in some hundred questions
// gets nothing back, ever.
//
// Every fence asks for the values, also where nothing was put: Slurm lets a fence without them pass at once on each
// node, unless its administrator has set PMIxFenceBarrier in mpi.conf(5).
#include "bootstrap/pmix/pmix.hpp"

#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "bootstrap/futex.hpp"
#include "bootstrap/other_threads.hpp"
#include "bootstrap/pmix/event.hpp"
#include "bootstrap/pmix/library.hpp"
#include "bootstrap/rounds.hpp"
#include "libcore/base/leave.hpp"
#include "libcore/base/log.hpp"

namespace tobi::bootstrap::pmix {

namespace {

library functions;
std::atomic<loss_handler> on_loss{nullptr};
volatile sig_atomic_t abort_status = 1;
pmix_proc_t own_job{};  // for the threads of PMIx
int clients_of_job = 0;

std::string why(pmix_status_t status) { return functions.error_string(status); }

[[noreturn]] void failed(const std::string& what, pmix_status_t status) {
  base::fatal("PMIx cannot " + what + " (" + why(status) + "); the launcher's own messages may say more.");
}

// PMIx may wait for a lock that this very thread holds, when a signal handler ends the job: what would hang is ended.
[[noreturn]] void end_by_launcher(int status) noexcept {
  abort_status = status;
  struct sigaction leave {};
  leave.sa_handler = [](int) { base::leave(abort_status); };
  sigaction(SIGALRM, &leave, nullptr);
  sigset_t alarm_only;
  sigemptyset(&alarm_only);
  sigaddset(&alarm_only, SIGALRM);
  pthread_sigmask(SIG_UNBLOCK, &alarm_only, nullptr);
  const itimerval half_a_second{{0, 0}, {0, 500'000}};
  setitimer(ITIMER_REAL, &half_a_second, nullptr);
  functions.abort(status, "", nullptr, 0);
  base::leave(status);
}

process named_by(const pmix_proc_t* p) noexcept {
  if (p == nullptr) return {};
  return {{p->nspace, strnlen(p->nspace, PMIX_MAX_NSLEN)}, p->rank <= PMIX_RANK_VALID ? std::int64_t{p->rank} : -1};
}

// On a thread of PMIx.
void on_event(std::size_t, pmix_status_t status, const pmix_proc_t* source, pmix_info_t info[], std::size_t count,
              pmix_info_t*, std::size_t, pmix_event_notification_cbfunc_fn_t done, void* data) {
  process affected;
  for (std::size_t i = 0; i < count; ++i) {
    if (std::strncmp(info[i].key, PMIX_EVENT_AFFECTED_PROC, PMIX_MAX_KEYLEN) != 0) continue;
    if (info[i].value.type == PMIX_PROC) affected = named_by(info[i].value.data.proc);
  }
  const int client = lost_client(named_by(&own_job).space, clients_of_job, status == PMIX_ERR_LOST_CONNECTION,
                                 named_by(source), affected);
  const loss_handler handler = on_loss.load(std::memory_order_acquire);
  if (client != nobody_here && handler != nullptr) handler(client, functions.error_string(status));
  if (done != nullptr) done(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, data);
}

// PMIx's threads must leave the signals to the workers: a handler that ran there could not call PMIx.
class signals_blocked {
 public:
  signals_blocked() noexcept {
    sigset_t all;
    sigfillset(&all);
    sigdelset(&all, stop_signal());
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~signals_blocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  signals_blocked(const signals_blocked&) = delete;
  signals_blocked& operator=(const signals_blocked&) = delete;

 private:
  sigset_t before_;
};

// PMIx hands out what malloc gave it.
struct freed {
  void operator()(pmix_value_t* v) const noexcept {
    if (v->type == PMIX_BYTE_OBJECT) std::free(v->data.bo.bytes);
    std::free(v);
  }
};
using value = std::unique_ptr<pmix_value_t, freed>;

class pmix_exchange final : public exchange {
 public:
  pmix_exchange() {
    {
      const signals_blocked here;
      if (const pmix_status_t s = functions.init(&me_, nullptr, 0); s != PMIX_SUCCESS) {
        base::fatal("PMIx cannot reach the launcher (" + why(s) +
                    "); start the program with srun --mpi=pmix, mpirun or prterun, or with TOBI_BOOTSTRAP=fork for a "
                    "job of its own.");
      }
    }
    pmix_proc_t all = me_;
    all.rank = PMIX_RANK_WILDCARD;
    pmix_value_t* raw = nullptr;
    if (const pmix_status_t s = functions.get(&all, PMIX_JOB_SIZE, nullptr, 0, &raw); s != PMIX_SUCCESS) {
      failed("tell how many processes the launcher started", s);
    }
    size_ = static_cast<int>(value(raw)->data.uint32);
    own_job = me_;
    clients_of_job = size_;
  }

  [[nodiscard]] std::string_view name() const noexcept override { return "pmix"; }
  [[nodiscard]] int rank() const noexcept override { return static_cast<int>(me_.rank); }
  [[nodiscard]] int size() const noexcept override { return size_; }

  void put(std::string_view key, std::span<const std::byte> bytes) override {
    pmix_value_t v{};
    v.type = PMIX_BYTE_OBJECT;
    v.data.bo.bytes = const_cast<char*>(reinterpret_cast<const char*>(bytes.data()));
    v.data.bo.size = bytes.size();
    if (const pmix_status_t s = functions.put(PMIX_GLOBAL, name_of(key).c_str(), &v); s != PMIX_SUCCESS) {
      failed("publish " + std::string(key), s);
    }
    dirty_ = true;
  }

  [[nodiscard]] std::vector<std::byte> get(int rank, std::string_view key) override {
    pmix_proc_t of = me_;
    of.rank = static_cast<pmix_rank_t>(rank);
    pmix_value_t* raw = nullptr;
    const pmix_status_t s = functions.get(&of, name_of(key).c_str(), nullptr, 0, &raw);
    const value found(raw);
    if (s != PMIX_SUCCESS || found == nullptr || found->type != PMIX_BYTE_OBJECT) {
      failed("give " + std::string(key) + " of process " + std::to_string(rank), s);
    }
    const auto* start = reinterpret_cast<const std::byte*>(found->data.bo.bytes);
    return {start, start + found->data.bo.size};
  }

  void fence() override {
    if (dirty_) {
      if (const pmix_status_t s = functions.commit(); s != PMIX_SUCCESS) failed("hand values to its server", s);
    }
    dirty_ = false;
    if (const pmix_status_t s = meet(); s != PMIX_SUCCESS) {
      // Most likely another process has said why the job ends, and the launcher is about to end this one.
      const timespec moment{3, 0};
      nanosleep(&moment, nullptr);
      failed("wait for the other processes", s);
    }
  }

  void least(std::span<std::uint64_t> words) override {
    least_by_rounds(*this, words, "least" + std::to_string(questions_++));
  }

  [[noreturn]] void abort(int exit_status) noexcept override { end_by_launcher(exit_status); }

  void finalize() override {
    on_loss.store(nullptr, std::memory_order_release);
    if (const pmix_status_t s = functions.finalize(nullptr, 0); s != PMIX_SUCCESS) {
      base::log(base::log_level::warn, "PMIx did not end in order (" + why(s) + ").");
    }
  }

  void watch(loss_handler handler) override {
    on_loss.store(handler, std::memory_order_release);
    pmix_status_t codes[] = {PMIX_ERR_PROC_ABORTED,       PMIX_ERR_PROC_ABORTED_BY_SIG, PMIX_ERR_PROC_TERM_WO_SYNC,
                             PMIX_ERR_PROC_KILLED_BY_CMD, PMIX_ERR_EXIT_NONZERO_TERM,   PMIX_ERR_PROC_REQUESTED_ABORT,
                             PMIX_ERR_LOST_CONNECTION,    PMIX_ERR_JOB_ABORTED,         PMIX_ERR_JOB_ABORTED_BY_SIG};
    const pmix_status_t s =
        functions.register_event_handler(codes, sizeof codes / sizeof codes[0], nullptr, 0, on_event, nullptr, nullptr);
    if (s < 0) {
      base::log(base::log_level::warn,
                "PMIx does not tell when processes die (" + why(s) + "); the launcher alone will end the job.");
    }
  }

 private:
  // A fence, which moves the fabric. What all have put is then on all nodes.
  pmix_status_t meet() {
    pmix_info_t collect{};
    std::strncpy(collect.key, PMIX_COLLECT_DATA, PMIX_MAX_KEYLEN);
    collect.value.type = PMIX_BOOL;
    collect.value.data.flag = true;
    struct {
      std::atomic<std::uint32_t> all_here{0};
      pmix_status_t status = PMIX_SUCCESS;
    } end;
    const auto ended = [](pmix_status_t status, void* data) {  // on a thread of PMIx
      auto& of = *static_cast<decltype(end)*>(data);
      of.status = status;
      of.all_here.store(1, std::memory_order_release);
      futex_wake_all(of.all_here);
    };
    const pmix_status_t s = functions.fence_nb(nullptr, 0, &collect, 1, ended, &end);
    if (s == PMIX_OPERATION_SUCCEEDED) return PMIX_SUCCESS;
    if (s != PMIX_SUCCESS) return s;
    if (!std::exchange(has_met_, true)) warn_where_some_do_not_start(end.all_here);
    const timespec moment = between_moves();
    while (end.all_here.load(std::memory_order_acquire) == 0) {
      if (move_) move_();
      futex_wait(end.all_here, 0, move_ ? &moment : nullptr);
    }
    return end.status;
  }

  // srun without -K says nothing to the others where a process cannot start, and they would wait in silence. Process 1
  // speaks too: 0 may be the one that is missing.
  void warn_where_some_do_not_start(std::atomic<std::uint32_t>& all_here) const {
    constexpr int patience_s = 30;
    if (me_.rank > 1) return;
    constexpr timespec second{1, 0};
    for (int s = 0; s < patience_s; ++s) {
      futex_wait(all_here, 0, &second);
      if (all_here.load(std::memory_order_acquire) != 0) return;
    }
    base::log(
        base::log_level::warn,
        "not all of the " + std::to_string(size_) + " processes of this job have started after " +
            std::to_string(patience_s) +
            " s, and this one goes on waiting; where one has failed, end the job (srun -K does); where a process of "
            "a job has started this program, set TOBI_BOOTSTRAP=fork.");
  }

  static std::string name_of(std::string_view key) { return "tobi." + std::string(key); }

  pmix_proc_t me_{};
  int size_ = 0;
  int questions_ = 0;     // that least() has put
  bool dirty_ = false;    // something was put since the last commit
  bool has_met_ = false;  // the others, in a fence
};

}  // namespace

std::unique_ptr<exchange> join() {
  if (const std::string trouble = functions.load(); !trouble.empty()) base::fatal(trouble + ".");
  auto joined = std::make_unique<pmix_exchange>();
  base::set_log_identity(joined->rank());
  base::set_fatal_hook([](int status) { end_by_launcher(status); });
  if (joined->rank() == 0) base::log(base::log_level::info, std::string(functions.get_version()) + ".");
  return joined;
}

void end_unjoined(int status) noexcept {
  const signals_blocked here;
  pmix_proc_t me{};
  if (!functions.load().empty() || functions.init(&me, nullptr, 0) != PMIX_SUCCESS) _exit(status);
  end_by_launcher(status);
}

library_facts facts() {
  library found;
  const std::string trouble = found.load();
  return {trouble.empty() ? found.get_version() : "", trouble};
}

}  // namespace tobi::bootstrap::pmix
