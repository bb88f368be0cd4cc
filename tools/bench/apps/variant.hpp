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

/// What a tree search finds. Two registers: the depth shares a word with the leaves.
struct tree_count {
  std::uint64_t nodes;
  std::uint64_t leaves_and_depth;  // leaves << 16 | depth

  [[nodiscard]] std::uint64_t leaves() const noexcept { return leaves_and_depth >> 16; }
  [[nodiscard]] std::uint64_t depth() const noexcept { return leaves_and_depth & 0xffff; }
};

struct tree;

namespace parallel {
std::uint64_t fib(std::uint64_t n);
std::uint64_t btc(std::uint64_t depth, std::uint64_t iter);
std::uint64_t nqueens(std::uint64_t n);
/// Every process calls it before the run; the root task then calls uts().
void uts_prepare(const tree& t);
tree_count uts();
}  // namespace parallel

namespace elided {
std::uint64_t fib(std::uint64_t n);
std::uint64_t btc(std::uint64_t depth, std::uint64_t iter);
std::uint64_t nqueens(std::uint64_t n);
/// Every process calls it before the run; the root task then calls uts().
void uts_prepare(const tree& t);
tree_count uts();
}  // namespace elided

}  // namespace tobi_bench
