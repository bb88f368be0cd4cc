// SPDX-License-Identifier: Apache-2.0
// How long a worker that has ended its part of a loop keeps from the parts of other nodes, and of other groups of
// workers (surroundings.hpp).
//
// A loop over distributed memory begins each part where its data are (tobi/placement.hpp), or where it was the last
// time (tobi/detail/divide.hpp). A worker that ends early could go and take what is left elsewhere. Its data would come
// along, and the next loop over the same data would find the same. So it waits for others of its own node, whose memory
// it reads directly, and takes of a part on another node only when it has been idle for as long as its own part took,
// times something that it learns.
//
// If moving a part costs no more than to compute it, once is right: the wait is at most what was computed, as in the
// problem of renting or buying skis, whose best rule loses a factor of two at most. Where it costs more (a sweep over
// memory does, over most networks), moving loses however long the worker has waited, and the only gain is with a part
// that stands still. A worker begins with four times. Each time that what it took of a part elsewhere turned out to be
// waiting rather than computing, the wait becomes four times as long, up to 16 times. Where it was much to compute, it
// becomes half of that, down to once. Nor is it ever longer than 20 ms (320 ms), in which a network brings much.
//
// There may be several groups: the innermost one opens at once, and half of the wait passes before the next one, half
// of the rest before that behind it, and so on; all of it before the last. Groups within a node are another matter:
// what moves between them is cache lines, and each is waited for by an eighth of the part, at most 1 ms.
//
// Meanwhile the loop may have ended, and what is to be done elsewhere may be something else, which is taken as ever. A
// worker says in its window whether it runs such a part (deque::runs_part), and a thief that waits passes it by.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tobi::sched {

/// What a worker may take: of its group alone, elsewhere what is of no part, or all.
enum class reach : std::uint8_t { near, no_parts, all };

class own_part {
 public:
  /// SHARES_CORE: with other workers. POLLED: what comes from others waits until this worker, or another one, looks.
  explicit own_part(bool shares_core = false, bool polled = false) noexcept
      : least_ns_(shares_core ? time_slice_ns
                  : polled    ? polled_ns
                              : usual_ns),
        least_near_ns_(shares_core ? time_slice_ns : 0) {}

  /// NEAR groups lie within the node, FAR others do not.
  void begins(std::uint64_t now_ns, unsigned near = 0, unsigned far = 1) noexcept {
    began_ns_ = now_ns;
    near_ = near;
    far_ = far;
  }
  /// A part ends here, which may be another one than that which began here.
  void ends(std::uint64_t now_ns) noexcept {
    if (began_ns_ == 0) return;
    const std::uint64_t took_ns = now_ns - began_ns_;
    ended_ns_ = now_ns;
    step_ns_ = std::max(least_near_ns_, std::clamp(took_ns / 8, std::uint64_t{1}, most_near_ns));
    far_from_ns_ = now_ns + near_ * step_ns_;
    far_ns_ = far_ == 0 ? 0 : times_ * std::clamp(took_ns, least_ns_, most_ns);
    until_ns_ = far_from_ns_ + far_ns_;
    looks_ns_ = far_from_ns_ + least_ns_;
  }
  /// NOW() is asked only where it matters.
  template <class Now>
  [[nodiscard]] sched::reach reach(Now now) noexcept {
    if (until_ns_ == 0 || near_ + far_ == 0) return sched::reach::all;
    const std::uint64_t now_ns = now();
    if (now_ns >= until_ns_) {
      until_ns_ = 0;
      return sched::reach::all;
    }
    group_ = std::min(group_at(now_ns), near_ + far_ - 1);  // where another part has begun meanwhile
    return now_ns < looks_ns_ ? sched::reach::near : sched::reach::no_parts;
  }
  /// Which of the groups reach() has meant, where it was not all.
  [[nodiscard]] unsigned group() const noexcept { return group_; }
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
  static constexpr std::uint64_t most_near_ns = 1'000'000;

  [[nodiscard]] unsigned group_at(std::uint64_t now_ns) const noexcept {
    if (now_ns < far_from_ns_) return static_cast<unsigned>((now_ns - ended_ns_) / step_ns_);
    unsigned far = 0;
    for (std::uint64_t left = far_ns_ / 2; far + 1 < far_ && now_ns >= until_ns_ - left; left /= 2) ++far;
    return near_ + far;
  }

  std::uint64_t least_ns_;
  std::uint64_t least_near_ns_;
  std::uint64_t began_ns_ = 0;
  std::uint64_t ended_ns_ = 0;
  std::uint64_t step_ns_ = 1;      // for each near group
  std::uint64_t far_from_ns_ = 0;  // the near ones are open
  std::uint64_t far_ns_ = 0;       // for all the far ones
  std::uint64_t until_ns_ = 0;     // 0: it waits no longer
  std::uint64_t looks_ns_ = 0;     // at other nodes, from then on
  std::uint64_t took_ns_ = 0;      // 0: nothing
  std::uint64_t waited_before_ns_ = 0;
  unsigned times_ = 4;  // a power of two
  unsigned near_ = 0;
  unsigned far_ = 1;
  unsigned group_ = 0;
};

}  // namespace tobi::sched
