// SPDX-License-Identifier: Apache-2.0
#include "transports/ofi/shm_files.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "libcore/base/secret.hpp"

namespace tobi::transports::ofi {

namespace {

constexpr std::string_view scheme = "fi_shm://";

// The process that a file is named after may live in another namespace of process ids, such as another container's with
// the same /dev/shm: then it is not to be seen here, or another process has its id. But the kernel grants no read lease
// on a file that anybody has open for writing, or has mapped through such a descriptor: wherever that is.
bool nobody_writes(int folder, const char* name) {
  const int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return false;
  const bool granted = fcntl(fd, F_SETLEASE, F_RDLCK) == 0;
  close(fd);  // and the lease is gone
  return granted;
}

// Whether libfabric or name_endpoint() has given NAME to a file of this user's: PID:UID:NUMBER, PID.TOKEN:UID:NUMBER.
// Older releases have a number more. PID is 0 where the name has a token.
bool is_an_endpoint_s(const char* name, int& pid) {
  unsigned token = 0;
  int length = 0;
  if (std::sscanf(name, "%d.%8x%n", &pid, &token, &length) == 2) {
    pid = 0;
  } else if (std::sscanf(name, "%d%n", &pid, &length) != 1 || pid <= 0) {
    return false;
  }
  const char* rest = name + length;
  unsigned uid = 0;
  unsigned number = 0;
  length = 0;
  if (std::sscanf(rest, ":%u:%u%n", &uid, &number, &length) != 2 || uid != getuid()) return false;
  rest += length;
  length = 0;
  if (std::sscanf(rest, ":%u%n", &number, &length) == 1) rest += length;
  return *rest == '\0';
}

}  // namespace

void name_endpoint(fi_info& info) {
  if (std::string_view(info.fabric_attr->prov_name) != "shm") return;
  char name[64];
  const auto token = static_cast<unsigned>(base::secret());
  const int length = std::snprintf(name, sizeof name, "%s%d.%08x", scheme.data(), getpid(), token);
  std::free(info.src_addr);  // fi_freeinfo frees it in the same way
  info.src_addr = strdup(name);
  info.src_addrlen = static_cast<std::size_t>(length) + 1;
}

std::string file_of(std::string_view address) {
  if (!address.starts_with(scheme)) return "";
  const std::string name(address.substr(scheme.size(), address.find('\0') - scheme.size()));
  return name.empty() || name.find('/') != std::string::npos ? "" : "/dev/shm/" + name;
}

void remove_what_the_dead_left(const char* folder) {
  DIR* const listed = opendir(folder);
  if (listed == nullptr) return;
  while (const dirent* entry = readdir(listed)) {
    int pid = 0;
    if (!is_an_endpoint_s(entry->d_name, pid)) continue;
    // Another program's, by its process id: left alone where that is anybody's here.
    if (pid != 0 && (kill(pid, 0) == 0 || errno != ESRCH)) continue;
    if (nobody_writes(dirfd(listed), entry->d_name)) unlinkat(dirfd(listed), entry->d_name, 0);
  }
  closedir(listed);
}

}  // namespace tobi::transports::ofi
