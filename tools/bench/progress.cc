// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/progress.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <new>

#include "tools/bench/trees.hpp"

namespace tobi_bench {

struct progress::board {
  static constexpr int ranks = 4096;
  std::atomic<const char*> phase;  // null: nothing runs. Text of the program, at the same address in every process
  struct alignas(64) slot {
    std::uint64_t count;
  } slots[ranks];
};

progress::progress(bool wanted, bool counts, const arguments& a) {
  if (!wanted || isatty(STDERR_FILENO) == 0) return;
  void* at = mmap(nullptr, sizeof(board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return;
  board_ = new (at) board;
  owner_ = getpid();
  const named_tree* known = counts ? find_tree(a.tree.name) : nullptr;
  printer_ = fork();
  if (printer_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != owner_) _exit(0);
    print_forever(counts, known != nullptr ? known->nodes : 0);
  }
}

progress::~progress() {
  if (board_ == nullptr || getpid() != owner_ || printer_ <= 0) return;
  kill(printer_, SIGKILL);
  waitpid(printer_, nullptr, 0);
}

// Only trees count as they go; the tasks of the other programs are too small to spend an instruction on it.
void progress::print_forever(bool counts, std::uint64_t total) const noexcept {
  for (unsigned ticks = 0;; usleep(500'000)) {
    const char* phase = board_->phase.load(std::memory_order_relaxed);
    if (phase == nullptr) {
      ticks = 0;
      continue;
    }
    std::uint64_t done = 0;
    for (auto& s : board_->slots) done += std::atomic_ref(s.count).load(std::memory_order_relaxed);
    if (!counts) {
      std::fprintf(stderr, "\r%-16s %5.1f s ", phase, ticks++ / 2.0);
    } else if (total != 0) {
      std::fprintf(stderr, "\r%-16s %5.1f %%  %7.1f M nodes  %5.1f s ", phase,
                   100.0 * static_cast<double>(done) / static_cast<double>(total), static_cast<double>(done) / 1e6,
                   ticks++ / 2.0);
    } else {
      std::fprintf(stderr, "\r%-16s %7.1f M nodes  %5.1f s ", phase, static_cast<double>(done) / 1e6, ticks++ / 2.0);
    }
  }
}

std::uint64_t* progress::word(int rank) noexcept {
  return board_ == nullptr || rank >= board::ranks ? nullptr : &board_->slots[rank].count;
}

void progress::start(const char* phase) noexcept {
  if (board_ == nullptr || getpid() != owner_) return;
  for (auto& s : board_->slots) s.count = 0;
  board_->phase.store(phase, std::memory_order_relaxed);
}

void progress::stop() noexcept {
  if (board_ == nullptr || getpid() != owner_) return;
  board_->phase.store(nullptr, std::memory_order_relaxed);
  std::fprintf(stderr, "\r%60s\r", "");
}

}  // namespace tobi_bench
