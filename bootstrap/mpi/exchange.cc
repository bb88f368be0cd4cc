// SPDX-License-Identifier: Apache-2.0
// Compiled into the plugin. Values travel with the fence: everybody gets what everybody has put since the last one.
#include <mpi.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "bootstrap/bootstrap.hpp"
#include "libcore/base/mpi_plugin.hpp"

namespace tobi::bootstrap::mpi {

namespace {

// The job is over by then, and all have met. MPICH 4.0 over UCX and TCP does not always return from MPI_Finalize
// between hosts, whatever the program: of 60 runs of one that calls MPI_Allgather alone, 35 did not.
unsigned patience_s = 10;  // more for many processes
bool speaks = false;
int status_at_exit = 0;

void give_up(int) {
  constexpr std::string_view why =
      "tobi: rank 0: the job is over and its results are whole, but MPI_Finalize does not return; start it "
      "with mpirun of Open MPI or srun --mpi=pmix where this MPI library does so again.\n";
  if (speaks) [[maybe_unused]]
    const ssize_t told = write(STDERR_FILENO, why.data(), why.size());
  _exit(status_at_exit);
}

void finalize_mpi(int status, void*) {
  int ended = 0;
  MPI_Finalized(&ended);
  if (ended != 0) return;
  status_at_exit = status;
  std::fflush(nullptr);
  std::signal(SIGALRM, give_up);
  alarm(patience_s);
  MPI_Finalize();
  alarm(0);
}

// The least of unsigned words. MPI_MIN compares MPI_UINT64_T as signed numbers in MPICH 4.0.2, and Open MPI 4.1.4 does
// so with MPI_UNSIGNED_LONG.
void keep_least(void* from, void* into, int* count, MPI_Datatype*) {
  const auto* said = static_cast<const std::uint64_t*>(from);
  auto* least = static_cast<std::uint64_t*>(into);
  for (int i = 0; i < *count; ++i) least[i] = std::min(least[i], said[i]);
}

class mpi_exchange final : public exchange {
 public:
  mpi_exchange() {
    int started = 0;
    MPI_Initialized(&started);
    if (started == 0) {
      int given = 0;
      MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &given);  // as the transport does
      on_exit(finalize_mpi, nullptr);
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &comm_);
    MPI_Op_create(keep_least, 1, &least_);
    MPI_Comm_rank(comm_, &rank_);
    MPI_Comm_size(comm_, &size_);
    speaks = rank_ == 0;
    patience_s += static_cast<unsigned>(size_) / 100;
  }

  [[nodiscard]] std::string_view name() const noexcept override { return "mpi"; }
  [[nodiscard]] int rank() const noexcept override { return rank_; }
  [[nodiscard]] int size() const noexcept override { return size_; }
  [[nodiscard]] bool may_fork() const noexcept override { return false; }

  void put(std::string_view key, std::span<const std::byte> value) override {
    const auto add = [&](const void* bytes, std::size_t n) {
      const auto* from = static_cast<const char*>(bytes);
      new_.insert(new_.end(), from, from + n);
    };
    const std::uint32_t sizes[] = {static_cast<std::uint32_t>(key.size()), static_cast<std::uint32_t>(value.size())};
    add(sizes, sizeof sizes);
    add(key.data(), key.size());
    add(value.data(), value.size());
  }

  [[nodiscard]] std::vector<std::byte> get(int rank, std::string_view key) override {
    for (auto past = known_.rbegin(); past != known_.rend(); ++past) {
      std::vector<std::byte> value;
      if (find(past->of(rank), key, value)) return value;
    }
    base::fatal("rank " + std::to_string(rank) + " has put nothing under the key " + std::string(key) + ".");
  }

  // Where nobody has put anything the fence is a fence alone, and nobody gets a word from everybody.
  void fence() override {
    const int mine = static_cast<int>(new_.size());
    int most = 0;
    MPI_Request all_here = MPI_REQUEST_NULL;
    MPI_Iallreduce(&mine, &most, 1, MPI_INT, MPI_MAX, comm_, &all_here);
    wait_for(all_here);
    if (most == 0) return;
    const auto ranks = static_cast<std::size_t>(size_);
    std::vector<int> bytes(ranks);
    MPI_Allgather(&mine, 1, MPI_INT, bytes.data(), 1, MPI_INT, comm_);
    delivery all;
    all.at.assign(ranks + 1, 0);
    for (std::size_t r = 0; r < ranks; ++r) all.at[r + 1] = all.at[r] + bytes[r];
    all.text.resize(static_cast<std::size_t>(all.at.back()));
    MPI_Allgatherv(new_.data(), mine, MPI_CHAR, all.text.data(), bytes.data(), all.at.data(), MPI_CHAR, comm_);
    known_.push_back(std::move(all));
    new_.clear();
  }

  void least(std::span<std::uint64_t> words) override {
    fence();
    MPI_Request asked = MPI_REQUEST_NULL;
    MPI_Iallreduce(MPI_IN_PLACE, words.data(), static_cast<int>(words.size()), MPI_UINT64_T, least_, comm_, &asked);
    wait_for(asked);
  }

  [[noreturn]] void abort(int exit_status) noexcept override {
    MPI_Abort(comm_, exit_status);
    _exit(exit_status);
  }
  void finalize() override { wait_for_all(); }

 private:
  // What all have put between two fences. MPI has no values that stay with their rank until another one asks for them:
  // the rank that would return them computes. So each process has all, as they came, and a word per rank.
  struct delivery {
    std::vector<char> text;
    std::vector<int> at;  // of each rank; then the end
    [[nodiscard]] std::string_view of(int rank) const noexcept {
      const auto r = static_cast<std::size_t>(rank);
      return {text.data() + at[r], text.data() + at[r + 1]};
    }
  };

  // MPI's own barrier would spin, on a machine where somebody else may still compute.
  void wait_for_all() {
    MPI_Request all = MPI_REQUEST_NULL;
    MPI_Ibarrier(comm_, &all);
    wait_for(all);
  }
  void wait_for(MPI_Request& what) {
    const timespec moment = between_moves();
    for (int done = 0;;) {
      MPI_Test(&what, &done, MPI_STATUS_IGNORE);
      if (done != 0) return;
      if (move_) move_();
      nanosleep(&moment, nullptr);
    }
  }

  static bool find(std::string_view in, std::string_view key, std::vector<std::byte>& into) {
    while (!in.empty()) {
      std::uint32_t sizes[2];
      std::memcpy(sizes, in.data(), sizeof sizes);
      in.remove_prefix(sizeof sizes);
      if (in.substr(0, sizes[0]) == key) {
        const auto* value = reinterpret_cast<const std::byte*>(in.data() + sizes[0]);
        into.assign(value, value + sizes[1]);
        return true;
      }
      in.remove_prefix(std::size_t{sizes[0]} + sizes[1]);
    }
    return false;
  }

  MPI_Comm comm_ = MPI_COMM_NULL;
  MPI_Op least_ = MPI_OP_NULL;
  int rank_ = 0;
  int size_ = 1;
  std::vector<char> new_;
  std::vector<delivery> known_;
};

}  // namespace

extern "C" [[gnu::visibility("default")]] exchange* tobi_mpi_exchange(const base::host_services& host) {
  base::use_services(host);
  return new mpi_exchange;
}

}  // namespace tobi::bootstrap::mpi
