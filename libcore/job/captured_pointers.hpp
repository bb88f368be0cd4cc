// SPDX-License-Identifier: Apache-2.0
// A pointer of main that tasks read: each worker has mapped a file, or filled a table of its own, and the root captures
// where. All tasks then use the address of rank 0, which on other ranks is another file's, or nobody's. Where something
// lies there, nothing else tells of it.
//
// The root's captures come to every rank with its result. A word of them that is an address of this process's private
// memory here, and another one on rank 0, is told of. In every build and without a setting, in the first runs of each
// root. Where the compiler cannot clear the bytes between captures (clang++ 14) that is so for roots without such bytes
// and without floating-point captures alone: what was in that memory before is often a pointer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace tobi::pgas {
class memory;
}

namespace tobi::job {

class captured_pointers {
 public:
  /// Of the captures of a root, so many bytes are compared.
  static constexpr std::size_t most_bytes = 512;

  /// A run of ROOT begins, whose captures are CLOSURE in this process.
  void keep(const void* root, std::span<const std::byte> closure);
  /// Whether those of rank 0 are to be compared when it is over.
  [[nodiscard]] bool wants() const noexcept { return !mine_.empty(); }
  /// The sentence for what differs from THEIRS, once in a program; else "". What lies in GLOBAL is no affair of this.
  [[nodiscard]] std::string compare(std::span<const std::byte> theirs, const pgas::memory& global);

 private:
  bool told_ = false;
  std::map<const void*, int> runs_;  // of each root
  std::vector<std::byte> mine_;
};

}  // namespace tobi::job
