#include "bootstrap/fork/death.hpp"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "bootstrap/bootstrap.hpp"
#include "libcore/base/log.hpp"

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
node_page* of_node = nullptr;  // where a launcher started several processes here
int own_client = 0;
char host_name[256] = "unknown host";
struct sigaction former_child_action;  // the program's own SIGCHLD handler, which still gets its turn

// Signals that mean "end" to a program that says nothing about them.
constexpr int polite[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
constexpr int faults[] = {SIGSEGV, SIGBUS};
constexpr int other_fatal[] = {SIGFPE, SIGILL, SIGABRT, SIGSYS, SIGXCPU, SIGUSR1, SIGUSR2, SIGALRM, SIGPIPE};

int death_signal() noexcept { return SIGRTMIN + 5; }

// Text without allocation, for handlers.
struct line {
  char text[512];
  std::size_t used = 0;
  line& add(std::string_view s) noexcept {
    for (const char c : s) {
      if (used < sizeof text) text[used++] = c;
    }
    return *this;
  }
  line& add(unsigned n) noexcept {
    char digits[12];
    std::size_t i = sizeof digits;
    do {
      digits[--i] = static_cast<char>('0' + n % 10);
      n /= 10;
    } while (n != 0);
    return add({digits + i, sizeof digits - i});
  }
  void print() noexcept {
    const ssize_t ignored = write(STDERR_FILENO, text, used);
    (void)ignored;
  }
};

std::string_view abbreviation(int signal) noexcept {
  const char* name = sigabbrev_np(signal);
  return name == nullptr ? "?" : name;
}

void say_killed(std::uint32_t member, int signal) noexcept {
  line l;
  l.add("tobi: rank ")
      .add(page->first + member)
      .add(" on ")
      .add(host_name)
      .add(" was killed by signal ")
      .add(static_cast<unsigned>(signal));
  l.add(" (SIG").add(abbreviation(signal)).add("); the job ends.\n").print();
  base::log_fatal_note();
}

void say_exited(std::uint32_t member, int status) noexcept {
  line l;
  l.add("tobi: rank ")
      .add(page->first + member)
      .add(" on ")
      .add(host_name)
      .add(" exited with status ")
      .add(static_cast<unsigned>(status));
  l.add(" before the job's end; the job ends.\n").print();
}

[[noreturn]] void die_of(int signal) noexcept {
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

// The launcher, if there is one, ends the other clients.
[[noreturn]] void leave(int status) noexcept {
  if (exchange* const tell = launcher.load(std::memory_order_acquire); tell != nullptr) tell->abort(status);
  _exit(status);
}

// The head: a child has changed state. Only the job's own processes are waited for: the program may have others.
void on_child(int signal, siginfo_t* info, void* context) noexcept {
  const int saved_errno = errno;
  for (std::uint32_t child = 1; child < page->size; ++child) {
    member& m = page->members()[child];
    const pid_t pid = m.pid.load(std::memory_order_acquire);
    if (pid <= 0 || m.state.load(std::memory_order_acquire) != phase::running) continue;
    siginfo_t how{};
    // WNOWAIT: a finalized one's status is for reap_finalized().
    if (waitid(P_PID, static_cast<id_t>(pid), &how, WEXITED | WNOHANG | WNOWAIT) != 0 || how.si_pid != pid) continue;
    if (m.state.load(std::memory_order_acquire) != phase::running) continue;
    int status = how.si_status;
    const bool first = claim_report();
    const std::uint32_t aborting = page->aborting.load(std::memory_order_acquire);
    if (how.si_code == CLD_EXITED) {
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
  errno = saved_errno;
  if ((former_child_action.sa_flags & SA_SIGINFO) != 0) {
    if (former_child_action.sa_sigaction != nullptr) former_child_action.sa_sigaction(signal, info, context);
  } else if (former_child_action.sa_handler != SIG_DFL && former_child_action.sa_handler != SIG_IGN) {
    former_child_action.sa_handler(signal);
  }
}

// A child: its parent is gone. What it died of is not told to its children. Every fatal signal that can be caught
// was recorded by its handler, and an exit says so too; only SIGKILL leaves no trace.
[[noreturn]] void parent_is_gone() noexcept {
  if (page->head_leaves.load(std::memory_order_acquire) == 0 && claim_report()) {
    const int recorded = page->head_signal.load(std::memory_order_acquire);
    say_killed(0, recorded != 0 ? recorded : SIGKILL);
  }
  _exit(1);
}
void on_parent_death(int) noexcept {
  if (page->members()[own_member].state.load(std::memory_order_acquire) == phase::finalized) return;
  parent_is_gone();
}

void on_polite(int signal) noexcept {
  if (own_member != 0) {
    kill(page->members()[0].pid.load(std::memory_order_acquire), signal);
    return;
  }
  const std::uint32_t aborting = page->aborting.load(std::memory_order_acquire);
  page->head_leaves.store(1, std::memory_order_release);
  claim_report();
  kill_children();
  if (aborting != 0) _exit(static_cast<int>(aborting - 1));
  die_of(signal);
}

void on_fatal(int signal, siginfo_t* info, void*) noexcept {
  if ((signal == SIGSEGV || signal == SIGBUS) && explain_fault != nullptr && info->si_code > 0)
    explain_fault(info->si_addr);
  if (own_member == 0 && page->total > 1) {
    page->head_signal.store(signal, std::memory_order_release);
    if (claim_report()) say_killed(0, signal);
    kill_children();
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
}

namespace {

// What was known of each client when the job started, as text: read on the launcher's threads.
std::vector<std::string> client_names;

// Another client is gone. Called on a thread of the launcher's library, or on that of watch_neighbours().
void client_lost(int client, const char* how) noexcept {
  if (page->members()[0].state.load(std::memory_order_acquire) == phase::finalized) return;
  if (claim_report()) {
    line l;
    l.add("tobi: ");
    if (client < 0) {
      l.add("the launcher's server on ").add(host_name);
    } else {
      l.add(client_names[static_cast<std::size_t>(client)]);
    }
    l.add(" is gone (").add(how).add("); the job ends.\n").print();
  }
  // The children's deaths are this one's, also for the handler that sees them.
  std::uint32_t none = 0;
  page->aborting.compare_exchange_strong(none, 1 + base::exit_failure);
  kill_children();
  _exit(base::exit_failure);
}

}  // namespace

bool claim_report() noexcept {
  const bool first_here = page->reported.exchange(1, std::memory_order_acq_rel) == 0;
  return first_here && (of_node == nullptr || of_node->reported.exchange(1, std::memory_order_acq_rel) == 0);
}

void say_finished() noexcept {
  if (of_node != nullptr) of_node->finished[own_client].store(1, std::memory_order_release);
}

void set_launcher(exchange* to, const plan& spread) {
  if (to != nullptr) {
    for (int c = 0; c < spread.clients(); ++c) {
      const int first = spread.first[static_cast<std::size_t>(c)];
      const int last = first + spread.workers(c) - 1;
      client_names.push_back((first == last
                                  ? "rank " + std::to_string(first)
                                  : "the process of ranks " + std::to_string(first) + " to " + std::to_string(last)) +
                             " on " + spread.hosts[static_cast<std::size_t>(c)]);
    }
    to->watch(client_lost);
    if (spread.shared != nullptr) watch_neighbours(spread.neighbours, spread.shared, client_lost);
  }
  launcher.store(to, std::memory_order_release);
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
  gethostname(host_name, sizeof host_name - 1);
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
  _exit(status);
}

int reap_finalized() noexcept {
  int worst = 0;
  for (std::uint32_t child = 1; child < page->size; ++child) {
    const pid_t pid = page->members()[child].pid.load(std::memory_order_acquire);
    int how = 0;
    while (waitpid(pid, &how, 0) < 0 && errno == EINTR) {
    }
    const int status = WIFEXITED(how) ? WEXITSTATUS(how) : WIFSIGNALED(how) ? 128 + WTERMSIG(how) : 0;
    if (status == 0 || worst != 0) continue;
    worst = status;
    line l;
    l.add("tobi: rank ")
        .add(page->first + child)
        .add(" on ")
        .add(host_name)
        .add(" ended with status ")
        .add(static_cast<unsigned>(status));
    l.add(".\n").print();
  }
  return worst;
}

}  // namespace forked
}  // namespace tobi::bootstrap
