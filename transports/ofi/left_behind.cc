// SPDX-License-Identifier: Apache-2.0
#include "transports/ofi/left_behind.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace tobi::transports::ofi {

namespace {

// The process that a file is named after may live in another namespace of process ids, such as another container's with
// the same /dev/shm, and then it is not to be seen here. But the kernel grants no read lease on a file that anybody has
// open for writing, or has mapped through such a descriptor: wherever that is.
bool nobody_writes(int folder, const char* name) {
  const int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return false;
  const bool granted = fcntl(fd, F_SETLEASE, F_RDLCK) == 0;
  close(fd);  // and the lease is gone
  return granted;
}

}  // namespace

std::string file_of(std::string_view address) {
  constexpr std::string_view scheme = "fi_shm://";
  if (!address.starts_with(scheme)) return "";
  const std::string name(address.substr(scheme.size(), address.find('\0') - scheme.size()));
  return name.empty() || name.find('/') != std::string::npos ? "" : "/dev/shm/" + name;
}

void remove_what_the_dead_left(const char* folder) {
  DIR* const listed = opendir(folder);
  if (listed == nullptr) return;
  while (const dirent* entry = readdir(listed)) {
    int pid = 0;
    unsigned uid = 0;
    unsigned number = 0;
    int length = 0;
    if (std::sscanf(entry->d_name, "%d:%u:%u%n", &pid, &uid, &number, &length) != 3) continue;
    if (entry->d_name[length] != '\0' || pid <= 0 || uid != getuid()) continue;
    if (kill(pid, 0) == 0 || errno != ESRCH) continue;
    if (nobody_writes(dirfd(listed), entry->d_name)) unlinkat(dirfd(listed), entry->d_name, 0);
  }
  closedir(listed);
}

}  // namespace tobi::transports::ofi
