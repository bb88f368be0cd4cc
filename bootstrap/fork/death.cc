// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/fork/death.hpp"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/fork/ended.hpp"
#include "libcore/base/leave.hpp"
#include "libcore/base/log.hpp"
#include "libcore/base/text_line.hpp"

namespace tobi::bootstrap {

namespace {
fault_filter explain_fault = nullptr;
}
void set_fault_filter(fault_filter filter) noexcept { explain_fault = filter; }

namespace forked {

namespace {

job_page* page = nullptr;
std::uint32_t own_member = 0;
std::atomic<exchange*> launcher{nullptr};
std::atomic<void (*)(int) noexcept> tell_hosts{nullptr};
node_page* of_node = nullptr;  // where a launcher started several processes here
int own_client = 0;
base::left_file* files_of_node = nullptr;
std::size_t all_files_of_node = 0;
const char* host_name = "unknown host";
struct sigaction former_child_action;  // the program's own SIGCHLD handler, which still gets its turn

// Signals that mean "end" to a program that says nothing about them.
constexpr int polite[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
constexpr int faults[] = {SIGSEGV, SIGBUS};
constexpr int other_fatal[] = {SIGFPE, SIGILL, SIGABRT, SIGSYS, SIGXCPU, SIGXFSZ, SIGUSR1, SIGUSR2, SIGALRM, SIGPIPE};

int death_signal() noexcept { return SIGRTMIN + 5; }

using line = base::text_buffer<512>;

// A process that the program has forked from it is not, and its handlers are the same.
bool is_head() noexcept { return getpid() == page->members()[0].pid.load(std::memory_order_relaxed); }

std::string_view abbreviation(int signal) noexcept {
  const char* name = sigabbrev_np(signal);
  return name == nullptr ? "?" : name;
}

line rank_here(std::uint32_t member) noexcept {
  line l;
  (l << "tobi: rank ").number(page->first + member) << " on " << host_name;
  const pid_t pid = page->members()[member].pid.load(std::memory_order_relaxed);
  if (pid > 0) (l << " (process ").number(static_cast<std::uint64_t>(pid)) << ")";  // core files are named after it
  return l;
}

line rank_killed(std::uint32_t member, int signal) noexcept {
  line l = rank_here(member);
  (l << " was killed by signal ").number(static_cast<unsigned>(signal)) << " (SIG" << abbreviation(signal) << ")";
  return l;
}

// Whether nobody reads what this program writes to stdout any more (`program | head -1`). Every program ends without a
// word then.
bool is_reader_gone() noexcept {
  pollfd written{STDOUT_FILENO, 0, 0};
  return poll(&written, 1, 0) == 1 && (written.revents & (POLLERR | POLLHUP)) != 0;
}

// What a system does to a process when it is short of memory.
std::string_view cause(int signal) noexcept {
  switch (signal) {
    case SIGBUS:
      return " Maybe the system had no memory left to give (or, with vm.overcommit_memory=2, to promise), or a mapped "
             "file "
             "was cut short.";
    case SIGKILL:
      return " Where memory has run out, the kernel's log says so (dmesg).";
    default:
      return "";
  }
}

void say_killed(std::uint32_t member, int signal) noexcept {
  if (signal == SIGPIPE && is_reader_gone()) return;
  (rank_killed(member, signal) << "; the job ends." << cause(signal) << "\n").write_to(STDERR_FILENO);
  base::log_fatal_note();
}

line rank_and_status(std::uint32_t member, std::string_view ended, int status) noexcept {
  line l = rank_here(member);
  (l << ended << " with status ").number(static_cast<unsigned>(status));
  return l;
}

void say_exited(std::uint32_t member, int status) noexcept {
  (rank_and_status(member, " exited", status) << " before the job's end; the job ends.\n").write_to(STDERR_FILENO);
}

void say_taken(std::uint32_t member) noexcept {
  (rank_here(member)
   << " is gone, and the program has taken its status (by a SIGCHLD action or wait() of its own); the "
      "job ends.\n")
      .write_to(STDERR_FILENO);
}

void say_killed_or_exited() noexcept {
  (rank_here(0) << " was killed by signal 9 (SIGKILL), or ended itself by _exit; the job ends." << cause(SIGKILL)
                << "\n")
      .write_to(STDERR_FILENO);
  base::log_fatal_note();
}

// The job ends here, and the process that made them is gone or about to go.
void remove_files() noexcept {
  base::remove_files(page->files(), page->all_files());
  if (files_of_node != nullptr) base::remove_files(files_of_node, all_files_of_node);
}

[[noreturn]] void die_of(int signal) noexcept {
  if (base::at_last != nullptr) base::at_last();
  struct sigaction plain {};
  plain.sa_handler = SIG_DFL;
  sigaction(signal, &plain, nullptr);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, signal);
  raise(signal);
  sigprocmask(SIG_UNBLOCK, &only, nullptr);
  _exit(128 + signal);
}

void tell_other_hosts(int status) noexcept {
  if (const auto tell = tell_hosts.load(std::memory_order_acquire); tell != nullptr) tell(status);
}

// The launcher, if there is one, ends the other clients.
//
// This may be a signal handler that has interrupted the allocator, and the launcher's library allocates: an alarm sees
// to it that the process ends all the same, and the launcher then ends the others.
[[noreturn]] void leave(int status) noexcept {
  tell_other_hosts(status);
  if (exchange* const tell = launcher.load(std::memory_order_acquire); tell != nullptr) {
    constexpr unsigned patience_s = 10;
    struct sigaction plain {};
    plain.sa_handler = SIG_DFL;
    sigaction(SIGALRM, &plain, nullptr);
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, SIGALRM);
    sigprocmask(SIG_UNBLOCK, &only, nullptr);
    alarm(patience_s);
    tell->abort(status);
  }
  base::leave(status);
}

// The head: is a child gone? Only the job's own processes are waited for: the program may have others.
void look_at_children() noexcept {
  for (std::uint32_t child = 1; child < page->size; ++child) {
    member& m = page->members()[child];
    const pid_t pid = m.pid.load(std::memory_order_acquire);
    if (pid <= 0 || m.state.load(std::memory_order_acquire) != phase::running) continue;
    siginfo_t how{};
    // WNOWAIT: a finalized one's status is for reap_finalized().
    const bool is_taken = waitid(P_PID, static_cast<id_t>(pid), &how, WEXITED | WNOHANG | WNOWAIT) != 0;
    if (is_taken ? errno != ECHILD : how.si_pid != pid) continue;
    if (m.state.load(std::memory_order_acquire) != phase::running) continue;
    int status = how.si_status;
    const bool first = claim_report();
    const std::uint32_t aborting = page->aborting.load(std::memory_order_acquire);
    if (is_taken) {
      if (first && aborting == 0) say_taken(child);
    } else if (how.si_code == CLD_EXITED) {
      if (first && aborting == 0) say_exited(child, status);
    } else {
      if (first) say_killed(child, status);
      status = 128 + status;
    }
    // The status of an abort is the job's, also when what we see is a child that the abort has killed.
    if (aborting != 0) status = static_cast<int>(aborting - 1);
    if (status == 0) status = 1;
    kill_children();
    leave(status);
  }
}

void on_child(int signal, siginfo_t* info, void* context) noexcept {
  const int saved_errno = errno;
  if (is_head()) look_at_children();
  errno = saved_errno;
  if ((former_child_action.sa_flags & SA_SIGINFO) != 0) {
    if (former_child_action.sa_sigaction != nullptr) former_child_action.sa_sigaction(signal, info, context);
  } else if (former_child_action.sa_handler != SIG_DFL && former_child_action.sa_handler != SIG_IGN) {
    former_child_action.sa_handler(signal);
  }
}

// Once a second, by each thread that waits.
void look_now_and_then() noexcept {
  static std::atomic<time_t> next_s{0};
  timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  time_t due = next_s.load(std::memory_order_relaxed);
  if (now.tv_sec < due || !next_s.compare_exchange_strong(due, now.tv_sec + 1, std::memory_order_relaxed)) return;
  const int saved_errno = errno;
  if (due != 0 && is_head()) look_at_children();
  errno = saved_errno;
}

// A child: its parent is gone. What it died of is not told to its children. Every fatal signal that can be caught
// was recorded by its handler, and exit() says so too; SIGKILL and _exit() leave no trace but the head's status, which
// can be read until the head's own parent has taken it.
[[noreturn]] void parent_is_gone() noexcept {
  const pid_t head = page->members()[0].pid.load(std::memory_order_acquire);
  const std::optional<int> status = status_of_ended(head);
  remove_files();
  if (page->head_leaves.load(std::memory_order_acquire) != 0) base::leave(1);
  const int recorded = page->head_signal.load(std::memory_order_acquire);
  if (!status && recorded == 0) {
    const timespec moment{0, 20'000'000};  // another child may have been in time
    nanosleep(&moment, nullptr);
  }
  if (claim_report()) {
    if (recorded != 0) {
      say_killed(0, recorded);
    } else if (!status) {
      say_killed_or_exited();
    } else if (WIFEXITED(*status)) {
      say_exited(0, WEXITSTATUS(*status));
    } else {
      say_killed(0, WTERMSIG(*status));
    }
  }
  base::leave(1);
}
void on_parent_death(int) noexcept {
  if (page->members()[own_member].state.load(std::memory_order_acquire) == phase::finalized) return;
  // The kernel means the thread that has forked us. As long as its process lives we are another thread's, and hear of
  // that one's end too.
  if (getppid() == page->members()[0].pid.load(std::memory_order_acquire)) return;
  parent_is_gone();
}

// The head ends by SIGNAL. Its children die of it, and on_child(), on another thread of this process, takes this status
// and not theirs. What an earlier abort said stays.
void ends_by(int signal) noexcept {
  std::uint32_t none = 0;
  page->aborting.compare_exchange_strong(none, 1 + 128 + static_cast<std::uint32_t>(signal), std::memory_order_acq_rel);
}

void on_polite(int signal) noexcept {
  if (own_member != 0) {
    kill(page->members()[0].pid.load(std::memory_order_acquire), signal);
    return;
  }
  const std::uint32_t aborting = page->aborting.load(std::memory_order_acquire);
  page->head_leaves.store(1, std::memory_order_release);
  claim_report();
  ends_by(signal);
  kill_children();
  if (aborting != 0) base::leave(static_cast<int>(aborting - 1));
  tell_other_hosts(128 + signal);
  die_of(signal);
}

void on_fatal(int signal, siginfo_t* info, void* context) noexcept {
  if ((signal == SIGSEGV || signal == SIGBUS) && explain_fault != nullptr && info->si_code > 0 &&
      explain_fault(info->si_addr, context)) {
    return;
  }
  if (own_member == 0 && page->total > 1) {
    page->head_signal.store(signal, std::memory_order_release);
    if (claim_report()) say_killed(0, signal);
    ends_by(signal);
    kill_children();
    tell_other_hosts(128 + signal);
  }
  die_of(signal);
}

void install(int signal, void (*handler)(int, siginfo_t*, void*), int flags) noexcept {
  struct sigaction now {};
  sigaction(signal, nullptr, &now);
  const bool is_default = (now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == SIG_DFL;
  if (!is_default && signal != SIGCHLD) return;  // the program, or its caller (nohup), has decided
  if (signal == SIGCHLD) sigaction(signal, nullptr, &former_child_action);
  struct sigaction mine {};
  mine.sa_sigaction = handler;
  mine.sa_flags = SA_SIGINFO | SA_ONSTACK | flags;
  sigfillset(&mine.sa_mask);
  sigaction(signal, &mine, nullptr);
}

// Handlers must not run on a task's stack: it may have overflowed, and another worker may be copying it.
void give_handlers_a_stack() noexcept {
  constexpr std::size_t bytes = 64 * 1024;
  stack_t own{};
  own.ss_size = bytes;
  own.ss_sp = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (own.ss_sp != MAP_FAILED) sigaltstack(&own, nullptr);
}

}  // namespace

void kill_children() noexcept {
  for (std::uint32_t child = 1; child < page->size; ++child) {
    const pid_t pid = page->members()[child].pid.load(std::memory_order_acquire);
    if (pid > 0) kill(pid, SIGKILL);
  }
  for (std::uint32_t child = 1; child < page->size; ++child) {
    const pid_t pid = page->members()[child].pid.load(std::memory_order_acquire);
    if (pid > 0) waitpid(pid, nullptr, 0);
  }
  remove_files();
}

bool claim_report() noexcept {
  const bool first_here = page->reported.exchange(1, std::memory_order_acq_rel) == 0;
  return first_here && (of_node == nullptr || of_node->reported.exchange(1, std::memory_order_acq_rel) == 0);
}

bool is_finalized() noexcept { return page->members()[0].state.load(std::memory_order_acquire) == phase::finalized; }

void end_from_outside(std::string_view sentence, int status, bool by_launcher) noexcept {
  if (claim_report()) {
    line l;
    (l << "tobi: " << sentence << "\n").write_to(STDERR_FILENO);
  }
  // The children's deaths are this one's, also for the handler that sees them.
  std::uint32_t none = 0;
  page->aborting.compare_exchange_strong(none, 1 + static_cast<std::uint32_t>(status));
  kill_children();
  if (by_launcher) leave(status);
  base::leave(status);
}

std::string_view own_host() noexcept { return host_name; }

void set_rest_of_job(exchange* ends_by, void (*tells)(int status) noexcept) noexcept {
  launcher.store(ends_by, std::memory_order_release);
  tell_hosts.store(tells, std::memory_order_release);
}

void block_signals(bool block) noexcept {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  sigaddset(&set, death_signal());
  for (const int s : polite) sigaddset(&set, s);
  sigprocmask(block ? SIG_BLOCK : SIG_UNBLOCK, &set, nullptr);
}

void watch(job_page& of, std::uint32_t member, const plan& spread) noexcept {
  page = &of;
  own_member = member;
  own_client = spread.self;
  of_node = spread.shared;
  if (of_node != nullptr) {
    files_of_node = files_of(*of_node, spread.clients());
    all_files_of_node = static_cast<std::size_t>(spread.clients()) * base::left_files_per_process;
  }
  base::note_files_at(page->files() + member * base::left_files_per_process,
                      of_node == nullptr || member != 0
                          ? nullptr
                          : files_of_node + static_cast<std::size_t>(own_client) * base::left_files_per_process);
  host_name = base::known_host_name();
  give_handlers_a_stack();
  for (const int s : faults) install(s, on_fatal, 0);
  if (member == 0 && page->total > 1) {
    for (const int s : other_fatal) install(s, on_fatal, 0);
  }
  if (page->total == 1) return;
  for (const int s : polite)
    install(
        s, [](int n, siginfo_t*, void*) { on_polite(n); }, SA_RESTART);
  if (member == 0) {
    if (page->size > 1) install(SIGCHLD, on_child, SA_RESTART);
    return;
  }
  install(
      death_signal(), [](int n, siginfo_t*, void*) { on_parent_death(n); }, SA_RESTART);
  prctl(PR_SET_PDEATHSIG, death_signal());
  if (getppid() != page->members()[0].pid.load(std::memory_order_acquire)) parent_is_gone();
}

void end_job(int status) noexcept {
  claim_report();
  std::uint32_t none = 0;
  page->aborting.compare_exchange_strong(none, static_cast<std::uint32_t>(status) + 1);
  if (own_member == 0) {
    page->head_leaves.store(1, std::memory_order_release);
    kill_children();
    leave(status);
  }
  // A child's end before finalize() ends the job: the head finds the status in the page.
  base::leave(status);
}

int reap_finalized(int own_status) noexcept {
  int worst = 0;
  bool is_said = false;
  for (std::uint32_t child = 1; child < page->size; ++child) {
    const pid_t pid = page->members()[child].pid.load(std::memory_order_acquire);
    int how = 0;
    while (waitpid(pid, &how, 0) < 0 && errno == EINTR) {
    }
    const bool is_killed = WIFSIGNALED(how);
    const int status = WIFEXITED(how) ? WEXITSTATUS(how) : is_killed ? 128 + WTERMSIG(how) : 0;
    if (status == 0) continue;
    if (worst == 0) worst = status;
    const bool is_quiet = is_killed ? WTERMSIG(how) == SIGPIPE && is_reader_gone() : status == own_status;
    if (is_quiet || std::exchange(is_said, true)) continue;
    (is_killed ? rank_killed(child, WTERMSIG(how)) << " after the job's end.\n"
               : rank_and_status(child, " ended", status) << ".\n")
        .write_to(STDERR_FILENO);
  }
  base::remove_files(page->files(), page->all_files());
  return worst;
}

}  // namespace forked

death_watch watch_for_deaths() noexcept {
  return forked::own_member == 0 && forked::page->size > 1 ? forked::look_now_and_then : nullptr;
}

}  // namespace tobi::bootstrap
