// SPDX-License-Identifier: Apache-2.0
// What a process and those that it forked share: one anonymous mapping, made before the first fork. It holds which
// processes they are, how each ended, what it would leave behind, a fence, and the values put. Signal handlers read and
// write it, so everything in it is plain words and bytes. The head is the process that forked the others: member 0, and
// the only one that a launcher knows.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "bootstrap/fork/values.hpp"
#include "libcore/base/left_files.hpp"

namespace tobi::bootstrap::forked {

enum class phase : std::uint32_t { running, finalized };

struct member {
  std::atomic<pid_t> pid;
  std::atomic<phase> state;
};

inline constexpr std::size_t words_max = 8;  // of a question to all

struct job_page {
  std::uint32_t size;                      // processes that share this page: members
  std::uint32_t first;                     // rank of member 0
  std::uint32_t total;                     // ranks of the job; those of other clients have values here, too
  std::atomic<std::uint32_t> arrived;      // at the fence; waited on by the head
  std::atomic<std::uint32_t> generation;   // of the fence; waited on
  std::atomic<std::uint32_t> reported;     // somebody has said why the job ends
  std::atomic<std::uint32_t> aborting;     // 1 + the status of an abort
  std::atomic<int> head_signal;            // a fatal signal that the head caught and is about to die of
  std::atomic<std::uint32_t> head_leaves;  // the head is ending on purpose: its children go quietly
  // Of exchange::least(), for fences of even and of odd generations: what the members say, and then what all do.
  std::atomic<std::uint64_t> least[2][words_max];

  member* members() noexcept { return reinterpret_cast<member*>(this + 1); }
  base::left_file* files() noexcept { return reinterpret_cast<base::left_file*>(members() + size); }
  std::size_t all_files() const noexcept { return size * base::left_files_per_process; }
  values put() noexcept { return {files() + all_files(), total}; }
  static std::size_t bytes_for(std::uint32_t size, std::uint32_t total) noexcept {
    return sizeof(job_page) + size * (sizeof(member) + base::left_files_per_process * sizeof(base::left_file)) +
           values::bytes_for(total);
  }
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free && std::atomic<pid_t>::is_always_lock_free);

}  // namespace tobi::bootstrap::forked
