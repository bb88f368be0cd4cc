// SPDX-License-Identifier: Apache-2.0
#include "tools/info/child.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sstream>
#include <utility>

#include "arch/clock.hpp"

namespace tobi_info {

namespace {

std::string content(int fd) {
  std::string text;
  char piece[4096];
  for (off_t at = 0;;) {
    const ssize_t n = pread(fd, piece, sizeof piece, at);
    if (n <= 0) return text;
    text.append(piece, static_cast<std::size_t>(n));
    at += n;
  }
}

// The first error that Tobiuo itself has printed, which is the cause of the others. Without the name of the rank and
// without its full stop: it becomes part of a sentence.
std::string first_error(const std::string& printed) {
  constexpr std::string_view prefix = "tobi: ";
  std::istringstream lines(printed);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(prefix)) continue;
    line.erase(0, prefix.size());
    bool grave = true;
    for (const char* level : {"warning", "info", "debug", "trace"}) grave = grave && !line.starts_with(level);
    if (!grave) continue;
    if (const std::size_t colon = line.find(": "); line.starts_with("rank ") && colon != std::string::npos &&
                                                   std::count(line.data(), line.data() + colon, ' ') == 3) {
      line.erase(0, colon + 2);
    }
    if (line.ends_with('.')) line.pop_back();
    return line;
  }
  return "";
}

std::string how_it_ended(int status, const std::string& printed) {
  const std::string said = first_error(printed);
  if (WIFSIGNALED(status)) {
    return "it crashed with signal " + std::to_string(WTERMSIG(status)) + " (" + strsignal(WTERMSIG(status)) + ")" +
           (said.empty() ? "" : "; before that: " + said);
  }
  if (!said.empty()) return said;
  // Libraries that catch the signals of their process say in words of their own what happened, and exit.
  constexpr std::size_t readable = 160;
  const std::size_t start = std::min(printed.find_first_not_of('\n'), printed.size());
  const std::string words = printed.substr(start, std::min(printed.find('\n', start) - start, readable));
  return "it ended with status " + std::to_string(WEXITSTATUS(status)) +
         (words.empty() ? " and no reason" : ": " + words);
}

}  // namespace

child::child(const std::string& what) : started_ns_(tobi::arch::now_ns()) {
  out_ = memfd_create("tobi-info", MFD_CLOEXEC);
  err_ = memfd_create("tobi-info", MFD_CLOEXEC);
  const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  const pid_t parent = getpid();
  if (out_ >= 0 && err_ >= 0 && null >= 0) pid_ = fork();
  if (pid_ == 0) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    dup2(null, STDIN_FILENO);
    dup2(out_, STDOUT_FILENO);
    dup2(err_, STDERR_FILENO);
    execl("/proc/self/exe", "tobi-info", "--probe", what.c_str(), nullptr);
    _exit(127);
  }
  if (pid_ < 0) refused_ = std::string("no process could be started for it (") + std::strerror(errno) + ")";
  if (pid_ > 0) setpgid(pid_, pid_);  // the one that comes first
  if (null >= 0) close(null);
}

child::child(child&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      out_(std::exchange(other.out_, -1)),
      err_(std::exchange(other.err_, -1)),
      started_ns_(other.started_ns_),
      refused_(std::move(other.refused_)) {}

child::~child() {
  if (pid_ > 0) {
    kill(-pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  if (out_ >= 0) close(out_);
  if (err_ >= 0) close(err_);
}

json child::collect(int seconds, std::string& trouble) {
  trouble = refused_;
  if (pid_ < 0) return json::object();
  const std::uint64_t limit_ns = static_cast<std::uint64_t>(seconds) * 1'000'000'000;
  int status = 0;
  pid_t ended = 0;
  while ((ended = waitpid(pid_, &status, WNOHANG)) == 0 && tobi::arch::now_ns() - started_ns_ < limit_ns) {
    const timespec moment{0, 2'000'000};
    nanosleep(&moment, nullptr);
  }
  kill(-pid_, SIGKILL);  // also what a crash has left behind
  if (ended == 0) {
    waitpid(pid_, nullptr, 0);
    trouble = "it did not end within " + std::to_string(seconds) + " seconds and was stopped";
  } else if (status != 0) {
    trouble = how_it_ended(status, content(err_));
  }
  pid_ = -1;

  json all = json::object();
  std::istringstream lines(content(out_));
  for (std::string line; std::getline(lines, line);) {
    if (const json one = json::parse(line, nullptr, false); one.is_object()) all.update(one);
  }
  if (trouble.empty() && !all.contains(finished)) trouble = "it exited in the middle, with status 0";
  all.erase(finished);
  return all;
}

}  // namespace tobi_info
