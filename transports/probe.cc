// SPDX-License-Identifier: Apache-2.0
// Whether a transport can serve, asked in a child process. What a library opens as it is asked must not be inherited by
// workers: the kernel refuses a verbs device to a process that has forked since, and libfabric keeps what it opened.
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "libcore/base/log.hpp"
#include "transports/registry.hpp"

namespace tobi::transports {

std::string unusable_apart(const registry_entry& entry, const context& where) {
  int answer[2];
  if (pipe(answer) != 0) base::fatal(std::string("no pipe (") + std::strerror(errno) + ").");
  const pid_t child = fork();
  if (child < 0)
    base::fatal(std::string("no process to ask ") + std::string(entry.name) + " in (" + std::strerror(errno) + ").");
  if (child == 0) {
    close(answer[0]);
    const std::string why = entry.unusable(where);
    const bool told = write(answer[1], why.data(), why.size()) == static_cast<ssize_t>(why.size());
    _exit(told ? 0 : 1);
  }
  close(answer[1]);
  std::string why;
  char part[512];
  for (ssize_t n; (n = read(answer[0], part, sizeof part)) > 0 || (n < 0 && errno == EINTR);) {
    if (n > 0) why.append(part, static_cast<std::size_t>(n));
  }
  close(answer[0]);
  int how = 0;
  while (waitpid(child, &how, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(how)) return "its library died of signal " + std::to_string(WTERMSIG(how)) + " when it was asked";
  if (how != 0) return "its library ended the process when it was asked";
  return why;
}

}  // namespace tobi::transports
