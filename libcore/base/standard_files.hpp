// SPDX-License-Identifier: Apache-2.0
// The numbers of standard input, output and error.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <initializer_list>

namespace tobi::base {

/// No file of this library gets the number 0, 1 or 2 from now on: what the program prints would be written into it. A
/// number that is free, since the program was started so or has closed it, is taken by a descriptor that can neither be
/// read nor written (EBADF, as before).
inline void take_standard_numbers() noexcept {
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(number, F_GETFD) < 0) (void)open("/", O_PATH | O_CLOEXEC);  // the lowest one that is free
  }
}

/// Whether what is written to FD may arrive.
[[nodiscard]] inline bool can_be_written(int fd) noexcept {
  const int how = fcntl(fd, F_GETFL);
  return how >= 0 && (how & O_PATH) == 0 && (how & O_ACCMODE) != O_RDONLY;
}

}  // namespace tobi::base
