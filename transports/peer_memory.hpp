// SPDX-License-Identifier: Apache-2.0
// Memory of the workers of one node, mapped here: what shm and sim have in common.
//
// A key names a memory file of a process; a process that attaches opens it, checks that it is the one that was meant,
// and maps it. There is no name in a file system that could collide or stay behind. It is opened through /proc, and
// where that is absent or another container's, with a copy of the owner's descriptor (pidfd_getfd, Linux 5.6), which
// the kernel gives under stricter conditions.
#pragma once

#include <string>
#include <vector>

#include "transports/transport.hpp"

namespace tobi::transports {

/// A part of a memory file of a process, as others find it.
struct memory_name {
  std::int32_t pid = 0;
  std::int32_t fd = -1;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::uint64_t inode = 0;  // with `device`: a process id may have been reused
  std::uint64_t device = 0;
  std::uint64_t number = 0;  // among the owner's registrations, so that no two keys are equal
};
static_assert(sizeof(memory_name) <= own_key_bytes_max);

/// Names LOCAL for others. `unsupported`: it has no descriptor, so nobody else can map it.
status name_memory(const memory& local, std::uint64_t number, memory_name& name);
/// Maps what NAME says, which came from RANK and is not believed before it is checked. The caller unmaps. Where the
/// machine has refused it, WHY becomes a sentence without its full stop: what was refused, and what to do. `peer_lost`:
/// RANK's process is gone.
status map_memory(const memory_name& name, int rank, std::byte*& at, std::string& why);

/// The regions of a transport that maps its peers' memory: its own, and those that it has attached.
class peer_memory {
 public:
  struct region {
    int rank = -1;
    std::byte* base = nullptr;
    std::size_t bytes = 0;     // 0: no longer usable
    std::uint64_t number = 0;  // of the owner's registration
    bool mapped_here = false;
  };

  peer_memory(int rank, int size) : rank_(rank), size_(size) {}
  ~peer_memory();
  peer_memory(const peer_memory&) = delete;
  peer_memory& operator=(const peer_memory&) = delete;

  status add(const memory& local, region_key& key);
  status remove(const region_key& key);
  status attach(int rank, const region_key& key, region_id& id);
  /// As transport::why_not_reached().
  [[nodiscard]] const std::string& why_not_attached() const noexcept { return why_not_attached_; }

  /// The region ID of RANK, or null when there is none.
  [[nodiscard]] const region* find(int rank, region_id id) const noexcept {
    return id < regions_.size() && regions_[id].rank == rank ? &regions_[id] : nullptr;
  }
  [[nodiscard]] std::byte* base(region_id id) const noexcept {
    return id < regions_.size() ? regions_[id].base : nullptr;
  }

 private:
  struct own_region {
    region_key key;
    memory where;
  };
  int rank_;
  int size_;
  std::vector<region> regions_;  // attached ones, by id
  std::vector<own_region> own_;
  std::uint64_t made_ = 0;
  std::string why_not_attached_;
};

}  // namespace tobi::transports
