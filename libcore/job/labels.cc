// SPDX-License-Identifier: Apache-2.0
#include "libcore/job/labels.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>

#include "libcore/base/leave.hpp"
#include "libcore/base/log.hpp"
#include "libcore/base/refusal.hpp"
#include "libcore/job/label_lines.hpp"

namespace tobi::job::labels {

namespace {

constexpr std::array<int, 2> own_outputs{STDOUT_FILENO, STDERR_FILENO};

// Of this process. Signal handlers read it.
struct labeller {
  std::array<int, 2> before{-1, -1};  // where the outputs went
  int done = -1;                      // readable, at its end, when the other process has ended
  pid_t process = 0;
  pid_t rank = 0;  // a process that the program forks has this, too
};
constinit labeller own;

[[noreturn]] void refused(const char* what) {
  base::fatal(std::string("TOBI_LABEL=1 cannot have ") + what +
              base::refusal(errno, "clone", "unset TOBI_LABEL, or let the launcher label lines"));
}

// What was written has arrived, or is lost (false), and what comes from here on goes where it would have gone. Called in
// signal handlers.
bool arrives() noexcept {
  if (own.process == 0 || getpid() != own.rank) return true;
  const int error = errno;
  for (std::size_t i = 0; i < own_outputs.size(); ++i) {
    if (own.before[i] >= 0) dup2(own.before[i], own_outputs[i]);
  }
  // A process that the program has started may write for longer.
  constexpr int patience_ms = 2000;
  pollfd end{own.done, POLLIN, 0};
  while (poll(&end, 1, patience_ms) < 0 && errno == EINTR) {
  }
  int how = 0;
  if (end.revents != 0) waitpid(own.process, &how, __WCLONE);
  own.process = 0;
  errno = error;
  return how == 0;
}
void arrive() noexcept { (void)arrives(); }

void at_exit(int status, void*) {
  if (own.process == 0 || getpid() != own.rank) return;
  std::fflush(nullptr);
  std::cout.flush();
  std::clog.flush();
  if (arrives()) return;
  base::log(base::log_level::error, "not all of the output could be written.");
  _exit(status == 0 ? base::exit_failure : status);
}

struct two_ends {
  int read = -1;
  int write = -1;
};
two_ends make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) refused("pipes");
  return {ends[0], ends[1]};
}

}  // namespace

void prepare() {
  if (on_exit(at_exit, nullptr) != 0) base::fatal("the C library has no room for another exit handler.");
}

void start(int rank) {
  const std::string label = "[" + std::to_string(rank) + " " + base::known_host_name() + "] ";
  std::array<labelled_stream, 2> streams;
  std::array<int, 2> writers{-1, -1};
  labeller made;
  for (std::size_t i = 0; i < streams.size(); ++i) {
    made.before[i] = fcntl(own_outputs[i], F_DUPFD_CLOEXEC, 3);
    if (made.before[i] < 0 && errno == EBADF) continue;  // the program has closed it, or never had it
    if (made.before[i] < 0) refused("descriptors");
    const two_ends lines = make_pipe();
    streams[i] = {lines.read, made.before[i]};
    writers[i] = lines.write;
  }
  const two_ends done = make_pipe();
  made.done = done.read;
  // No signal at its end: the program, and the bootstrap, have handlers for those of their own children.
  std::fflush(nullptr);
  const long cloned = syscall(SYS_clone, 0, nullptr, nullptr, nullptr, nullptr);
  if (cloned < 0) refused("a process that labels lines");
  if (cloned == 0) label_lines(label, streams, done.write);
  made.process = static_cast<pid_t>(cloned);
  made.rank = getpid();
  close(done.write);
  for (std::size_t i = 0; i < streams.size(); ++i) {
    if (writers[i] < 0) continue;
    // On a terminal a line shows when it is written.
    if (own_outputs[i] == STDOUT_FILENO && isatty(STDOUT_FILENO) != 0) std::setvbuf(stdout, nullptr, _IOLBF, 0);
    dup2(writers[i], own_outputs[i]);
    close(writers[i]);
    close(streams[i].from);
  }
  own = made;
  base::at_last = arrive;
}

}  // namespace tobi::job::labels
