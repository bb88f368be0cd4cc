// Runs a body as a job of its own, in a child process: a runtime forks, binds and ends processes, which the test
// program must not.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <initializer_list>
#include <span>
#include <string>
#include <tobi/tobi.hpp>
#include <utility>
#include <vector>

struct outcome {
  int status = -1;   // of rank 0: exit status, or 128 + signal
  std::string said;  // on standard error, by all ranks
};

using environment = std::initializer_list<std::pair<const char*, const char*>>;

/// BODY(rt) runs on every worker; what it answers on a rank is that process's exit status.
template <class Body>
outcome in_job(int workers, std::span<const std::pair<const char*, const char*>> env, Body body,
               const std::vector<std::pair<const char*, const char*>>& more = {}) {
  int said[2];
  if (pipe(said) != 0) return {};
  const pid_t child = fork();
  if (child == 0) {
    dup2(said[1], STDERR_FILENO);
    close(said[0]);
    close(said[1]);
    for (const auto& [name, value] : env) setenv(name, value, 1);
    for (const auto& [name, value] : more) setenv(name, value, 1);
    alarm(60);  // a hang is a failure of this test alone
    int status = 0;
    {
      tobi::runtime rt(tobi::options{.workers = workers});
      status = body(rt);
    }
    std::exit(status);
  }
  close(said[1]);
  outcome o;
  char buffer[4096];
  for (ssize_t n; (n = read(said[0], buffer, sizeof buffer)) > 0;) o.said.append(buffer, static_cast<std::size_t>(n));
  close(said[0]);
  int how = 0;
  waitpid(child, &how, 0);
  o.status = WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how);
  return o;
}
template <class Body>
outcome in_job(int workers, environment env, Body body) {
  return in_job(workers, std::span(env.begin(), env.size()), body);
}
