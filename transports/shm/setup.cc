// shm: registering and mapping. A key names a memory file of a process; whoever attaches opens it through /proc, checks
// that it is the one that was meant, and maps it. There is no name in a file system that could collide or stay behind.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "libcore/base/log.hpp"
#include "transports/shm/shm.hpp"

namespace tobi::transports::shm {

namespace {

struct key_content {
  std::int32_t pid;
  std::int32_t fd;
  std::uint64_t offset;
  std::uint64_t bytes;
  std::uint64_t inode;  // with `device`: a process id may have been reused
  std::uint64_t device;
  std::uint64_t number;  // among the owner's registrations, so that no two keys are equal
};
static_assert(sizeof(key_content) <= sizeof(region_key));

key_content content_of(const region_key& key) noexcept {
  key_content c;
  std::memcpy(&c, key.bytes.data(), sizeof c);
  return c;
}

}  // namespace

std::string unusable(const context& where) {
  return where.single_node() ? "" : "it serves the workers of one node, and this job has several nodes";
}

std::unique_ptr<transport> create(const context& where) { return std::make_unique<shm_transport>(where); }

shm_transport::shm_transport(const context& where) : rank_(where.rank), size_(where.size) {
  caps_.fetch_add = true;
  caps_.compare_swap = true;
  caps_.scope = amo_scope::host;
  caps_.passive_rma = true;
  caps_.passive_amo = true;
  caps_.direct_map = true;
  caps_.chain = true;
  caps_.chain_max = 16;
  caps_.inline_max = 0xffff'ffff;  // a put has been executed when post() returns, whatever its size
  caps_.put_max = std::uint64_t{1} << 40;
}

shm_transport::~shm_transport() {
  for (const region& r : regions_) {
    if (r.mapped_here) munmap(r.base, r.bytes);
  }
}

status shm_transport::connect(std::span<const std::string> addresses) {
  return addresses.size() == static_cast<std::size_t>(size_) ? status::ok : status::invalid;
}

status shm_transport::register_memory(const memory& local, region_key& key) {
  if (local.base == nullptr || local.bytes == 0) return status::invalid;
  if (local.fd < 0) return status::unsupported;  // reg_any_va is not claimed: private memory cannot be mapped by others
  struct stat file {};
  if (fstat(local.fd, &file) != 0) return status::invalid;
  if (local.fd_offset + local.bytes > static_cast<std::uint64_t>(file.st_size)) return status::invalid;
  const key_content c{getpid(), local.fd, local.fd_offset, local.bytes, file.st_ino, file.st_dev, own_.size() + 1};
  key = {};
  std::memcpy(key.bytes.data(), &c, sizeof c);
  own_.push_back({key, local});
  return status::ok;
}

status shm_transport::deregister_memory(const region_key& key) {
  const auto found =
      std::find_if(own_.begin(), own_.end(), [&](const own_region& o) { return o.key.bytes == key.bytes; });
  if (found == own_.end()) return status::invalid;
  for (region& r : regions_) {
    if (r.rank == rank_ && r.base == found->where.base) r.bytes = 0;
  }
  own_.erase(found);
  return status::ok;
}

status shm_transport::attach(int rank, const region_key& key, region_id& id) {
  if (rank < 0 || rank >= size_) return status::invalid;
  const key_content c = content_of(key);
  if (rank == rank_) {
    const auto mine =
        std::find_if(own_.begin(), own_.end(), [&](const own_region& o) { return o.key.bytes == key.bytes; });
    if (mine == own_.end()) return status::invalid;
    regions_.push_back({rank, static_cast<std::byte*>(mine->where.base), mine->where.bytes, false});
    id = static_cast<region_id>(regions_.size() - 1);
    return status::ok;
  }
  if (c.pid <= 0 || c.fd < 0 || c.bytes == 0) return status::invalid;
  const std::string path = "/proc/" + std::to_string(c.pid) + "/fd/" + std::to_string(c.fd);
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) {
    base::log(base::log_level::error, "shm cannot open the memory of rank " + std::to_string(rank) + " (" + path +
                                          ": " + std::strerror(errno) +
                                          "); the workers must run as one user in one container.");
    return errno == ENOENT ? status::peer_lost : status::invalid;
  }
  struct stat file {};
  const bool right = fstat(fd, &file) == 0 && file.st_ino == c.inode && file.st_dev == c.device &&
                     c.offset + c.bytes <= static_cast<std::uint64_t>(file.st_size);
  void* at = MAP_FAILED;
  if (right) {
    at = mmap(nullptr, c.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, static_cast<off_t>(c.offset));
    if (at == MAP_FAILED) {
      base::log(base::log_level::error, "shm cannot map the memory of rank " + std::to_string(rank) + " (" +
                                            std::strerror(errno) + "); lower TOBI_WORKERS or TOBI_HEAP_SIZE.");
    }
  }
  close(fd);
  if (at == MAP_FAILED) return status::invalid;
  regions_.push_back({rank, static_cast<std::byte*>(at), c.bytes, true});
  id = static_cast<region_id>(regions_.size() - 1);
  return status::ok;
}

std::byte* shm_transport::map(region_id id) noexcept { return id < regions_.size() ? regions_[id].base : nullptr; }

}  // namespace tobi::transports::shm
