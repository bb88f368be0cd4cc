// SPDX-License-Identifier: Apache-2.0
#include "libcore/pgas/view.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>

#include "libcore/base/log.hpp"
#include "libcore/base/plain_text.hpp"
#include "libcore/base/refusal.hpp"
#include "libcore/base/settings.hpp"

namespace tobi::pgas {

namespace {

// Behind those of alloc/segment. The last ones exist for kernels with 39-bit addresses.
constexpr std::uintptr_t candidates[] = {0x4000'0000'0000, 0x5000'0000'0000, 0x0040'0000'0000, 0x0048'0000'0000};

[[noreturn]] void cannot_map(const char* what, std::size_t bytes) {
  if (errno == ENOMEM) {
    base::fatal(std::string("cannot ") + what + " " + base::format_size(bytes) +
                " of global memory: the kernel's limit of mappings or of address space is reached; raise "
                "vm.max_map_count (sysctl), or lower TOBI_MAP_LIMIT or TOBI_CACHE_SIZE.");
  }
  const int why = errno;
  base::fatal(std::string("cannot ") + what + " " + base::format_size(bytes) + " of global memory" +
              base::refusal(why, "mmap", "lower TOBI_CACHE_SIZE, or raise the limit of address space (ulimit -v)"));
}

// With an old size of 0, mremap leaves a shared mapping where it is and makes another one of the same pages. The call
// itself, not the C library's: libraries that watch what is mapped (UCX, which MPICH uses) put a function of four
// arguments in its place, and the mapping then lands anywhere.
bool mapped_again(void* at, std::size_t bytes, const void* from) noexcept {
  return syscall(SYS_mremap, from, 0, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, at) == reinterpret_cast<std::intptr_t>(at);
}

}  // namespace

bool maps_again() noexcept {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* const from = mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (from == MAP_FAILED) return false;
  const bool can = mapped_again(static_cast<std::byte*>(from) + page, page, from);
  munmap(from, 2 * page);
  return can;
}

std::size_t kernel_map_limit(const std::string& file) {
  std::size_t limit = 0;
  base::file_in(file) >> limit;
  return limit;
}

std::size_t kernel_maps_in_use(const std::string& file) {
  base::file_in maps(file);
  return static_cast<std::size_t>(
      std::count(std::istreambuf_iterator<char>(maps), std::istreambuf_iterator<char>(), '\n'));
}

view::view(std::size_t bytes) noexcept : bytes_(bytes) {
  constexpr int how = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
  for (const std::uintptr_t at : candidates) {
    void* want = reinterpret_cast<void*>(at);
    void* got = mmap(want, bytes, PROT_NONE, how, -1, 0);
    if (got == MAP_FAILED) continue;
    if (got == want) {
      base_ = static_cast<std::byte*>(got);
      return;
    }
    munmap(got, bytes);  // a kernel older than MAP_FIXED_NOREPLACE takes the address as a hint
  }
}

view::~view() {
  if (base_ != nullptr) munmap(base_, bytes_);
}

void view::map(std::byte* at, std::size_t bytes, int fd, std::uint64_t offset, bool present) {
  const int how = MAP_SHARED | MAP_FIXED | MAP_NORESERVE | (present ? MAP_POPULATE : 0);
  if (mmap(at, bytes, PROT_READ | PROT_WRITE, how, fd, static_cast<off_t>(offset)) == MAP_FAILED) {
    cannot_map("map", bytes);
  }
  madvise(at, bytes, MADV_DONTDUMP);  // as the heap is that it shows; what is mapped again takes it from there
}

void view::map_again(std::byte* at, std::size_t bytes, const std::byte* from) {
  if (!mapped_again(at, bytes, from)) cannot_map("map", bytes);
}

void view::unmap(std::byte* at, std::size_t bytes) {
  // Not munmap, which would give the addresses away (SC'23, footnote 5).
  constexpr int how = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
  if (mmap(at, bytes, PROT_NONE, how, -1, 0) == MAP_FAILED) cannot_map("unmap", bytes);
}

}  // namespace tobi::pgas
