// SPDX-License-Identifier: Apache-2.0
#include "libcore/job/labels.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <string>
#include <utility>

#include "arch/clock.hpp"
#include "libcore/base/leave.hpp"
#include "libcore/base/log.hpp"
#include "libcore/base/refusal.hpp"
#include "libcore/base/standard_files.hpp"
#include "libcore/job/label_lines.hpp"

namespace tobi::job::labels {

namespace {

constexpr std::array<int, 2> own_outputs{STDOUT_FILENO, STDERR_FILENO};

// Where an output went: a descriptor, and what it is.
struct target {
  int fd = -1;
  dev_t device = 0;
  ino_t file = 0;
};
// Of this process. Signal handlers read it.
struct labeller {
  std::array<target, 2> before;
  pid_t process = 0;
  pid_t rank = 0;  // a process that the program forks has this, too
};
constinit labeller own;

[[noreturn]] void refused(const char* what) {
  base::fatal(std::string("TOBI_LABEL=1 cannot have ") + what +
              base::refusal(errno, "clone", "unset TOBI_LABEL, or let the launcher label lines"));
}

// False: the program has closed what it was, and may have opened something else there.
bool is_still(const target& t) noexcept {
  struct stat now {};
  return fstat(t.fd, &now) == 0 && now.st_dev == t.device && now.st_ino == t.file;
}

// Whether the process ends in time. A process that the program has started may write for longer than this one lives.
bool ends_soon(pid_t process, int& how) noexcept {
  constexpr std::uint64_t patience_ns = 2'000'000'000;
  constexpr long longest_ns = 1'000'000;
  const std::uint64_t begin = arch::now_ns();
  for (timespec moment{0, 20'000}; waitpid(process, &how, static_cast<int>(__WCLONE | WNOHANG)) == 0;
       moment.tv_nsec = std::min(2 * moment.tv_nsec, longest_ns)) {
    if (arch::now_ns() - begin > patience_ns) return false;
    nanosleep(&moment, nullptr);
  }
  return true;
}

// What was written has arrived, or is lost (false), and what comes from here on goes where it would have gone. Where
// that is closed the other process lasts until this one has ended. Called in signal handlers.
bool arrives() noexcept {
  const pid_t process = std::exchange(own.process, 0);
  if (process == 0 || getpid() != own.rank) return true;
  const int error = errno;
  bool all = true;
  for (std::size_t i = 0; i < own_outputs.size(); ++i) {
    if (own.before[i].fd < 0) continue;
    all = is_still(own.before[i]) && dup2(own.before[i].fd, own_outputs[i]) >= 0 && all;
  }
  int how = 0;
  const bool ended = all && ends_soon(process, how);
  errno = error;
  return !ended || how == 0;
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
    if (!base::can_be_written(own_outputs[i])) continue;  // the program has closed it, or never had it
    struct stat what {};
    const int copy = fcntl(own_outputs[i], F_DUPFD_CLOEXEC, 3);
    if (copy < 0 || fstat(copy, &what) != 0) refused("descriptors");
    made.before[i] = {copy, what.st_dev, what.st_ino};
    const two_ends lines = make_pipe();
    streams[i] = {lines.read, copy};
    writers[i] = lines.write;
  }
  std::fflush(nullptr);
  // No signal at its end: the program, and the bootstrap, have handlers for those of their own children.
  const long cloned = syscall(SYS_clone, 0, nullptr, nullptr, nullptr, nullptr);
  if (cloned < 0) refused("a process that labels lines");
  if (cloned == 0) label_lines(label, streams);
  made.process = static_cast<pid_t>(cloned);
  made.rank = getpid();
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
