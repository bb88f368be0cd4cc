// Compiled into the plugin. Values travel with the fence: everybody gets what everybody has put since the last one.
#include <mpi.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <map>

#include "bootstrap/bootstrap.hpp"
#include "libcore/base/mpi_plugin.hpp"

namespace tobi::base {
void use_services(const host_services& of) noexcept;
}

namespace tobi::bootstrap::mpi {

namespace {

class mpi_exchange final : public exchange {
 public:
  mpi_exchange() {
    int started = 0;
    MPI_Initialized(&started);
    if (started == 0) {
      int given = 0;
      MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &given);  // as the transport does
      std::atexit([] {
        int ended = 0;
        MPI_Finalized(&ended);
        if (ended == 0) MPI_Finalize();
      });
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &comm_);
    MPI_Comm_rank(comm_, &rank_);
    MPI_Comm_size(comm_, &size_);
    known_.resize(static_cast<std::size_t>(size_));
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
    const auto& theirs = known_[static_cast<std::size_t>(rank)];
    const auto found = theirs.find(key);
    if (found == theirs.end()) {
      base::fatal("rank " + std::to_string(rank) + " has put nothing under the key " + std::string(key) + ".");
    }
    return found->second;
  }

  void fence() override {
    wait_for_all();
    const int mine = static_cast<int>(new_.size());
    std::vector<int> bytes(known_.size());
    MPI_Allgather(&mine, 1, MPI_INT, bytes.data(), 1, MPI_INT, comm_);
    std::vector<int> at(known_.size() + 1, 0);
    for (std::size_t r = 0; r < known_.size(); ++r) at[r + 1] = at[r] + bytes[r];
    std::vector<char> all(static_cast<std::size_t>(at.back()));
    MPI_Allgatherv(new_.data(), mine, MPI_CHAR, all.data(), bytes.data(), at.data(), MPI_CHAR, comm_);
    new_.clear();
    for (std::size_t r = 0; r < known_.size(); ++r) take(all.data() + at[r], all.data() + at[r + 1], known_[r]);
  }

  [[noreturn]] void abort(int exit_status) noexcept override {
    MPI_Abort(comm_, exit_status);
    _exit(exit_status);
  }
  void finalize() override { wait_for_all(); }

 private:
  using values = std::map<std::string, std::vector<std::byte>, std::less<>>;

  // MPI's own barrier would spin, on a machine where somebody else may still compute.
  void wait_for_all() {
    MPI_Request all = MPI_REQUEST_NULL;
    MPI_Ibarrier(comm_, &all);
    for (int done = 0;;) {
      MPI_Test(&all, &done, MPI_STATUS_IGNORE);
      if (done != 0) return;
      const timespec moment{0, 50'000};
      nanosleep(&moment, nullptr);
    }
  }

  static void take(const char* from, const char* end, values& into) {
    while (from < end) {
      std::uint32_t sizes[2];
      std::memcpy(sizes, from, sizeof sizes);
      from += sizeof sizes;
      const auto* value = reinterpret_cast<const std::byte*>(from + sizes[0]);
      into[std::string(from, sizes[0])] = {value, value + sizes[1]};
      from += sizes[0] + sizes[1];
    }
  }

  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
  std::vector<char> new_;
  std::vector<values> known_;
};

}  // namespace

extern "C" [[gnu::visibility("default")]] exchange* tobi_mpi_exchange(const base::host_services& host) {
  base::use_services(host);
  return new mpi_exchange;
}

}  // namespace tobi::bootstrap::mpi
