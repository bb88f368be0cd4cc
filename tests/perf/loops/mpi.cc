// SPDX-License-Identifier: Apache-2.0
// MPI's RMA between two ranks that a launcher has started; the argument "allocate" has the library choose the memory of
// the window (MPI_Win_allocate in place of MPI_Win_create). See loop.hpp.
#include <mpi.h>

#include <cstring>

#include "tests/perf/loops/loop.hpp"

namespace {

constexpr std::size_t large = 64 << 10;
constexpr std::size_t of_target = 4096;
constexpr std::size_t own = of_target + large;
constexpr std::size_t total = own + large;
constexpr int over = 1;  // the tag of the message that says so

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  loops::bind_to_core(rank);
  std::byte* memory = nullptr;
  MPI_Win window;
  if (argc > 1 && std::strcmp(argv[1], "allocate") == 0) {
    MPI_Win_allocate(total, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  } else {
    memory = static_cast<std::byte*>(loops::shared_memory(total));
    MPI_Win_create(memory, total, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  }
  std::memset(memory, 0, total);
  MPI_Win_lock_all(MPI_MODE_NOCHECK, window);
  MPI_Barrier(MPI_COMM_WORLD);
  const auto looks = [] {
    int there = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, over, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
    return there != 0;
  };
  const auto put = [&](std::size_t bytes) {
    const int n = static_cast<int>(bytes);
    MPI_Put(memory + own, n, MPI_BYTE, 1 - rank, of_target, n, MPI_BYTE, window);
    MPI_Win_flush(1 - rank, window);
  };
  auto& word = *reinterpret_cast<std::uint64_t*>(memory + of_target);
  const auto seen = [&] { return std::atomic_ref(word).load(std::memory_order_acquire); };
  if (rank == 1) {
    std::uint64_t last = 0;
    while (!looks()) {
    }
    MPI_Recv(nullptr, 0, MPI_BYTE, 0, over, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    word = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    while (!looks()) {
      if (seen() == last) continue;
      last = seen();
      std::memcpy(memory + own, &last, sizeof last);
      put(8);
    }
    MPI_Recv(nullptr, 0, MPI_BYTE, 0, over, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else {
    for (const std::size_t bytes : {std::size_t{8}, large}) {
      const int n = static_cast<int>(bytes);
      loops::measure("get", bytes, 1, [&] {
        MPI_Get(memory + own, n, MPI_BYTE, 1, of_target, n, MPI_BYTE, window);
        MPI_Win_flush(1, window);
      });
      loops::measure("put", bytes, 1, [&] { put(bytes); });
    }
    const std::uint64_t one = 1;
    loops::measure("amo-faa", 8, 1, [&] {
      MPI_Fetch_and_op(&one, memory + 64, MPI_UINT64_T, 1, 0, MPI_SUM, window);
      MPI_Win_flush(1, window);
    });
    MPI_Send(nullptr, 0, MPI_BYTE, 1, over, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    std::uint64_t number = 0;
    loops::measure("put-oneway", 8, 2, [&] {
      std::memcpy(memory + own, &++number, sizeof number);
      put(8);
      while (seen() != number) (void)looks();
    });
    MPI_Send(nullptr, 0, MPI_BYTE, 1, over, MPI_COMM_WORLD);
  }
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
  MPI_Finalize();
}
