// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/around.hpp"

#include <dirent.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "bootstrap/bootstrap.hpp"
#include "libcore/base/log.hpp"
#include "libcore/base/plain_text.hpp"

namespace tobi::bootstrap {

namespace {

// Bytes by chance that the kernel gives a program as it begins: forked processes have their parent's, and no other
// program has them. So a process id that is used again is no other's.
std::string own_mark() {
  std::uint64_t chance = 0;
  std::memcpy(&chance, reinterpret_cast<const void*>(getauxval(AT_RANDOM)), sizeof chance);
  std::array<char, 20> digits{};
  return {digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), chance, 16).ptr};
}

// What a launcher, or the user on each host, has told this process of its place: another launcher tells something else.
// Hydra has no name for its job, but a socket for each process.
std::string own_place() {
  std::string place;
  for (const char* name :
       {"PMIX_NAMESPACE", "PMIX_RANK", "PMI_FD", "PMI_PORT", "PMI_RANK", "TOBI_LISTEN", "TOBI_CONNECT"}) {
    const char* value = std::getenv(name);
    place += std::string("/") + (value == nullptr ? "" : value);
  }
  struct stat socket {};
  if (const char* fd = std::getenv("PMI_FD"); fd != nullptr && fstat(std::atoi(fd), &socket) == 0) {
    place += "/" + std::to_string(socket.st_ino);
  }
  return place;
}

// Of the path that LINK leads to; 0 where it leads nowhere.
long last_number_of(const char* link) {
  std::array<char, 64> path{};
  const ssize_t bytes = readlink(link, path.data(), path.size() - 1);
  const std::string_view to(path.data(), bytes < 0 ? 0 : static_cast<std::size_t>(bytes));
  return std::strtol(path.data() + (to.rfind('/') + 1), nullptr, 10);
}

std::string_view mark_found() {
  const char* given = std::getenv(job_mark);
  return given == nullptr ? "" : given;
}

}  // namespace

std::vector<std::string> other_threads_here() {
  std::vector<std::string> names;
  DIR* const tasks = opendir("/proc/self/task");
  if (tasks == nullptr) return names;
  // As this /proc numbers them: it may be that of the processes outside of a container.
  const long self = last_number_of("/proc/thread-self");
  const long main = last_number_of("/proc/self");
  while (const dirent* task = readdir(tasks)) {
    const long id = std::strtol(task->d_name, nullptr, 10);
    if (id <= 0 || id == self || id == main) continue;
    std::string name = "?";
    base::file_in in("/proc/self/task/" + std::string(task->d_name) + "/comm");
    std::getline(in, name);
    names.push_back(name);
  }
  closedir(tasks);
  return names;
}

std::string lost_threads(const std::vector<std::string>& threads) {
  if (threads.empty()) return "";
  constexpr std::size_t most = 4;
  std::string names;
  for (std::size_t i = 0; i < threads.size() && i < most; ++i) names += (i == 0 ? "" : ", ") + threads[i];
  if (threads.size() > most) names += ", ...";
  const bool one = threads.size() == 1;
  return (one ? "a thread runs already (" : std::to_string(threads.size()) + " threads run already (") + names +
         "), and the workers that are forked now do not have " + (one ? "it" : "them") + ": what waits for " +
         (one ? "it" : "one of them") +
         " there waits for ever; make tobi::runtime before threads, OpenMP regions and MPI_Init.";
}

bool has_the_place_of_a_job() { return mark_found().ends_with(own_place()); }

void mark_job(bool launched) {
  const std::string_view found = mark_found();
  const std::string own = own_mark() + ":";
  if (found.starts_with(own)) {
    constexpr std::string_view why =
        "two copies of Tobiuo's library are in this process, and a job of the other one lives; link the program and "
        "its plugins with libtobi.so.";
    // That job's workers were forked by one process, which speaks for them. exit() lets the other copy end its job.
    if (!found.substr(own.size()).starts_with(std::to_string(getpid()) + "/"))
      base::fatal_everywhere(1, why, base::exit_usage);
    base::log(base::log_level::error, why);
    std::exit(base::exit_usage);
  }
  if (launched && has_the_place_of_a_job()) {
    base::fatal(
        "this program was started by a process of a running job, in whose launcher's environment it would wait for "
        "that job's other processes; set TOBI_BOOTSTRAP=fork for it to be a job of its own.",
        base::exit_usage);
  }
  setenv(job_mark, (own + std::to_string(getpid()) + own_place()).c_str(), 1);
}

void unmark_job() noexcept { unsetenv(job_mark); }

}  // namespace tobi::bootstrap
