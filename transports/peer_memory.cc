// SPDX-License-Identifier: Apache-2.0
#include "transports/peer_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "libcore/base/log.hpp"

namespace tobi::transports {

namespace {

memory_name name_in(const region_key& key) noexcept {
  memory_name name;
  std::memcpy(&name, key.bytes.data(), sizeof name);
  return name;
}

bool is_named(int fd, const memory_name& name) noexcept {
  struct stat file {};
  return fstat(fd, &file) == 0 && file.st_ino == name.inode && file.st_dev == name.device &&
         name.bytes <= static_cast<std::uint64_t>(file.st_size) &&
         name.offset <= static_cast<std::uint64_t>(file.st_size) - name.bytes;
}

// The owner's descriptor of the file, or -1. A process id means the same to the kernel whatever /proc shows.
int copy_of(const memory_name& name) noexcept {
  const auto process = static_cast<int>(syscall(SYS_pidfd_open, name.pid, 0));
  if (process < 0) return -1;
  const auto fd = static_cast<int>(syscall(SYS_pidfd_getfd, process, name.fd, 0));
  close(process);
  if (fd < 0 || is_named(fd, name)) return fd;
  close(fd);
  return -1;
}

// In a container without a /proc of its own it is absent, or numbers the processes as outside.
bool proc_is_own() {
  char self[32];
  const ssize_t length = readlink("/proc/self", self, sizeof self);
  return length > 0 && std::string_view(self, static_cast<std::size_t>(length)) == std::to_string(getpid());
}

std::string what_to_do(int refused) {
  if (refused == EMFILE) return "raise the limit of open files (ulimit -n)";
  if (!proc_is_own()) {
    return "there is no /proc here, or it is another container's: mount this container's own, or start one process per "
           "node, which forks its workers";
  }
  if (refused == ENOENT) return "its process has ended, or runs in another container of this host";
  return "the processes of a node must run as one user in one container: start one process per node, which forks its "
         "workers, or say TOBI_NODES, so that each container is a node";
}

}  // namespace

status name_memory(const memory& local, std::uint64_t number, memory_name& name) {
  if (local.base == nullptr || local.bytes == 0) return status::invalid;
  if (local.fd < 0) return status::unsupported;
  struct stat file {};
  if (fstat(local.fd, &file) != 0) return status::invalid;
  if (local.fd_offset + local.bytes > static_cast<std::uint64_t>(file.st_size)) return status::invalid;
  name = {getpid(), local.fd, local.fd_offset, local.bytes, file.st_ino, file.st_dev, number};
  return status::ok;
}

status map_memory(const memory_name& name, int rank, std::byte*& at, std::string& why) {
  why.clear();
  if (name.pid <= 0 || name.fd < 0 || name.bytes == 0) return status::invalid;
  const std::string path = "/proc/" + std::to_string(name.pid) + "/fd/" + std::to_string(name.fd);
  int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  const int refused = fd < 0 ? errno : 0;
  if (fd >= 0 && !is_named(fd, name)) {
    close(fd);
    fd = -1;
  }
  if (fd < 0) fd = copy_of(name);
  if (fd < 0) {
    if (refused == 0) return status::invalid;
    why = "the memory of " + base::name_of_rank(rank) + " cannot be opened here (" + path + ": " +
          std::strerror(refused) + "); " + what_to_do(refused);
    return refused == ENOENT && proc_is_own() ? status::peer_lost : status::invalid;
  }
  void* const mapped = mmap(nullptr, name.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd,
                            static_cast<off_t>(name.offset));
  if (mapped == MAP_FAILED) {
    why = "the memory of " + base::name_of_rank(rank) + " cannot be mapped here (" + std::strerror(errno) +
          "); lower TOBI_WORKERS or TOBI_HEAP_SIZE";
  }
  close(fd);
  if (mapped == MAP_FAILED) return status::invalid;
  madvise(mapped, name.bytes, MADV_DONTDUMP);  // a core file of one process is not to have all others' memory
  at = static_cast<std::byte*>(mapped);
  return status::ok;
}

peer_memory::~peer_memory() {
  for (const region& r : regions_) {
    if (r.mapped_here) munmap(r.base, r.bytes);
  }
}

status peer_memory::add(const memory& local, region_key& key) {
  memory_name name;
  if (const status s = name_memory(local, made_ + 1, name); s != status::ok) return s;
  ++made_;
  key = {};
  std::memcpy(key.bytes.data(), &name, sizeof name);
  own_.push_back({key, local});
  return status::ok;
}

status peer_memory::remove(const region_key& key) {
  const auto found =
      std::find_if(own_.begin(), own_.end(), [&](const own_region& o) { return o.key.bytes == key.bytes; });
  if (found == own_.end()) return status::invalid;
  for (region& r : regions_) {
    if (r.rank == rank_ && r.number == name_in(key).number) r.bytes = 0;
  }
  own_.erase(found);
  return status::ok;
}

status peer_memory::attach(int rank, const region_key& key, region_id& id) {
  if (rank < 0 || rank >= size_) return status::invalid;
  const memory_name name = name_in(key);
  region fresh{rank, nullptr, 0, name.number, rank != rank_};
  if (rank == rank_) {
    const auto mine =
        std::find_if(own_.begin(), own_.end(), [&](const own_region& o) { return o.key.bytes == key.bytes; });
    if (mine == own_.end()) return status::invalid;
    fresh.base = static_cast<std::byte*>(mine->where.base);
    fresh.bytes = mine->where.bytes;
  } else {
    if (const status s = map_memory(name, rank, fresh.base, why_not_attached_); s != status::ok) return s;
    fresh.bytes = name.bytes;
  }
  regions_.push_back(fresh);
  id = static_cast<region_id>(regions_.size() - 1);
  return status::ok;
}

}  // namespace tobi::transports
