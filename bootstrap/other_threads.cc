// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/other_threads.hpp"

#include <dirent.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "libcore/base/log.hpp"
#include "libcore/base/plain_text.hpp"

namespace tobi::bootstrap {

namespace {

constexpr std::size_t threads_max = 256;
std::array<std::atomic<std::uintptr_t*>, threads_max> frames{};  // of each stopped thread
std::atomic<std::size_t> stopped{0};
std::atomic<bool> go_on{false};
std::atomic<std::size_t> gone_on{0};

// No canary of its own: it is changed while this runs. Sleeping, so that nobody waits for the processor.
__attribute__((no_stack_protector)) void stop_here(int) {
  const std::size_t n = stopped.load(std::memory_order_relaxed);
  frames[n].store(static_cast<std::uintptr_t*>(__builtin_frame_address(0)), std::memory_order_relaxed);
  stopped.store(n + 1, std::memory_order_release);
  while (!go_on.load(std::memory_order_acquire)) {
    const timespec moment{0, 100'000};
    nanosleep(&moment, nullptr);
  }
  gone_on.fetch_add(1, std::memory_order_release);
}

template <class Condition>
void wait_until(Condition condition) {
  constexpr int at_most = 20'000;
  for (int i = 0; !condition(); ++i) {
    if (i == at_most)
      base::fatal("a thread of this process does not take signals; make tobi::runtime before it starts.");
    const timespec moment{0, 100'000};
    nanosleep(&moment, nullptr);
  }
}

// The end of the mapping that ADDRESS lies in: at least that of the stack.
std::uintptr_t* end_of_mapping(std::uintptr_t address) {
  std::uintptr_t* found = reinterpret_cast<std::uintptr_t*>(address);
  std::FILE* maps = std::fopen("/proc/self/maps", "re");
  if (maps == nullptr) return found;
  char line[512];
  while (std::fgets(line, sizeof line, maps) != nullptr) {
    unsigned long low = 0;
    unsigned long high = 0;
    if (std::sscanf(line, "%lx-%lx", &low, &high) == 2 && low <= address && address < high) {
      found = reinterpret_cast<std::uintptr_t*>(high);
    }
  }
  std::fclose(maps);
  return found;
}

// A thread that blocks the signal cannot be stopped. One whose functions have no canaries is none the worse for it.
bool takes_the_signal(const std::string& task) {
  base::file_in status("/proc/self/task/" + task + "/status");
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with("SigBlk:")) continue;
    const std::uint64_t blocked = std::strtoull(line.c_str() + line.find_first_of("0123456789abcdef", 7), nullptr, 16);
    return (blocked >> (stop_signal() - 1) & 1) == 0;
  }
  return false;
}

}  // namespace

int stop_signal() noexcept { return SIGRTMIN + 6; }

other_threads::other_threads(std::vector<stack_range>& stacks) {
  struct sigaction mine {};
  struct sigaction former {};
  mine.sa_handler = stop_here;
  sigfillset(&mine.sa_mask);
  mine.sa_flags = SA_RESTART;
  sigaction(stop_signal(), &mine, &former);
  stopped = 0;
  gone_on = 0;
  go_on = false;
  const auto self = syscall(SYS_gettid);
  // One after the other, so that each has a number of its own.
  if (DIR* tasks = opendir("/proc/self/task"); tasks != nullptr) {
    while (const dirent* task = readdir(tasks)) {
      const long id = std::strtol(task->d_name, nullptr, 10);
      if (id <= 0 || id == self) continue;
      if (!takes_the_signal(task->d_name)) {
        base::log(base::log_level::warn,
                  "a thread that blocks all signals keeps a stack protector's canary of its own; make tobi::runtime "
                  "before it starts.");
        continue;
      }
      const std::size_t before = stopped.load();
      if (before == threads_max)
        base::fatal("this process has too many threads; make tobi::runtime before they start.");
      if (syscall(SYS_tgkill, getpid(), id, stop_signal()) != 0) continue;  // it has ended
      wait_until([&] { return stopped.load(std::memory_order_acquire) > before; });
    }
    closedir(tasks);
  }
  for (std::size_t i = 0; i < stopped.load(); ++i) {
    std::uintptr_t* low = frames[i].load(std::memory_order_relaxed);
    stacks.push_back({low, end_of_mapping(reinterpret_cast<std::uintptr_t>(low))});
  }
}

other_threads::~other_threads() {
  go_on.store(true, std::memory_order_release);
  wait_until([] { return gone_on.load(std::memory_order_acquire) == stopped.load(); });
}

}  // namespace tobi::bootstrap
