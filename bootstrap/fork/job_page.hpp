// What the forked processes of a job share: one anonymous mapping, made before the first fork. It holds who they are,
// how each ended, a fence, and the values put. Signal handlers read and write it, so everything in it is plain words
// and bytes.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tobi::bootstrap::forked {

enum class phase : std::uint32_t { running, finalized, exited };

struct member {
  std::atomic<pid_t> pid;
  std::atomic<phase> state;
  std::atomic<std::uint32_t> put_bytes;  // used part of this member's values
};

inline constexpr std::size_t values_bytes = 16 * 1024;  // of one rank's puts

struct job_page {
  std::uint32_t size;
  std::atomic<std::uint32_t> arrived;       // at the fence
  std::atomic<std::uint32_t> generation;    // of the fence; waited on
  std::atomic<std::uint32_t> reported;      // somebody has said why the job ends
  std::atomic<std::uint32_t> aborting;      // 1 + the status of an abort
  std::atomic<int> rank0_signal;            // a fatal signal that rank 0 caught and is about to die of
  std::atomic<std::uint32_t> rank0_leaves;  // rank 0 is ending on purpose: its children go quietly

  member* members() noexcept { return reinterpret_cast<member*>(this + 1); }
  std::byte* values(std::uint32_t rank) noexcept {
    return reinterpret_cast<std::byte*>(members() + size) + rank * values_bytes;
  }
  static std::size_t bytes_for(std::uint32_t size) noexcept {
    return sizeof(job_page) + size * (sizeof(member) + values_bytes);
  }
  /// True for the one caller that is to print why the job ends.
  bool claim_report() noexcept { return reported.exchange(1, std::memory_order_acq_rel) == 0; }
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free && std::atomic<pid_t>::is_always_lock_free);

}  // namespace tobi::bootstrap::forked
