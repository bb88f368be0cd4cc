// SPDX-License-Identifier: Apache-2.0
// The global view: one range of addresses, reserved at the same place in every worker, onto which blocks of memory
// files are mapped on demand (SC'23, sections 4.1 and 4.3). A global address is a plain address in it.
//
// The kernel bounds how many mappings a process may have (vm.max_map_count, which is read, not assumed). Every block
// that is mapped can split the reservation, so it costs two entries in the worst case; a mapping takes them from a
// budget first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace tobi::pgas {

/// How many mappings the kernel allows this process, and how many it has. 0 where the kernel does not say.
[[nodiscard]] std::size_t kernel_map_limit(const std::string& file = "/proc/sys/vm/max_map_count");
[[nodiscard]] std::size_t kernel_maps_in_use(const std::string& file = "/proc/self/maps");

/// Whether the system makes a second mapping of what is mapped, by mremap with an old size of 0. Linux does; a
/// user-mode emulator and a filter of system calls may refuse it.
[[nodiscard]] bool maps_again() noexcept;

class view {
 public:
  /// Reserves BYTES without access at the first free one of a list of addresses that is the same everywhere; base() is
  /// null when none is free. Whether all workers got the same one, the caller compares.
  explicit view(std::size_t bytes) noexcept;
  ~view();
  view(const view&) = delete;
  view& operator=(const view&) = delete;

  [[nodiscard]] std::byte* base() const noexcept { return base_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] bool holds(const void* address) const noexcept {
    return static_cast<std::size_t>(static_cast<const std::byte*>(address) - base_) < bytes_;
  }

  /// Maps BYTES of the memory file FD from OFFSET on at AT. Pages that exist are entered at once where PRESENT. Core
  /// files do not have it: they would touch each page of it, also those that nobody has.
  void map(std::byte* at, std::size_t bytes, int fd, std::uint64_t offset, bool present);
  /// Maps at AT the same memory that is mapped, shared, at FROM: that of a peer, whose file is not known here. Only
  /// where maps_again() says that the system can.
  void map_again(std::byte* at, std::size_t bytes, const std::byte* from);
  /// Takes the access away; the addresses stay reserved.
  void unmap(std::byte* at, std::size_t bytes);

 private:
  std::byte* base_ = nullptr;
  std::size_t bytes_;
};

}  // namespace tobi::pgas
