// SPDX-License-Identifier: Apache-2.0
// The limit of file sizes (ulimit -f), which counts for files without a name too.
#pragma once

#include <signal.h>
#include <time.h>

#include <cerrno>

namespace tobi::base {

/// While one lives, a file that would grow beyond the limit is an error for this thread (EFBIG), which can be told in a
/// sentence. The kernel's signal that comes with it (SIGXFSZ) would end the process without one.
class file_limit_as_error {
 public:
  file_limit_as_error() noexcept {
    sigemptyset(&only_);
    sigaddset(&only_, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &only_, &before_);
  }
  ~file_limit_as_error() {
    if (sigismember(&before_, SIGXFSZ) == 1) return;
    const int error = errno;
    const timespec now{0, 0};
    while (sigtimedwait(&only_, nullptr, &now) < 0 && errno == EINTR) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = error;
  }
  file_limit_as_error(const file_limit_as_error&) = delete;
  file_limit_as_error& operator=(const file_limit_as_error&) = delete;

 private:
  sigset_t only_;
  sigset_t before_;
};

}  // namespace tobi::base
