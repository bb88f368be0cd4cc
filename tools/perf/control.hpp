// SPDX-License-Identifier: Apache-2.0
// How rank 0 tells the others what to do, whatever the transport does meanwhile: over TCP, since they may be on
// different hosts. A thread of each other rank sleeps until something is said, and leaves it where the rank that polls
// the transport looks: in memory.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/tcp/sockets.hpp"
#include "tools/perf/lane.hpp"
#include "tools/perf/rounds.hpp"
#include "tools/perf/work.hpp"

namespace tobi_perf {

struct order {
  work todo{};
  std::uint32_t lane = 0;
  bool quit = false;
  bool meets = false;  // all pairs
};

/// What rank 1 has to tell when it has stopped.
struct done_by_itself {
  std::uint64_t operations = 0;  // where both ranks do the same
  std::uint64_t ns = 0;
  double core_ns = 0;  // see rounds.hpp
  std::uint64_t without_core_ns = 0;
};

/// Rank 0's end.
class controller {
 public:
  /// Collective, with listener's. Fatal where a rank cannot be reached.
  /// With a crowd all other ranks work as rank 1 does with --bidirectional, but for the target of an incast.
  controller(tobi::bootstrap::bootstrap& job, crowd with);

  /// Rank 1 does W on LANE from when this returns until stop() does. SERVE is called until the flag is set, which says
  /// that the others have stopped: what they have begun may need this rank. Returns what they did by themselves.
  void begin(const work& w, std::uint32_t lane);
  done_by_itself stop(const std::function<void(const stop_flag& stopped)>& serve);
  /// Rank 1 meets the other pairs, as rank 0 does next.
  void meet();
  /// What rank 1 has met. Its thread replies, so it may sleep.
  [[nodiscard]] process_facts facts();
  /// All ranks come to their end.
  void quit();

 private:
  done_by_itself stop_crowd(const std::function<void(const stop_flag& stopped)>& serve);

  std::vector<tobi::bootstrap::tcp::file> ranks_;  // from 1 on
  crowd with_;
};

/// Another rank's end.
class listener {
 public:
  explicit listener(tobi::bootstrap::bootstrap& job);

  /// Sleeps until rank 0 orders something.
  [[nodiscard]] order next();
  /// This rank works on it, until stop_flag() says otherwise.
  void say_ready();
  [[nodiscard]] const stop_flag& stop() const noexcept;
  void say_stopped(const done_by_itself& what);
  /// Of a crowd: one that has stopped serves the others until this is set, and then says so.
  [[nodiscard]] const stop_flag& rest() const noexcept;
  void say_resting();
  /// Whether rank 0 has said that all come to their end.
  [[nodiscard]] bool is_over() const noexcept;

 private:
  struct state;
  std::shared_ptr<state> state_;  // the thread's too
};

}  // namespace tobi_perf
