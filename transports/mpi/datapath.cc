// SPDX-License-Identifier: Apache-2.0
// mpi: the operations.
#include <cstring>

#include "libcore/base/log.hpp"
#include "transports/cpu_ops.hpp"
#include "transports/mpi/mpi.hpp"

namespace tobi::transports::mpi {

namespace {

// Whole words are moved as such: others change them meanwhile, and what is said to be bytes may be copied byte by byte.
bool in_words(MPI_Aint there, const void* here, std::uint64_t bytes) noexcept {
  const auto mixed = static_cast<std::uint64_t>(there) | reinterpret_cast<std::uintptr_t>(here) | bytes;
  return mixed % word_bytes == 0;
}

}  // namespace

status mpi_transport::judge(int code, int rank, const char* doing) noexcept {
  if (code == MPI_SUCCESS) return status::ok;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  base::log(base::log_level::error, "mpi: " + std::string(doing) + " failed with rank " + std::to_string(rank) + " (" +
                                        std::string(text, static_cast<std::size_t>(length)) + ").");
  return health_[rank] = status::peer_lost;
}

// A buffer that MPI may read until the next flush.
std::byte* mpi_transport::next_slot() noexcept {
  if (used_slots_ == slots_.size()) {
    MPI_Win_flush_local_all(window_);
    used_slots_ = 0;
  }
  return slots_[used_slots_++].bytes;
}

status mpi_transport::post(int rank, std::span<const op> ops) noexcept {
  if (ops.size() != 1 || rank < 0 || rank >= size_) return status::invalid;
  const op& o = ops[0];
  if (o.region >= regions_.size()) return status::invalid;
  const region& r = regions_[o.region];
  if (r.rank != rank || !in_range(o, r.bytes, caps_.put_max)) return status::invalid;
  if (health_[rank] != status::ok) return health_[rank];
  const auto there = static_cast<MPI_Aint>(r.base + o.remote);
  const int bytes = static_cast<int>(o.bytes);
  int code = MPI_SUCCESS;
  switch (o.kind) {
    case op_kind::put: {
      if (r.own != 0) {
        execute_whole(ops, [&](region_id) { return reinterpret_cast<std::byte*>(r.base); });
        return status::ok;
      }
      const void* from = o.local;
      if (o.bytes <= small_bytes) from = std::memcpy(next_slot(), o.local, o.bytes);
      code = in_words(there, from, o.bytes)
                 ? MPI_Put(from, bytes / 8, MPI_UINT64_T, rank, there, bytes / 8, MPI_UINT64_T, window_)
                 : MPI_Put(from, bytes, MPI_BYTE, rank, there, bytes, MPI_BYTE, window_);
      break;
    }
    case op_kind::get:
      if (r.own != 0) {
        execute_whole(ops, [&](region_id) { return reinterpret_cast<std::byte*>(r.base); });
        return status::ok;
      }
      code = in_words(there, o.local, o.bytes)
                 ? MPI_Get(o.local, bytes / 8, MPI_UINT64_T, rank, there, bytes / 8, MPI_UINT64_T, window_)
                 : MPI_Get(o.local, bytes, MPI_BYTE, rank, there, bytes, MPI_BYTE, window_);
      break;
    case op_kind::fetch_add: {
      const void* operand = std::memcpy(next_slot(), &o.operand, sizeof o.operand);
      code = MPI_Fetch_and_op(operand, o.local, MPI_UINT64_T, rank, there, MPI_SUM, window_);
      break;
    }
    case op_kind::compare_swap: {
      std::byte* operands = next_slot();
      std::memcpy(operands, &o.operand, sizeof o.operand);
      std::memcpy(operands + word_bytes, &o.expected, sizeof o.expected);
      code = MPI_Compare_and_swap(operands, operands + word_bytes, o.local, MPI_UINT64_T, rank, there, window_);
      break;
    }
  }
  pending_[rank] = 1;
  return judge(code, rank, "an operation");
}

status mpi_transport::flush(int rank) noexcept {
  if (rank < 0 || rank >= size_) return status::invalid;
  if (health_[rank] != status::ok) return health_[rank];
  if (pending_[rank] == 0) return status::ok;
  const status s = judge(MPI_Win_flush(rank, window_), rank, "waiting for operations");
  if (s == status::ok) pending_[rank] = 0;
  return s;
}

// Any call into the library moves it.
void mpi_transport::progress() noexcept {
  int there = 0;
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, &there, MPI_STATUS_IGNORE);
}

}  // namespace tobi::transports::mpi
