// SPDX-License-Identifier: Apache-2.0
// Preloaded: one call of the system fails, as on a machine that has no more of it. See failing.hpp for which.
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <new>

#include "failing.hpp"

namespace {

using failing::real;

bool fails(const char* call, int with) {
  if (!failing::fails(call, with)) return false;
  errno = with;
  return true;
}

}  // namespace

#define PASSES(result, name, parameters, arguments, with, failed) \
  extern "C" result name parameters {                             \
    if (fails(#name, with)) return failed;                        \
    static const auto go = real(&name, #name);                    \
    return go arguments;                                          \
  }

PASSES(void*, mmap, (void* at, size_t n, int protection, int flags, int fd, off_t from) noexcept,
       (at, n, protection, flags, fd, from), ENOMEM, MAP_FAILED)
PASSES(int, mprotect, (void* at, size_t n, int protection) noexcept, (at, n, protection), ENOMEM, -1)
PASSES(int, madvise, (void* at, size_t n, int advice) noexcept, (at, n, advice), ENOMEM, -1)
PASSES(int, memfd_create, (const char* name, unsigned flags) noexcept, (name, flags), EMFILE, -1)
PASSES(int, ftruncate, (int fd, off_t n) noexcept, (fd, n), ENOSPC, -1)
PASSES(int, fallocate, (int fd, int mode, off_t from, off_t n), (fd, mode, from, n), ENOSPC, -1)
PASSES(int, pipe2, (int* ends, int flags) noexcept, (ends, flags), EMFILE, -1)
PASSES(int, eventfd, (unsigned count, int flags) noexcept, (count, flags), EMFILE, -1)
PASSES(pid_t, fork, () noexcept, (), EAGAIN, -1)
PASSES(int, execv, (const char* path, char* const* with) noexcept, (path, with), E2BIG, -1)
PASSES(ssize_t, readlink, (const char* path, char* to, size_t n) noexcept, (path, to, n), EACCES, -1)
PASSES(int, close, (int fd), (fd), EIO, -1)
PASSES(int, pthread_create, (pthread_t * made, const pthread_attr_t* how, void* (*run)(void*), void* argument) noexcept,
       (made, how, run, argument), EAGAIN, EAGAIN)
PASSES(int, sched_setaffinity, (pid_t who, size_t n, const cpu_set_t* cpus) noexcept, (who, n, cpus), EPERM, -1)
PASSES(void*, malloc, (size_t n) noexcept, (n), ENOMEM, nullptr)
PASSES(ssize_t, getrandom, (void* to, size_t n, unsigned flags), (to, n, flags), ENOSYS, -1)
PASSES(ssize_t, write, (int fd, const void* from, size_t n), (fd, from, n), ENOSPC, -1)

// FAIL_CALL=new: what the program's containers are made of.
void* operator new(size_t n) {
  for (void* at = nullptr;;) {
    if (!fails("new", ENOMEM)) at = malloc(n);
    if (at != nullptr) return at;
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
  }
}
void operator delete(void* at) noexcept { free(at); }
void operator delete(void* at, size_t) noexcept { free(at); }

extern "C" int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = va_arg(more, mode_t);
  va_end(more);
  if (fails("open", EMFILE)) return -1;
  static const auto go = real(&open, "open");
  return go(path, flags, mode);
}

// FAIL_CALL is the call's number there: pidfd_open has 434, pidfd_getfd 438, membarrier 324 on x86.
extern "C" long syscall(long number, ...) noexcept {
  va_list more;
  va_start(more, number);
  long with[6];
  for (long& w : with) w = va_arg(more, long);
  va_end(more);
  char name[32];
  snprintf(name, sizeof name, "%ld", number);
  if (fails(name, EPERM)) return -1;
  static const auto go = real(&syscall, "syscall");
  return go(number, with[0], with[1], with[2], with[3], with[4], with[5]);
}
