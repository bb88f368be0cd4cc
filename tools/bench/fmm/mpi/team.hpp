// SPDX-License-Identifier: Apache-2.0
// The processes of the program, and how long this one has waited for the others.
#pragma once

#include <mpi.h>

#include <chrono>
#include <cstddef>
#include <vector>

namespace tobi_bench::fmm_mpi {

class team {
 public:
  explicit team(MPI_Comm all) : all_(all) {
    MPI_Comm_rank(all, &rank_);
    MPI_Comm_size(all, &size_);
  }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] MPI_Comm all() const { return all_; }

  /// Seconds in waiting() since the program has begun.
  [[nodiscard]] double waited_s() const { return waited_s_; }
  /// CALL is to MPI, and returns when other processes have done their part.
  template <class F>
  void waiting(F call) {
    const auto begin = std::chrono::steady_clock::now();
    call();
    waited_s_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }

  void barrier() {
    waiting([&] { MPI_Barrier(all_); });
  }
  void reduce_all(std::vector<double>& values, MPI_Op op) {
    waiting([&] { MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_DOUBLE, op, all_); });
  }
  /// VALUE of each rank.
  template <class T>
  std::vector<T> gather_all(const T& value) {
    std::vector<T> values(static_cast<std::size_t>(size_));
    waiting([&] { MPI_Allgather(&value, sizeof(T), MPI_BYTE, values.data(), sizeof(T), MPI_BYTE, all_); });
    return values;
  }

 private:
  MPI_Comm all_;
  int rank_ = 0, size_ = 1;
  double waited_s_ = 0;
};

/// T by its bytes.
template <class T>
class datatype_of {
 public:
  datatype_of() {
    MPI_Type_contiguous(sizeof(T), MPI_BYTE, &type_);
    MPI_Type_commit(&type_);
  }
  ~datatype_of() { MPI_Type_free(&type_); }
  datatype_of(const datatype_of&) = delete;
  datatype_of& operator=(const datatype_of&) = delete;
  [[nodiscard]] MPI_Datatype get() const { return type_; }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

}  // namespace tobi_bench::fmm_mpi
