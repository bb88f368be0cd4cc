// SPDX-License-Identifier: Apache-2.0
#include "alloc/segment.hpp"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include "libcore/base/log.hpp"
#include "libcore/base/refusal.hpp"
#include "libcore/base/settings.hpp"

namespace tobi::alloc {

namespace {

// Far from where loaders, heaps and sanitizers put things. The last ones exist for kernels with 39-bit addresses.
constexpr std::uintptr_t candidates[] = {0x2000'0000'0000, 0x3000'0000'0000, 0x1800'0000'0000,
                                         0x1000'0000'0000, 0x0030'0000'0000, 0x0020'0000'0000};

// Above the stack, and below it where addresses are scarce.
constexpr std::size_t small_guard_bytes = 1u << 20;
// Below it, a local of any size that a program may try must fault, not reach the heap: addresses cost nothing.
constexpr std::size_t large_guard_bytes = std::size_t{4} << 30;

// Where the address space is limited (ulimit -v) a guard counts as memory does.
bool addresses_are_free() noexcept {
  rlimit limit{};
  return getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY;
}

std::size_t whole_pages(std::size_t bytes) noexcept {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

// 0: there is none.
std::uint64_t file_at(int fd) noexcept {
  struct stat file {};
  return fstat(fd, &file) == 0 ? file.st_ino ^ (file.st_dev << 40) : 0;
}

[[noreturn]] void cannot(const char* what, std::size_t bytes, const char* call) {
  if (errno == EFBIG) {
    base::fatal("cannot create " + base::format_size(bytes) +
                " of registered memory, a file without a name: the limit of file sizes is lower; raise it (ulimit -f "
                "unlimited), or lower TOBI_HEAP_SIZE.");
  }
  base::fatal(std::string("cannot ") + what + " " + base::format_size(bytes) + " of registered memory" +
              base::refusal(errno, call,
                            "lower TOBI_HEAP_SIZE, TOBI_STACK_SIZE or TOBI_WORKERS, or raise the limit (ulimit -v)"));
}

}  // namespace

segment::segment(const segment_layout& layout, const std::function<bool(bool mine)>& everyone_ok)
    : layout_{whole_pages(layout.control_bytes), whole_pages(layout.heap_bytes), whole_pages(layout.stack_bytes),
              whole_pages(layout.heap_at_first)} {
  for (const bool large : {true, false}) {
    guard_bytes_ = large ? std::max(large_guard_bytes, layout_.heap_bytes) : small_guard_bytes;
    reserved_bytes_ =
        layout_.control_bytes + layout_.heap_bytes + guard_bytes_ + layout_.stack_bytes + small_guard_bytes;
    for (const std::uintptr_t at : candidates) {
      const bool mine = (!large || addresses_are_free()) && reserve(at);
      if (everyone_ok(mine)) {
        map();
        return;
      }
      if (mine) munmap(base_, reserved_bytes_);
      base_ = nullptr;
    }
  }
  base::fatal("no range of " + base::format_size(reserved_bytes_) +
              " of addresses is free in every worker at the same place; lower TOBI_HEAP_SIZE, or raise the limit of "
              "address space (ulimit -v).");
}

bool segment::reserve(std::uintptr_t at) noexcept {
  void* want = reinterpret_cast<void*>(at);
  void* got =
      mmap(want, reserved_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (got == MAP_FAILED) return false;
  if (got != want) {  // a kernel older than MAP_FIXED_NOREPLACE takes the address as a hint
    munmap(got, reserved_bytes_);
    return false;
  }
  base_ = static_cast<std::byte*>(got);
  return true;
}

void segment::map() {
  const std::size_t first = layout_.control_bytes + layout_.heap_bytes;
  fd_ = memfd_create("tobi", MFD_CLOEXEC);
  if (fd_ < 0) cannot("create", first, "memfd_create");
  if (ftruncate(fd_, static_cast<off_t>(first + layout_.stack_bytes)) != 0) cannot("create", first, "ftruncate");
  file_ = file_at(fd_);
  stack_ = base_ + first + guard_bytes_;
  const auto put = [this](std::byte* at, std::size_t bytes, std::size_t offset) {
    if (mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, fd_,
             static_cast<off_t>(offset)) == MAP_FAILED) {
      cannot("map", bytes, "mmap");
    }
  };
  put(base_, first, 0);
  put(stack_, layout_.stack_bytes, first);
  // A core file of shared memory has each page of it, also those that nobody has touched, and touches them. A debugger
  // needs the stacks.
  madvise(base_, first, MADV_DONTDUMP);
}

segment::~segment() {
  if (base_ != nullptr) munmap(base_, reserved_bytes_);
  if (has_file()) close(fd_);
}

segment& segment::operator=(segment&& other) noexcept {
  std::swap(layout_, other.layout_);
  std::swap(base_, other.base_);
  std::swap(stack_, other.stack_);
  std::swap(reserved_bytes_, other.reserved_bytes_);
  std::swap(guard_bytes_, other.guard_bytes_);
  std::swap(fd_, other.fd_);
  std::swap(file_, other.file_);
  return *this;
}

base::shared_memory segment::heap_memory() const noexcept {
  return {base_, layout_.control_bytes + layout_.heap_bytes, fd_, 0, layout_.heap_at_first};
}

base::shared_memory segment::stack_memory() const noexcept {
  return {stack_, layout_.stack_bytes, fd_, layout_.control_bytes + layout_.heap_bytes, 0};
}

bool segment::has_file() const noexcept { return fd_ >= 0 && file_at(fd_) == file_; }

bool segment::is_stack_guard(const void* address) const noexcept {
  const auto* at = static_cast<const std::byte*>(address);
  return at >= stack_ - guard_bytes_ && at < stack_;
}

}  // namespace tobi::alloc
