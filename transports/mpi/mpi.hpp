// SPDX-License-Identifier: Apache-2.0
// MPI-3 RMA, passive target: one dynamic window, locked for all from start to end.
//
// Whether this is one-sided is the library's affair, and measured at the start: a get and an atomic from a rank that
// sleeps outside of MPI either come back meanwhile or do not. flush() waits inside of MPI, which serves the others'
// requests there; everything else only posts.
//
// MPI allows one kind of accumulate at a time on a word (accumulate_ops), and no put together with it. The runtime's
// words keep to that: each is changed by compare-and-swap alone, or by fetch-and-add alone.
#pragma once

#include <mpi.h>

#include <vector>

#include "libcore/base/per_rank.hpp"
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
  struct own_region {
    std::byte* base;
    std::size_t bytes;
    region_key key;
    std::uint64_t number;
    bool attached;  // to the window; a part of another region is in it already
  };
  struct region {
    int rank = -1;
    std::uint64_t base = 0;
    std::uint64_t bytes = 0;
    std::uint64_t own = 0;  // of this rank: the number of its registration
  };
  [[nodiscard]] std::byte* next_slot() noexcept;
  [[nodiscard]] status judge(int code, int rank, const char* doing) noexcept;
  void measure_passivity(const base::per_rank<int>& nodes);

  int rank_;
  int size_;
  capabilities caps_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  MPI_Win window_ = MPI_WIN_NULL;
  std::vector<slot> slots_;
  std::size_t used_slots_ = 0;
  std::vector<own_region> own_;
  std::uint64_t registrations_ = 0;
  std::vector<region> regions_;
  base::per_rank<char> pending_;
  base::per_rank<status> health_;
};

}  // namespace tobi::transports::mpi
