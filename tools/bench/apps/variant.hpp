// SPDX-License-Identifier: Apache-2.0
// Every program is compiled twice from one source: with tasks (namespace parallel), and with TOBI_ELIDE, which leaves
// the plain serial program (namespace elided).
#pragma once

#include <cstdint>

#ifdef TOBI_ELIDE
#define TOBI_BENCH_VARIANT elided
#else
#define TOBI_BENCH_VARIANT parallel
#endif

namespace tobi_bench {

/// How far a run has come, for the progress line: a word of shared memory of this process, or null. Set once, before
/// the run.
extern std::uint64_t* progress_word;

/// An iteration of the loops: so many rounds of multiply-adds, or so many nanoseconds of sleep.
struct iteration {
  std::uint64_t rounds = 0;
  std::uint64_t sleep_ns = 0;  // 0: rounds

  /// Returns 1.
  std::uint64_t operator()() const;
};

/// What a tree search finds. Two registers, which a task returns without touching memory: the depth shares a word with
/// the leaves. 24 bits are deeper than any stack, and leave 40 for the leaves (the largest named tree has 2^37.7).
struct tree_count {
  static constexpr unsigned depth_bits = 24;
  std::uint64_t nodes;
  std::uint64_t leaves_and_depth;  // leaves << depth_bits | depth

  [[nodiscard]] constexpr std::uint64_t leaves() const noexcept { return leaves_and_depth >> depth_bits; }
  [[nodiscard]] constexpr std::uint64_t depth() const noexcept {
    return leaves_and_depth & ((std::uint64_t{1} << depth_bits) - 1);
  }
  static constexpr tree_count leaf(std::uint64_t depth) noexcept { return {1, std::uint64_t{1} << depth_bits | depth}; }
  static constexpr tree_count sum(tree_count a, tree_count b) noexcept {
    const std::uint64_t depth = a.depth() > b.depth() ? a.depth() : b.depth();
    return {a.nodes + b.nodes, (a.leaves() + b.leaves()) << depth_bits | depth};
  }
};

struct tree;

/// pairs: two sorts and their merge are a task, at each level two of them. original: four sorts, two merges, one.
enum class cilksort_shape : std::uint8_t { pairs, original };

namespace parallel {
#include "tools/bench/apps/programs.inc"
/// fib, with the state of each call saved in frames of the heap before its async; PROCESS is this one's number.
std::uint64_t fib_in_heap_frames(std::uint64_t n);
void heap_frames_prepare(int process);
}  // namespace parallel

namespace elided {
#include "tools/bench/apps/programs.inc"
}  // namespace elided

}  // namespace tobi_bench
