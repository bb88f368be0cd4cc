// SPDX-License-Identifier: Apache-2.0
// MPI's own calls: a window over the region, locked for all, MPI_Get, MPI_Put and the atomics, each followed by
// MPI_Win_flush. The best loop has a window of MPI_Win_allocate, whose memory the library chooses: ranks of one machine
// may share it. Compiled once for each MPI library, as a plugin (see libcore/base/mpi_plugin.hpp).
#include <mpi.h>

#include <cstring>

#include "tools/perf/lane.hpp"

namespace tobi_perf {

namespace {

class raw_mpi_lane final : public lane {
 public:
  raw_mpi_lane(const scene& s, calls by) : s_(s), allocates_(by == calls::best) {
    MPI_Comm_dup(MPI_COMM_WORLD, &comm_);
    const auto bytes = static_cast<MPI_Aint>(s.where.total);
    if (allocates_) {
      MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, comm_, &memory_, &window_);
      std::memset(memory_, 0, s.where.total);
    } else {
      memory_ = static_cast<std::byte*>(s.own.base);
      MPI_Win_create(memory_, bytes, 1, MPI_INFO_NULL, comm_, &window_);
    }
    MPI_Win_lock_all(MPI_MODE_NOCHECK, window_);
  }
  ~raw_mpi_lane() override {
    MPI_Win_unlock_all(window_);
    MPI_Win_free(&window_);
    MPI_Comm_free(&comm_);
  }

  [[nodiscard]] std::string describe() const override {
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Get_library_version(text, &length);
    std::string version(text, static_cast<std::size_t>(length));
    return version.substr(0, version.find_first_of(",\n")) +
           (allocates_ ? ", a window of MPI_Win_allocate" : ", a window of MPI_Win_create");
  }
  [[nodiscard]] std::string unable(const work& w) const override {
    if (w.what == step::notify || w.what == step::fresh || w.what == step::wake) return no_raw_loop;
    if (w.what == step::chain) return "MPI has no order between operations on different words, so there is no chain";
    return "";
  }
  void start(const work& w) override {
    ping_ = 0;
    set_last_byte(at(layout::data), w.bytes, 0);
  }
  bool initiate(const work& w, std::uint64_t count) override;
  void respond(const work& w, const stop_flag& stop) override;

 private:
  [[nodiscard]] std::byte* at(std::uint64_t offset) const noexcept { return memory_ + offset; }
  void flush() noexcept { MPI_Win_flush(s_.peer(), window_); }
  void get(std::uint64_t place, std::uint64_t bytes) noexcept {
    const int n = static_cast<int>(bytes);
    MPI_Get(at(s_.where.local + place), n, MPI_BYTE, s_.peer(), static_cast<MPI_Aint>(s_.where.data + place), n,
            MPI_BYTE, window_);
  }
  void put(std::uint64_t place, std::uint64_t bytes) noexcept {
    const int n = static_cast<int>(bytes);
    MPI_Put(at(s_.where.local + place), n, MPI_BYTE, s_.peer(), static_cast<MPI_Aint>(s_.where.data + place), n,
            MPI_BYTE, window_);
  }
  void poke() noexcept {
    int there = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, &there, MPI_STATUS_IGNORE);
  }
  void window(const work& w, std::uint64_t count) noexcept;

  const scene& s_;
  bool allocates_;
  std::byte* memory_ = nullptr;  // of this rank
  MPI_Comm comm_ = MPI_COMM_NULL;
  MPI_Win window_ = MPI_WIN_NULL;
  std::uint64_t expected_ = 0;
  std::uint8_t ping_ = 0;
};

void raw_mpi_lane::window(const work& w, std::uint64_t count) noexcept {
  constexpr std::uint64_t outstanding = 256;
  const std::uint64_t places = layout::places(w.bytes);
  const std::uint64_t stride = layout::stride(w.bytes);
  for (std::uint64_t i = 0; i < count; ++i) {
    if (w.what == step::get_window) {
      get(i % places * stride, w.bytes);
    } else {
      put(i % places * stride, w.bytes);
    }
    if (i % outstanding == outstanding - 1) flush();
  }
  flush();
}

bool raw_mpi_lane::initiate(const work& w, std::uint64_t count) {
  const auto word = static_cast<MPI_Aint>(layout::word);
  std::uint64_t* const result = reinterpret_cast<std::uint64_t*>(at(layout::result));
  const std::uint64_t one = 1;
  if (is_window(w.what)) {
    window(w, count);
    return true;
  }
  for (std::uint64_t i = 0; i < count; ++i) {
    switch (w.what) {
      case step::get:
        get(0, w.bytes);
        flush();
        break;
      case step::put:
        put(0, w.bytes);
        flush();
        break;
      case step::fetch_add:
        MPI_Fetch_and_op(&one, result, MPI_UINT64_T, s_.peer(), word, MPI_SUM, window_);
        flush();
        break;
      case step::compare_swap: {
        const std::uint64_t desired = expected_ + 1;
        MPI_Compare_and_swap(&desired, &expected_, result, MPI_UINT64_T, s_.peer(), word, window_);
        flush();
        expected_ = *result == expected_ ? desired : *result;
        break;
      }
      case step::ping_pong: {
        ping_ = after(ping_);
        set_last_byte(at(s_.where.local), w.bytes, ping_);
        put(0, w.bytes);
        flush();
        patience p(s_.limit_ns);
        while (last_byte(at(layout::data), w.bytes) != ping_) {
          poke();
          if (p.over()) return false;
        }
        break;
      }
      default:
        return false;
    }
  }
  return true;
}

void raw_mpi_lane::respond(const work& w, const stop_flag& stop) {
  if (w.what != step::ping_pong) {
    while (stop.load(std::memory_order_relaxed) == 0) poke();
    return;
  }
  for (std::uint8_t ping = 1;; ping = after(ping)) {
    while (last_byte(at(layout::data), w.bytes) != ping) {
      poke();
      if (stop.load(std::memory_order_relaxed) != 0) return;
    }
    set_last_byte(at(s_.where.local), w.bytes, ping);
    put(0, w.bytes);
    flush();
  }
}

}  // namespace

// The transport has started MPI.
extern "C" [[gnu::visibility("default")]] lane* tobi_perf_raw_mpi(const scene& s, calls by) {
  return new raw_mpi_lane(s, by);
}

}  // namespace tobi_perf
