// SPDX-License-Identifier: Apache-2.0
// mpi: starting the library, the window, and the measurement of one-sidedness.
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "arch/clock.hpp"
#include "libcore/base/log.hpp"
#include "libcore/base/mpi_plugin.hpp"
#include "libcore/base/per_rank.hpp"
#include "transports/key_parts.hpp"
#include "transports/mpi/mpi.hpp"
#include "transports/pairing.hpp"

namespace tobi::transports::mpi {

namespace {

struct key_content {
  std::uint64_t base;
  std::uint64_t bytes;
  std::uint64_t number;  // among the owner's registrations, so that no two keys are equal
};

const char* library_version() {
  static char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(text, &length);
  for (char* c = text; *c != '\0'; ++c) {
    if (*c == ',' || *c == '\n') *c = '\0';  // the first words say it
    if (*c == '\t') *c = ' ';
  }
  return text;
}

// Somebody else of this process may have started it: the exchange, or the program.
void start_mpi() {
  int started = 0;
  MPI_Initialized(&started);
  if (started != 0) return;
  int given = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &given);  // capabilities::any_thread
  std::atexit([] {
    int ended = 0;
    MPI_Finalized(&ended);
    if (ended == 0) MPI_Finalize();
  });
}

// How long a rank sleeps outside of MPI, and how soon an operation on it must be done to have needed nothing of it.
constexpr long nap_ns = 40'000'000;
constexpr std::uint64_t soon_ns = 20'000'000;

}  // namespace

extern "C" {

[[gnu::visibility("default")]] transport* tobi_mpi_transport(const base::host_services& host, const context& where) {
  base::use_services(host);
  start_mpi();
  return new mpi_transport(where);
}
[[gnu::visibility("default")]] const char* tobi_mpi_version() { return library_version(); }

}  // extern "C"

mpi_transport::mpi_transport(const context& where)
    : rank_(where.rank),
      size_(where.size),
      slots_(slots),
      pending_(where.size),
      health_(static_cast<std::size_t>(where.size), status::ok) {
  int world = 0;
  int self = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &world);
  MPI_Comm_rank(MPI_COMM_WORLD, &self);
  if (world != size_ || self != rank_) {
    base::fatal("mpi needs each worker to be a process of MPI: the launcher started " + std::to_string(world) +
                    " of them, and this job has " + std::to_string(size_) + " workers; start it with mpirun -n " +
                    std::to_string(size_) + ".",
                base::exit_usage);
  }
  MPI_Comm_dup(MPI_COMM_WORLD, &comm_);
  // Open MPI makes the window by a component. Debian's 4.1 has one for hosts without a fabric, pt2pt, and switches it
  // off: with it gets between three hosts were never complete.
  MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
  if (MPI_Win_create_dynamic(MPI_INFO_NULL, comm_, &window_) != MPI_SUCCESS) {
    const timespec for_the_first{rank_ == 0 ? 0 : 2, 0};  // one says it, and its launcher ends the others
    nanosleep(&for_the_first, nullptr);
    base::fatal(
        "this MPI library cannot make a dynamic window between these hosts, which mpi needs (Open MPI 4.1 "
        "has none over TCP); set TOBI_TRANSPORT=ofi.",
        base::exit_usage);
  }
  MPI_Comm_set_errhandler(comm_, MPI_ERRORS_ARE_FATAL);
  MPI_Win_set_errhandler(window_, MPI_ERRORS_RETURN);
  MPI_Win_lock_all(MPI_MODE_NOCHECK, window_);
  caps_.fetch_add = true;
  caps_.compare_swap = true;
  caps_.scope = amo_scope::domain;
  caps_.registers_any_memory = true;
  caps_.needs_progress = true;
  int threads = MPI_THREAD_SINGLE;
  MPI_Query_thread(&threads);
  caps_.any_thread = threads >= MPI_THREAD_SERIALIZED;
  caps_.inline_max = small_bytes;
  caps_.put_max = std::uint64_t{1} << 30;
  measure_passivity(where.nodes);
  base::log(base::log_level::info, "mpi: " + describe() + ".");
}

mpi_transport::~mpi_transport() {
  int ended = 0;
  MPI_Finalized(&ended);
  if (ended != 0) return;
  MPI_Win_unlock_all(window_);
  for (const own_region& o : own_) {
    if (o.attached) MPI_Win_detach(window_, o.base);
  }
  MPI_Win_free(&window_);
  MPI_Comm_free(&comm_);
}

std::string mpi_transport::describe() const {
  const auto word = [](bool one_sided) { return one_sided ? "one-sided" : "served when the target polls"; };
  return std::string(library_version()) + "; as measured at the start, gets are " + word(caps_.passive_rma) +
         " and atomics are " + word(caps_.passive_amo);
}

// Half of the ranks sleep, the other half use their memory; then the other way round. One that had to wait speaks for
// all. A slow machine makes the answer "no", which costs polling and is right.
void mpi_transport::measure_passivity(const base::per_rank<int>& nodes) {
  caps_.passive_rma = caps_.passive_amo = true;
  if (size_ == 1) return;
  const auto word = std::make_unique<std::uint64_t>(0);
  MPI_Win_attach(window_, word.get(), sizeof *word);
  MPI_Aint mine = 0;
  MPI_Get_address(word.get(), &mine);
  base::per_rank<MPI_Aint> all(size_);
  MPI_Allgather(&mine, 1, MPI_AINT, all.data(), 1, MPI_AINT, comm_);
  const auto [target, sleeps_first] = pair_up(rank_, size_, nodes);
  const MPI_Aint there = all[target];
  int soon[2] = {1, 1};
  // Once without a clock: the first contact makes connections.
  std::uint64_t value = 0;
  const std::uint64_t one = 1;
  const auto get = [&] { MPI_Get(&value, 1, MPI_UINT64_T, target, there, 1, MPI_UINT64_T, window_); };
  const auto add = [&] { MPI_Fetch_and_op(&one, &value, MPI_UINT64_T, target, there, MPI_SUM, window_); };
  get();
  MPI_Win_flush(target, window_);
  add();
  MPI_Win_flush(target, window_);
  for (int turn = 0; turn < 2; ++turn) {
    MPI_Barrier(comm_);
    if (sleeps_first == (turn == 0)) {
      const timespec nap{0, nap_ns};
      nanosleep(&nap, nullptr);
    } else {
      // A rank that is slow out of the barrier is not asleep yet.
      const timespec moment{0, nap_ns / 8};
      nanosleep(&moment, nullptr);
      std::uint64_t begin = arch::now_ns();
      get();
      MPI_Win_flush(target, window_);
      soon[0] = soon[0] != 0 && arch::now_ns() - begin < soon_ns ? 1 : 0;
      if (soon[0] != 0) {
        begin = arch::now_ns();
        add();
        MPI_Win_flush(target, window_);
        soon[1] = soon[1] != 0 && arch::now_ns() - begin < soon_ns / 2 ? 1 : 0;
      } else {
        soon[1] = 0;
      }
    }
    MPI_Barrier(comm_);
  }
  int agreed[2] = {0, 0};
  MPI_Allreduce(soon, agreed, 2, MPI_INT, MPI_MIN, comm_);
  caps_.passive_rma = agreed[0] != 0;
  caps_.passive_amo = agreed[1] != 0;
  MPI_Win_detach(window_, word.get());
}

status mpi_transport::connect(std::span<const std::string> addresses) {
  return addresses.size() == static_cast<std::size_t>(size_) ? status::ok : status::invalid;
}

status mpi_transport::register_memory(const memory& local, region_key& key) {
  if (local.base == nullptr || local.bytes == 0) return status::invalid;
  auto* base = static_cast<std::byte*>(local.base);
  const bool inside = std::any_of(own_.begin(), own_.end(), [&](const own_region& o) {
    return o.attached && base >= o.base && base + local.bytes <= o.base + o.bytes;
  });
  if (!inside && judge(MPI_Win_attach(window_, base, static_cast<MPI_Aint>(local.bytes)), rank_,
                       "registering memory") != status::ok) {
    return status::invalid;
  }
  MPI_Aint address = 0;
  MPI_Get_address(base, &address);
  key = sealed(key_content{static_cast<std::uint64_t>(address), local.bytes, ++registrations_});
  own_.push_back({base, local.bytes, key, registrations_, !inside});
  return status::ok;
}

status mpi_transport::deregister_memory(const region_key& key) {
  const auto found =
      std::find_if(own_.begin(), own_.end(), [&](const own_region& o) { return o.key.bytes == key.bytes; });
  if (found == own_.end()) return status::invalid;
  for (region& r : regions_) {
    if (r.own == found->number) r.bytes = 0;
  }
  if (found->attached) MPI_Win_detach(window_, found->base);
  own_.erase(found);
  return status::ok;
}

status mpi_transport::attach(int rank, const region_key& key, region_id& id) {
  if (rank < 0 || rank >= size_) return status::invalid;
  const auto c = unsealed<key_content>(key);
  if (!c || c->bytes == 0) return status::invalid;
  if (rank == rank_ &&
      std::none_of(own_.begin(), own_.end(), [&](const own_region& o) { return o.number == c->number; })) {
    return status::invalid;
  }
  regions_.push_back({rank, c->base, c->bytes, rank == rank_ ? c->number : 0});
  id = static_cast<region_id>(regions_.size() - 1);
  return status::ok;
}

}  // namespace tobi::transports::mpi
