// SPDX-License-Identifier: Apache-2.0
// Turns the kernel's randomization of addresses off for this process, which takes an execve. It happens in a
// constructor, and only where main has not begun: else its input would be lost, and its output and files made twice.
//
// The kernel decides about all addresses of a process, those of later mappings too, as it executes it. So the
// personality is the old one again right after, and what this process starts is randomized as without Tobiuo.
#include <sys/auxv.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/came_with_program.hpp"
#include "bootstrap/layout.hpp"
#include "bootstrap/tcp/meeting.hpp"
#include "libcore/base/log.hpp"

namespace tobi::bootstrap {

namespace {

// In the environment: "again" for the process that is about to be executed anew, so that it never happens twice; then a
// place on its stack. Another copy of the library, opened later, knows the process by it. A program that this one
// starts inherits the mark, and has another stack. Not TOBI_...: it is no setting.
constexpr const char* mark = "_TOBIUO_FIXED_ADDRESSES";
constexpr const char* again = "again";
constexpr unsigned long ask = 0xffffffff;

const char* failed_step = nullptr;
int failed_why = 0;
const char* why_not = "it was not kept by execve";
const char* what_to_do = "allow the call personality in the container (seccomp), or start the program under setarch -R";

// Where the kernel has put the random bytes of this process.
std::string place_on_stack() { return std::to_string(getauxval(AT_RANDOM)); }

bool mark_says(const std::string& what) {
  const char* said = std::getenv(mark);
  return said != nullptr && said == what;
}

bool was_executed_fixed = false;  // also where the program clears its environment

bool is_fixed() {
  if (was_executed_fixed || mark_says(place_on_stack())) return true;
  const int now = personality(ask);
  return now != -1 && (static_cast<unsigned>(now) & ADDR_NO_RANDOMIZE) != 0;
}

void fail(const char* step) noexcept {
  failed_step = step;
  failed_why = errno;
}

// The arguments as the kernel keeps them: before main nobody else has them.
bool read_arguments(std::string& text) {
  std::FILE* in = std::fopen("/proc/self/cmdline", "re");
  if (in == nullptr) return false;
  char piece[4096];
  for (std::size_t n; (n = std::fread(piece, 1, sizeof piece, in)) > 0;) text.append(piece, n);
  std::fclose(in);
  return !text.empty() && text.back() == '\0';
}

void execute_anew() {
  std::string text;
  if (!read_arguments(text)) return fail("read /proc/self/cmdline");
  std::vector<char*> arguments;
  for (std::size_t at = 0; at < text.size(); at += std::strlen(text.data() + at) + 1)
    arguments.push_back(text.data() + at);
  arguments.push_back(nullptr);
  const int before = personality(ask);
  if (before == -1 || personality(static_cast<unsigned>(before) | ADDR_NO_RANDOMIZE) == -1) {
    return fail("call personality(ADDR_NO_RANDOMIZE)");
  }
  setenv(mark, again, 1);
  execv("/proc/self/exe", arguments.data());
  fail("execute /proc/self/exe");
  unsetenv(mark);
  personality(static_cast<unsigned>(before));
}

void take_personality_back() {
  if (!is_fixed()) return;
  was_executed_fixed = true;
  personality(static_cast<unsigned>(personality(ask)) & ~static_cast<unsigned>(ADDR_NO_RANDOMIZE));
  setenv(mark, place_on_stack().c_str(), 1);
}

// What ps and debuggers call this process: execve took it from the path, and that was "exe".
void take_name_back() noexcept {
  char path[4096];
  const ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
  if (n <= 0) return;
  path[n] = '\0';
  const char* slash = std::strrchr(path, '/');
  prctl(PR_SET_NAME, slash == nullptr ? path : slash + 1);
}

bool is_one(const char* name) noexcept {
  const char* value = std::getenv(name);
  return value != nullptr && std::strcmp(value, "1") == 0;
}

// The launcher has started this process alone: what it forks has its addresses.
bool is_alone() noexcept {
  if (tcp::is_asked()) return false;
  for (const char* count : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    if (std::getenv(count) != nullptr) return is_one(count);
  }
  // A shell that srun has started has Slurm's count for what another launcher starts there.
  const char* space = std::getenv("PMIX_NAMESPACE");
  return space != nullptr && std::strncmp(space, "slurm.", 6) == 0 && is_one("SLURM_STEP_NUM_TASKS");
}

// Before the constructors without a priority, those of the program among them.
[[gnu::constructor(101)]] void fix_addresses() {
  if (!launched() || is_alone()) return;
  if (mark_says(again)) {
    unsetenv(mark);
    take_personality_back();
    take_name_back();
    return;
  }
  if (is_fixed()) return;
  if (!came_with_program()) {
    why_not = "a program that was already running has opened Tobiuo's library, and cannot begin again";
    what_to_do = "start the program under setarch -R, as in mpirun -n 2 setarch -R python3 module.py";
    return;
  }
  if (!is_exe_the_program()) {
    why_not = "/proc/self/exe is not the program that runs, as under valgrind";
    what_to_do = "put setarch -R in front, as in mpirun -n 2 setarch -R valgrind ./program";
    return;
  }
  execute_anew();
}

}  // namespace

void require_fixed_addresses() {
  if (is_fixed() || is_alone()) return;
  std::string why = why_not;
  if (failed_step != nullptr) why = std::string("cannot ") + failed_step + ": " + std::strerror(failed_why);
  base::fatal("this process runs at randomized addresses, and the workers of a launcher need equal ones (" + why +
              "); " + what_to_do + ".");
}

}  // namespace tobi::bootstrap
