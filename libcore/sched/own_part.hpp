// SPDX-License-Identifier: Apache-2.0
// How long a worker that has ended its part of a loop keeps from the parts of other nodes.
//
// A loop over distributed memory begins each part where its data are (tobi/placement.hpp). A worker that ends early
// could go and take what is left elsewhere. Its data would come along, and the next loop over the same data would find
// the same. So it waits for others of its own node, whose memory it reads directly, and takes of a part on another node
// only when it has been idle for as long as its own part took, times something that it learns.
//
// If moving a part costs no more than to compute it, once is right: the wait is at most what was computed, as in the
// problem of renting or buying skis, whose best rule loses a factor of two at most. Where it costs more (a sweep over
// memory does, over most networks), moving loses however long the worker has waited, and the only gain is with a part
// that stands still. A worker begins with four times. Each time that what it took of a part elsewhere turned out to be
// waiting rather than computing, the wait becomes four times as long, up to 16 times. Where it was much to compute, it
// becomes half of that, down to once. Nor is it ever longer than 20 ms (320 ms), in which a network brings much.
//
// Meanwhile the loop may have ended, and what is to be done elsewhere may be something else, which is taken as ever. A
// worker says in its window whether it runs such a part (deque::runs_part), and a thief that waits passes it by.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tobi::sched {

/// What a worker may take: of its own node alone, of other nodes what is of no part, or all.
enum class reach : std::uint8_t { near, no_parts, all };

class own_part {
 public:
  /// SHARES_CORE: with other workers. POLLED: what comes from others waits until this worker, or another one, looks.
  explicit own_part(bool shares_core = false, bool polled = false) noexcept
      : least_ns_(shares_core ? time_slice_ns
                  : polled    ? polled_ns
                              : usual_ns) {}

  void begins(std::uint64_t now_ns) noexcept { began_ns_ = now_ns; }
  /// A part ends here, which may be another one than that which began here.
  void ends(std::uint64_t now_ns) noexcept {
    if (began_ns_ == 0) return;
    until_ns_ = now_ns + times_ * std::clamp(now_ns - began_ns_, least_ns_, most_ns);
    looks_ns_ = now_ns + least_ns_;
  }
  /// NOW() is asked only where it matters.
  template <class Now>
  [[nodiscard]] sched::reach reach(Now now) noexcept {
    if (until_ns_ == 0) return sched::reach::all;
    const std::uint64_t now_ns = now();
    if (now_ns < until_ns_) return now_ns < looks_ns_ ? sched::reach::near : sched::reach::no_parts;
    until_ns_ = 0;
    return sched::reach::all;
  }
  /// A worker of another node was looked at, and runs a part. Looks cost it something, too.
  void met_part(std::uint64_t now_ns) noexcept { looks_ns_ = now_ns + least_ns_; }

  /// Something of a part elsewhere was taken. WAITED_NS: for how long this worker has waited for memory elsewhere,
  /// ever.
  void took(std::uint64_t now_ns, std::uint64_t waited_ns) noexcept {
    took_ns_ = now_ns;
    waited_before_ns_ = waited_ns;
  }
  /// That has ended, or moved on: this worker has nothing to do, or begins something of its own.
  [[nodiscard]] bool has_taken() const noexcept { return took_ns_ != 0; }
  void did(std::uint64_t now_ns, std::uint64_t waited_ns) noexcept {
    const std::uint64_t waited = waited_ns - waited_before_ns_, whole = now_ns - took_ns_;
    const std::uint64_t computed = whole - std::min(waited, whole);
    if (waited > computed) {
      times_ = std::min(times_ * 4, most_times);
    } else if (computed >= least_ns_) {
      times_ = std::max(times_ / 2, 1u);
    }
    took_ns_ = 0;
  }

 private:
  // The parts of a loop begin at different times, since the news of it needs a while: some ten messages, all told. And
  // where workers share a core, one that seems late may just have had none.
  static constexpr std::uint64_t usual_ns = 200'000;
  static constexpr std::uint64_t polled_ns = 2'000'000;
  static constexpr std::uint64_t time_slice_ns = 4'000'000;
  static constexpr std::uint64_t most_ns = 20'000'000;
  static constexpr unsigned most_times = 16;

  std::uint64_t least_ns_;
  std::uint64_t began_ns_ = 0;
  std::uint64_t until_ns_ = 0;  // 0: it waits no longer
  std::uint64_t looks_ns_ = 0;  // at other nodes, from then on
  std::uint64_t took_ns_ = 0;   // 0: nothing
  std::uint64_t waited_before_ns_ = 0;
  unsigned times_ = 4;  // a power of two
};

}  // namespace tobi::sched
