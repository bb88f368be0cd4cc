// SPDX-License-Identifier: Apache-2.0
// A std::vector of main that tasks fill: tobi::run([&] { tobi::parallel_for(0, n, 1, [&](int i) { v[i] = i; }); }). It
// is what a user of threads writes first, it compiles, and each process fills a part of its own vector.
//
// To capture such a vector and to read it is right, since each process has made its own, alike. So nothing is said at
// the start of a run. Some of the elements are kept, and looked at when it is over: main has waited meanwhile, so tasks
// have changed them. In every build and without a setting, since a beginner sets no debug variable: in the first runs
// of each root, which cost up to a tenth of a millisecond more.
//
// What looks like a vector: an address in the root's closure, and at it three pointers, none before the last. They and
// the elements are read by a system call that fails where a read would fault.
#pragma once

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace tobi::pgas {
class memory;
}

namespace tobi::job {

/// Of each root, so many runs are looked at: a time step may be a run.
inline constexpr int first_runs = 16;
/// No pointer is less.
inline constexpr std::uintptr_t first_page = 4096;

class captured_vectors {
 public:
  /// A run of ROOT begins, whose captures are CLOSURE in this process. What lies in GLOBAL changes by right. WHOLE:
  /// keeps all elements, not some of each vector, and in each run, not in the first ones alone.
  void keep(const void* root, std::span<const std::byte> closure, const pgas::memory& global, bool whole);
  /// Whether the system lets a process copy its own memory: nothing is kept otherwise.
  [[nodiscard]] static bool can_look() noexcept;
  /// It is over. Returns the bytes of a captured vector whose elements have changed, once in a program; else 0.
  [[nodiscard]] std::size_t changed();

 private:
  using pointers = std::array<std::uintptr_t, 3>;  // first, behind the last, end of the room
  struct captured {
    std::uintptr_t at;
    pointers words;
    std::size_t windows;  // of what is kept
    std::size_t bytes;
  };
  void add(std::uintptr_t at, const pointers& words, bool whole);

  bool told_ = false;
  std::map<const void*, int> runs_;  // of each root
  std::vector<captured> all_;
  std::vector<iovec> windows_;  // of all
  std::vector<std::byte> kept_;
  std::vector<std::byte> now_;
};

}  // namespace tobi::job
