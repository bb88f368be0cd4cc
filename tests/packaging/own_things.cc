// SPDX-License-Identifier: Apache-2.0
// A program that has things of its own next to the runtime; the argument says which: tests/packaging/own_things.sh.
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <mutex>
#include <string>
#include <thread>
#include <tobi/tobi.hpp>

namespace {

void answer(tobi::runtime& rt) {
  const long r = tobi::run([] { return 42L; });
  if (rt.rank() == 0) std::cout << rt.size() << " workers: " << r << "\n";
}

// What lies in buffers when workers are forked.
int buffers(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  std::cout << "cout begins\n";
  std::clog << "clog begins\n";
  std::printf("stdio begins\n");
  tobi::runtime rt(argc, argv);
  answer(rt);
  return 0;
}

// A thread that the workers will not have. It lives until the runtime has ended.
int thread(int argc, char** argv) {
  std::mutex lock;
  std::condition_variable ends;
  bool over = false;
  std::thread other([&] {
    std::unique_lock now(lock);
    ends.wait(now, [&] { return over; });
  });
  pthread_setname_np(other.native_handle(), "own-logger");
  bool is_first = false;
  {
    tobi::runtime rt(argc, argv);
    answer(rt);
    is_first = rt.rank() == 0;
  }
  if (!is_first) _exit(0);  // here the thread is not
  {
    const std::lock_guard now(lock);
    over = true;
  }
  ends.notify_all();
  other.join();
  return 0;
}

// SIGCHLD is the program's, and rank 1 dies.
int children(int argc, char** argv, const std::string& how) {
  tobi::runtime rt(argc, argv);
  if (how == "ignored") signal(SIGCHLD, SIG_IGN);
  if (how == "handled") {
    signal(SIGCHLD, [](int) {
      while (waitpid(-1, nullptr, WNOHANG) > 0) {
      }
    });
  }
  rt.barrier();
  if (rt.rank() == 1) raise(SIGKILL);
  if (how == "waited" && rt.rank() == 0) wait(nullptr);
  answer(rt);
  return 0;
}

// All descriptors are closed, as daemons do it, before the runtime is made or behind it; and then others are opened.
void close_all() {
  for (int fd = 3; fd < 1024; ++fd) close(fd);
}
int closes(int argc, char** argv, const std::string& when) {
  if (when == "before") close_all();
  tobi::runtime rt(argc, argv);
  if (when != "before") close_all();
  for (int fd = 3; when == "replaced" && fd < 64; ++fd) (void)open("/dev/zero", O_RDWR);
  const auto all = tobi::allocate_all<long>(100'000, tobi::block_cyclic(1 << 16));
  const long sum = tobi::run([all] {
    tobi::fill(all, 1L);
    return tobi::reduce(all);
  });
  if (rt.rank() == 0) std::cout << rt.size() << " workers: " << sum << "\n";
  return 0;
}

// A program that one of a job's processes starts: on rank 0, in main.
int nested(int argc, char** argv, const std::string& command) {
  tobi::runtime rt(argc, argv);
  int status = 0;
  if (rt.rank() == 0) status = std::system(command.c_str());
  answer(rt);
  if (rt.rank() == 0) std::cout << "it ended with status " << WEXITSTATUS(status) << "\n";
  return 0;
}

// A plugin that has another copy of the library inside.
int opens(const char* plugin) {
  void* const opened = dlopen(plugin, RTLD_NOW | RTLD_LOCAL);
  if (opened == nullptr) return 3;
  return reinterpret_cast<int (*)()>(dlsym(opened, "plugin_main"))();
}
int another_copy(int argc, char** argv, const char* plugin) {
  tobi::runtime rt(argc, argv);
  answer(rt);
  std::cout.flush();
  return opens(plugin);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string which = argc > 1 ? argv[1] : "";
  const std::string how = argc > 2 ? argv[2] : "";
  if (which == "buffers") return buffers(argc, argv);
  if (which == "thread") return thread(argc, argv);
  if (which == "children") return children(argc, argv, how);
  if (which == "closes") return closes(argc, argv, how);
  if (which == "nested") return nested(argc, argv, how);
  if (which == "copy") return another_copy(argc, argv, argv[2]);
  if (which == "opens") return opens(argv[2]);
  tobi::runtime rt(argc, argv);
  answer(rt);
  return 0;
}
