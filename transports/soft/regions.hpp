// SPDX-License-Identifier: Apache-2.0
// The registrations of a worker, by number, as requests name them: for the worker and its thread, a table of addresses;
// for the server of its node, another process, a directory in shared memory that says where each can be mapped.
//
// Numbers are never used twice, so what was found under one stays right until that registration ends. A server looks at
// the end of a registration at each request, as the worker itself does.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "transports/peer_memory.hpp"
#include "transports/soft/memory_file.hpp"

namespace tobi::transports::soft {

inline constexpr std::size_t regions_max = 256;  // registrations of one worker in its life

/// Whether COUNT bytes at OFFSET lie within BYTES. Written so that nothing can wrap around.
constexpr bool has_bytes(std::uint64_t bytes, std::uint64_t offset, std::uint64_t count) noexcept {
  return bytes != 0 && bytes >= count && offset <= bytes - count;
}
/// Written by the worker, read by its server, which may be another thread.
class region_table {
 public:
  /// Its number, or -1 when the table is full.
  int add(std::byte* base, std::size_t bytes) noexcept;
  void remove(std::size_t number) noexcept;
  /// The word at OFFSET, or null when a request names no memory of this worker.
  [[nodiscard]] std::uint64_t* word(std::size_t number, std::uint64_t offset) const noexcept {
    return offset % sizeof(std::uint64_t) != 0
               ? nullptr
               : reinterpret_cast<std::uint64_t*>(at(number, offset, sizeof(std::uint64_t)));
  }
  /// The same of COUNT bytes at any offset.
  [[nodiscard]] std::byte* at(std::size_t number, std::uint64_t offset, std::uint64_t count) const noexcept;

 private:
  struct entry {
    std::byte* base = nullptr;
    std::atomic<std::size_t> bytes{0};  // 0: gone
  };
  std::array<entry, regions_max> entries_;
  std::size_t used_ = 0;
};

/// The same for another process of the node.
class region_directory {
 public:
  region_directory() : file_("directory of registrations", regions_max * sizeof(entry)) {}

  /// What the server needs to find this directory.
  [[nodiscard]] memory_name name() const;
  void publish(std::size_t number, const memory_name& region) noexcept;
  void withdraw(std::size_t number) noexcept;

  struct entry {
    memory_name region;
    std::uint64_t registered;  // 1 while it is
  };

 private:
  memory_file file_;
};

/// What a server executes atomics on: its own memory, and that of the workers whose directories it was given.
class served_memory {
 public:
  served_memory(int rank, const region_table& own) : rank_(rank), own_(own) {}
  ~served_memory();
  served_memory(const served_memory&) = delete;
  served_memory& operator=(const served_memory&) = delete;

  /// Maps the DIRECTORY of RANK; what it names is mapped when it is asked for.
  status add(int rank, const memory_name& directory);
  /// As transport::why_not_reached().
  [[nodiscard]] const std::string& why_not_added() const noexcept { return why_not_added_; }
  /// The word at OFFSET of the region NUMBER of RANK, or null when there is none. Fatal where there is one and it
  /// cannot be mapped: nobody else executes atomics there.
  [[nodiscard]] std::uint64_t* word(int rank, std::size_t number, std::uint64_t offset) noexcept {
    return offset % sizeof(std::uint64_t) != 0
               ? nullptr
               : reinterpret_cast<std::uint64_t*>(at(rank, number, offset, sizeof(std::uint64_t)));
  }
  /// The same of COUNT bytes at any offset.
  [[nodiscard]] std::byte* at(int rank, std::size_t number, std::uint64_t offset, std::uint64_t count) noexcept;

 private:
  struct mapping {
    std::byte* base = nullptr;  // of the region; its pages begin at `pages`
    std::byte* pages = nullptr;
    std::size_t page_bytes = 0;
    std::uint64_t bytes = 0;
  };
  struct neighbour {
    int rank;
    region_directory::entry* directory;
    std::array<mapping, regions_max> mapped{};
  };
  void map(neighbour& of, std::size_t number) noexcept;
  static void unmap(mapping& m) noexcept;

  int rank_;
  const region_table& own_;
  std::string why_not_added_;
  std::vector<std::unique_ptr<neighbour>> by_rank_;  // null: not served here
};

}  // namespace tobi::transports::soft
