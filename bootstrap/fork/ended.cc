// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/fork/ended.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>

namespace tobi::bootstrap::forked {

namespace {

// "/proc/PID/stat", without allocation.
void path_of(pid_t process, char (&path)[32]) noexcept {
  char digits[12];
  std::size_t i = sizeof digits;
  auto n = static_cast<unsigned>(process);
  do {
    digits[--i] = static_cast<char>('0' + n % 10);
    n /= 10;
  } while (n != 0);
  std::memcpy(path, "/proc/", 6);
  std::memcpy(path + 6, digits + i, sizeof digits - i);
  std::memcpy(path + 6 + sizeof digits - i, "/stat", 6);
}

}  // namespace

// The kernel's line: PID (NAME) STATE and 49 numbers, of which the 9th word of all is the flags and the 52nd the
// status.
std::optional<int> status_of_ended(pid_t process) noexcept {
  constexpr unsigned is_exiting = 4;  // PF_EXITING: the status is known, though the state may not say so yet
  char path[32];
  path_of(process, path);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  char text[1024];
  const ssize_t n = read(file, text, sizeof text);
  close(file);
  if (n <= 0) return {};
  std::size_t at = static_cast<std::size_t>(n);
  const std::size_t end = at;
  while (at > 0 && text[at - 1] != ')') --at;  // a name may hold anything, also spaces and parentheses
  if (at == 0) return {};
  unsigned long flags = 0;
  unsigned long status = 0;
  int word = 2;
  for (; at < end; ++at) {
    if (text[at] == ' ') {
      ++word;
    } else if (text[at] >= '0' && text[at] <= '9') {
      const auto digit = static_cast<unsigned long>(text[at] - '0');
      if (word == 9) flags = flags * 10 + digit;
      if (word == 52) status = status * 10 + digit;
    }
  }
  if (word < 52 || (flags & is_exiting) == 0) return {};
  return static_cast<int>(status);
}

}  // namespace tobi::bootstrap::forked
