// SPDX-License-Identifier: Apache-2.0
// A way to do the operations: through a transport, or by a library's own calls. Each lane writes its own loops, so that
// nothing of one is in the other's time. Two processes use a lane together, rank 0 starts operations on rank 1.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "arch/clock.hpp"
#include "bootstrap/bootstrap.hpp"
#include "libcore/base/settings.hpp"
#include "tools/perf/open_loop.hpp"
#include "tools/perf/work.hpp"
#include "transports/transport.hpp"

namespace tobi_perf {

/// Where things are in the region of each rank. The first page holds the word for atomics; then comes what the peer
/// reads and writes; then what this rank's own operations read from and write to.
struct layout {
  static constexpr std::uint64_t word = 0;
  static constexpr std::uint64_t result = 64;   // where the old value of an atomic goes
  static constexpr std::uint64_t ask = 128;     // where the number of a fresh get arrives
  static constexpr std::uint64_t asking = 192;  // and where it comes from
  static constexpr std::uint64_t bell = 256;    // what a target sleeps on, where its memory is mapped
  static constexpr std::uint64_t data = 4096;
  std::uint64_t local = 0;
  std::uint64_t total = 0;

  explicit layout(std::uint64_t largest) noexcept {
    const std::uint64_t half = ((largest < windows ? windows : largest) + 4095) / 4096 * 4096;
    local = data + half;
    total = local + half;
  }
  // Operations of a window take turns on a few places, all in one cache where they are small.
  static constexpr std::uint64_t windows = 512u << 10;
  static std::uint64_t stride(std::uint64_t bytes) noexcept { return (bytes + 63) / 64 * 64; }
  static std::uint64_t places(std::uint64_t bytes) noexcept {
    const std::uint64_t fit = (windows / 2) / stride(bytes);
    return fit > 64 ? 64 : fit < 1 ? 1 : fit;
  }
};

/// Two ranks and their memory. A rank behind them serves their node; its peer is rank 0.
struct scene {
  tobi::bootstrap::bootstrap& job;
  const tobi::base::settings& settings;
  layout where;
  tobi::transports::memory own;
  int peer_fd;             // the other's memory file, where it is on this machine; else -1
  std::uint64_t limit_ns;  // how long one operation may take, with a target that polls
  crowd with = crowd::none;

  [[nodiscard]] int peer() const noexcept {
    return job.rank() == 0 || (with == crowd::incast && job.rank() > 1) ? 1 : 0;
  }
  /// With whose memory this rank works.
  [[nodiscard]] std::vector<int> peers() const {
    if (with != crowd::all_to_all) return {peer()};
    std::vector<int> others;
    // Each begins behind itself, so that not all begin with the same one.
    for (int i = 1; i < job.size(); ++i) others.push_back((job.rank() + i) % job.size());
    return others;
  }
  [[nodiscard]] std::byte* at(std::uint64_t offset) const noexcept {
    return static_cast<std::byte*>(own.base) + offset;
  }
  [[nodiscard]] std::uint64_t* word_at(std::uint64_t offset) const noexcept {
    return reinterpret_cast<std::uint64_t*>(at(offset));
  }
  /// Gives VALUE to the other rank under KEY and returns the other's. Collective.
  template <class T>
  [[nodiscard]] T exchange(std::string_view key, const T& value) const {
    job.put(key, std::as_bytes(std::span(&value, 1)));
    job.fence();
    T theirs;
    std::memcpy(&theirs, job.get(peer(), key).data(), sizeof theirs);
    return theirs;
  }
};

/// The end of waiting for one operation. It looks at the clock once in a few thousand calls only.
class patience {
 public:
  explicit patience(std::uint64_t limit_ns) noexcept : limit_ns_(limit_ns) {}
  [[nodiscard]] bool over() noexcept { return ++calls_ % 1024 == 0 && is_late(); }

 private:
  [[gnu::noinline]] bool is_late() noexcept {
    const std::uint64_t now = tobi::arch::now_ns();
    if (since_ == 0) since_ = now;
    return now - since_ > limit_ns_;
  }
  std::uint64_t limit_ns_;
  std::uint64_t since_ = 0;
  std::uint64_t calls_ = 0;
};

/// How long an operation on a target that sleeps may take.
inline constexpr std::uint64_t idle_limit_ns = 2'000'000'000;

/// A part of the set-up, which happens once.
struct set_up_part {
  std::string name;
  double ns;
};

/// Set when the target may stop responding.
using stop_flag = std::atomic<std::uint32_t>;

class lane {
 public:
  virtual ~lane() = default;
  /// What is measured, for people: one line, or "".
  [[nodiscard]] virtual std::string describe() const { return ""; }
  /// "" when this work can be measured, else why not.
  [[nodiscard]] virtual std::string unable(const work& w) const = 0;
  /// Both ranks, before rank 0 starts and rank 1 responds: forgets what an earlier work left.
  virtual void start(const work& w) = 0;
  /// Rank 0: COUNT times the work, one behind the other; of a window all at once, then complete. False when the time
  /// limit is over, after which the lane is of no use.
  virtual bool initiate(const work& w, std::uint64_t count) = 0;
  /// Rank 0: operations that are due as PLAN says; those that are due are posted together, and complete together. NS
  /// gets the latency of each, from when it was due. False: as initiate().
  virtual bool follow([[maybe_unused]] const work& w, [[maybe_unused]] const schedule& plan,
                      [[maybe_unused]] std::vector<double>& ns) {
    return false;
  }
  /// Of the last initiate(): time that was none of the operations'.
  [[nodiscard]] virtual double apart_ns() const { return 0; }
  /// Rank 0, behind operations on an idle target that were over their limit, once rank 1 responds: completes them.
  virtual bool drain() { return false; }
  /// What making the lane has taken, part by part.
  [[nodiscard]] virtual std::vector<set_up_part> set_up() const { return {}; }
  /// Rank 1: what the target has to do while rank 0 works, until STOP is set.
  virtual void respond(const work& w, const stop_flag& stop) = 0;
};

/// What a raw loop says of work that it does not do.
inline constexpr const char* no_raw_loop = "there is no raw loop for it";

/// The byte at the end of a ping or pong, as others may write it at any time.
inline std::uint8_t last_byte(const std::byte* at, std::uint64_t bytes) noexcept {
  auto* end = const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(at + bytes - 1));
  return std::atomic_ref(*end).load(std::memory_order_acquire);
}
inline void set_last_byte(std::byte* at, std::uint64_t bytes, std::uint8_t value) noexcept {
  std::atomic_ref(*reinterpret_cast<std::uint8_t*>(at + bytes - 1)).store(value, std::memory_order_release);
}
/// Pings are numbered 1, 2, ... 255, 1, ...: 0 is what start() leaves.
inline std::uint8_t after(std::uint8_t ping) noexcept { return ping == 255 ? 1 : static_cast<std::uint8_t>(ping + 1); }

/// Of a fresh get: writes a word of each cache line of what is read, the first line last, which tells that all are
/// written.
inline void write_lines(std::byte* at, std::uint64_t bytes, std::uint64_t number) noexcept {
  constexpr std::uint64_t line = 64;
  for (std::uint64_t i = (bytes - sizeof number) / line * line;; i -= line) {
    std::atomic_ref(*reinterpret_cast<std::uint64_t*>(at + i)).store(number, std::memory_order_release);
    if (i == 0) return;
  }
}

/// A lane of a library that connects two endpoints: on both ranks or on none. Each opens its side and reaches what the
/// other says of itself; no request may arrive before the other side takes some. Collective.
template <class Lane>
std::unique_ptr<lane> connected(const scene& s, calls by, const std::string& library, std::string& why_not) {
  auto made = std::make_unique<Lane>(s, by);
  why_not = made->open();
  const std::string key = std::string(name_of(by)) + " " + library;
  const auto theirs = s.exchange(key, made->self());
  if (why_not.empty()) why_not = theirs.ok == 0 ? "the other rank could not open " + library : made->reach(theirs);
  const std::uint32_t ready = s.exchange(key + " ready", static_cast<std::uint32_t>(why_not.empty()));
  if (why_not.empty() && ready == 0) why_not = "the other rank could not connect";
  return why_not.empty() ? std::move(made) : nullptr;
}

/// Operations through FABRIC. Registers and attaches the scene's memory: collective.
std::unique_ptr<lane> transport_lane(const scene& s, tobi::transports::transport& fabric);

/// A raw loop: the calls of the library that a transport drives. Defined once, as an object, in raw_lane.cc of the
/// transport's folder. MAKE, which gets calls::raw or calls::best, returns null, with the reason in WHY_NOT, where the
/// loop does not work here: on both ranks or on none. Collective.
struct raw_loop {
  using make_function = std::unique_ptr<lane> (*)(const scene& s, calls by, std::string& why_not);
  raw_loop(std::string_view of, make_function with) noexcept;
  raw_loop(const raw_loop&) = delete;
  raw_loop& operator=(const raw_loop&) = delete;

  std::string_view transport;
  make_function make;
  const raw_loop* older;
};
/// The raw loop of a transport, made. Null, with the reason in WHY_NOT, as above or where this build has none.
std::unique_ptr<lane> raw_lane(std::string_view transport, const scene& s, calls by, std::string& why_not);

}  // namespace tobi_perf
