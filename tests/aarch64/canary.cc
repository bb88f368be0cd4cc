// SPDX-License-Identifier: Apache-2.0
// A process that takes another canary while functions are running: they, those of other threads, and those that are
// called later must all end well. Built with a canary in every function, and without any library but the C and C++
// ones.
#include "bootstrap/canary.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>

#include "libcore/base/log.hpp"

namespace tobi::base {
void log(log_level, std::string_view) {}
void fatal(std::string_view message, int status) {
  std::printf("# %.*s\n", static_cast<int>(message.size()), message.data());
  std::fflush(stdout);
  _exit(status);
}
}  // namespace tobi::base

namespace {

int failed = 0;
void verdict(const char* rule, bool holds) {
  std::printf("%s - %s\n", holds ? "ok" : "not ok", rule);
  failed |= holds ? 0 : 1;
}

/// How a child that runs BODY ends: its exit status, or 128 + signal.
template <class Body>
int in_child(Body body) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    std::freopen("/dev/null", "w", stderr);
    body();
    _exit(0);
  }
  int how = 0;
  waitpid(child, &how, 0);
  return WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how);
}

constexpr std::uintptr_t fresh = 0x1122334455667700;

// Frames that were entered with the old canary and end with the new one.
__attribute__((noinline)) int nested(int depth, void (*change)()) {
  volatile char room[64];
  std::memset(const_cast<char*>(room), depth, sizeof room);
  if (depth == 0) change();
  return depth == 0 ? room[3] : nested(depth - 1, change) + room[5];
}
__attribute__((noinline)) int later() {
  volatile char room[64];
  std::memset(const_cast<char*>(room), 1, sizeof room);
  return room[7];
}

#if defined(__x86_64__)
// What must fail: the word alone is changed, and the live frames keep the old one.
__attribute__((no_stack_protector)) void change_the_word_alone() {
  *reinterpret_cast<std::uintptr_t*>(static_cast<char*>(__builtin_thread_pointer()) + 0x28) = fresh;
}
#endif

}  // namespace

int main() {
  verdict("functions that run while the canary changes end well",
          in_child([] {
            if (nested(20, [] { tobi::bootstrap::adopt_canary(fresh); }) == 0 || later() != 1) _exit(3);
            if (tobi::bootstrap::canary() != fresh) _exit(4);
          }) == 0);
#if defined(__x86_64__)
  verdict("without the change of the live frames they would not",
          in_child([] { nested(20, change_the_word_alone); }) == 128 + SIGABRT);
#endif
  verdict("it can change twice", in_child([] {
                                   nested(5, [] {
                                     tobi::bootstrap::adopt_canary(fresh);
                                     nested(5, [] { tobi::bootstrap::adopt_canary(fresh + 256); });
                                   });
                                 }) == 0);
  verdict("threads that run meanwhile end well, and so do those that start afterwards",
          in_child([] {
            static std::atomic<int> running{0};
            static std::atomic<bool> changed{false};
            const auto work = [] {
              nested(3, [] {
                ++running;
                while (!changed) later();
              });
            };
            std::thread one(work);
            std::thread two(work);
            while (running < 2) usleep(1000);
            tobi::bootstrap::adopt_canary(fresh);
            changed = true;
            one.join();
            two.join();
            std::thread([] { nested(3, [] { later(); }); }).join();
          }) == 0);
  return failed;
}
