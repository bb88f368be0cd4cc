// SPDX-License-Identifier: Apache-2.0
// Runs a body as a job of its own, in a child process: a runtime forks, binds and ends processes, which the test
// program must not.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <tobi/tobi.hpp>
#include <utility>
#include <vector>

#include "tests/limits.hpp"

/// In the body of a job: ends it with status 3 where CONDITION does not hold, and says which condition, and where. What
/// is said on standard error is the outcome's. A macro, for the condition's text.
#define CHECK(...)                                                                                \
  do {                                                                                            \
    if (!(__VA_ARGS__)) {                                                                         \
      std::fprintf(stderr, "%s:%d: CHECK(%s) does not hold\n", __FILE__, __LINE__, #__VA_ARGS__); \
      return 3;                                                                                   \
    }                                                                                             \
  } while (false)

struct outcome {
  int status = -1;   // of rank 0: exit status, or 128 + signal
  std::string said;  // on standard error, by all ranks
};

using environment = std::initializer_list<std::pair<const char*, const char*>>;

/// BODY() runs in a process of its own, which it ends, or status 0 does. One that hangs is ended, and called late. One
/// that hangs by right is killed when it has said UNTIL_SAID.
template <class Body>
outcome in_child(Body body, const char* until_said = nullptr) {
  int said[2];
  if (pipe(said) != 0) return {};
  const pid_t child = fork();
  if (child == 0) {
    dup2(said[1], STDERR_FILENO);
    close(said[0]);
    close(said[1]);
    alarm(hang_s());
    body();
    _exit(0);
  }
  close(said[1]);
  outcome o;
  char buffer[4096];
  for (ssize_t n; (n = read(said[0], buffer, sizeof buffer)) > 0;) {
    o.said.append(buffer, static_cast<std::size_t>(n));
    if (until_said != nullptr && o.said.find(until_said) != std::string::npos) kill(child, SIGKILL);
  }
  close(said[0]);
  int how = 0;
  waitpid(child, &how, 0);
  o.status = WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how);
  if (WIFSIGNALED(how) && WTERMSIG(how) == SIGALRM) std::printf("late - ran for %u s without an end\n", hang_s());
  return o;
}

/// Sets ENV in this process. With TESTS_OVER=verbs a job that would be over a network, simulated or real, is over that
/// transport.
inline void set_all(std::span<const std::pair<const char*, const char*>> env) {
  const char* const over = std::getenv("TESTS_OVER");
  for (const auto& [name, value] : env) {
    const bool is_network = std::string_view(name) == "TOBI_TRANSPORT" &&
                            (std::string_view(value) == "sim" || std::string_view(value) == "ofi");
    setenv(name, over != nullptr && is_network ? over : value, 1);
  }
}

/// BODY(rt) runs on every worker; what it returns on a rank is that process's exit status.
template <class Body>
outcome in_job(int workers, std::span<const std::pair<const char*, const char*>> env, Body body,
               const std::vector<std::pair<const char*, const char*>>& more = {}) {
  return in_child([&] {
    set_all(env);
    set_all(more);
    int status = 0;
    {
      tobi::runtime rt(tobi::options{.workers = workers});
      status = body(rt);
    }
    std::exit(status);
  });
}
template <class Body>
outcome in_job(int workers, environment env, Body body) {
  return in_job(workers, std::span(env.begin(), env.size()), body);
}

/// Of the ways in which a test is run, those that are named; with SOAK=1 all.
template <class Way>
std::vector<Way> some_of(std::vector<Way> all, std::initializer_list<std::string_view> named) {
  if (std::getenv("SOAK") == nullptr) {
    std::erase_if(all, [&](const Way& w) { return std::find(named.begin(), named.end(), w.name) == named.end(); });
  }
  return all;
}

/// A destructor that calls F, under an exception too.
template <class F>
struct at_the_end {
  F f;
  ~at_the_end() { f(); }
};
template <class F>
at_the_end(F) -> at_the_end<F>;
