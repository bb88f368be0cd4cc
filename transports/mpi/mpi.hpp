// MPI-3 RMA, passive target: one dynamic window, locked for all from start to end.
//
// Whether this is one-sided is the library's affair, and measured at the start: a get and an atomic from a rank that
// sleeps outside of MPI either come back meanwhile or do not. flush() waits inside of MPI, which serves the others'
// requests there; everything else only posts.
//
// MPI allows one kind of accumulate at a time on a word (accumulate_ops), and no put beside it. The runtime's words
// keep to that: each is changed by compare-and-swap alone, or by fetch-and-add alone.
#pragma once

#include <mpi.h>

#include <vector>

#include "transports/transport.hpp"

namespace tobi::transports::mpi {

class mpi_transport final : public transport {
 public:
  explicit mpi_transport(const context& where);
  ~mpi_transport() override;

  [[nodiscard]] std::string_view name() const noexcept override { return "mpi"; }
  [[nodiscard]] const capabilities& caps() const noexcept override { return caps_; }
  [[nodiscard]] std::string describe() const override;
  [[nodiscard]] std::string address() const override { return {}; }
  status connect(std::span<const std::string> addresses) override;
  status register_memory(const memory& local, region_key& key) override;
  status deregister_memory(const region_key& key) override;
  status attach(int rank, const region_key& key, region_id& id) override;
  [[nodiscard]] std::byte* map(region_id) noexcept override { return nullptr; }

  status post(int rank, std::span<const op> ops) noexcept override;
  status flush(int rank) noexcept override;
  void progress() noexcept override;

 private:
  static constexpr std::size_t small_bytes = 64;
  static constexpr std::size_t slots = 4096;  // of small puts and operands between two flushes of all
  struct slot {
    alignas(16) std::byte bytes[small_bytes];
  };
  static constexpr std::size_t windows_max = 16;
  struct own_region {
    std::byte* base;
    std::size_t bytes;
    region_key key;
    std::uint64_t number;
    std::uint64_t
        within;     // the registration whose window, or part of the dynamic window, has it: itself or a larger one
    bool attached;  // to the dynamic window
  };
  struct region {
    int rank = -1;
    std::size_t window = 0;
    std::uint64_t base = 0;  // displacement in the window
    std::uint64_t bytes = 0;
    std::uint64_t own = 0;      // of this rank: the number of its registration
    std::byte* here = nullptr;  // and where it is
  };
  [[nodiscard]] std::byte* next_slot() noexcept;
  [[nodiscard]] status judge(int code, int rank, const char* doing) noexcept;
  status attach_dynamically(own_region& o) noexcept;
  void measure_passivity();

  int rank_;
  int size_;
  capabilities caps_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  // The first is dynamic. Each other one is of the registrations with one number, 1 and on, on all ranks: those that
  // were made before connect(), where all ranks are there to make a window. MPICH is a third faster there.
  std::vector<MPI_Win> windows_;
  std::vector<std::vector<MPI_Aint>> starts_;  // of each window's memory, by rank
  std::vector<slot> slots_;
  std::size_t used_slots_ = 0;
  std::vector<own_region> own_;
  std::uint64_t registrations_ = 0;
  std::vector<region> regions_;
  std::vector<std::uint32_t> pending_;  // for each peer a bit a window
  bool connected_ = false;
  std::vector<status> health_;
};

}  // namespace tobi::transports::mpi
