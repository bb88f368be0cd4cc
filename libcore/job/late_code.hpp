// SPDX-License-Identifier: Apache-2.0
// Code that came after the job had started: a module that each rank has opened by itself (dlopen) may lie at another
// address in each, and tasks move between ranks with pointers to their code. What was there at the start is the same
// everywhere: the ranks were forked with it, or have compared it (bootstrap/layout.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

namespace tobi::job {

/// Where code is, in words that another rank can read.
struct code_words {
  std::uint64_t at;
  std::uint64_t module_at;
  char module[64];    // file name without folders, its end; "" where the code is in no module
  char build_id[48];  // "" without one
};
static_assert(std::has_unique_object_representations_v<code_words>);

/// The code that is mapped when this is made, of objects that a task can have code of
/// (bootstrap/came_with_program.hpp).
class early_code {
 public:
  early_code();
  [[nodiscard]] bool holds(const void* code) const noexcept;

 private:
  struct range {
    std::uintptr_t from, to;
  };
  std::vector<range> ranges_;
};

[[nodiscard]] code_words describe_code(const void* code);
[[nodiscard]] std::uint64_t digest_of(const code_words& code) noexcept;
/// "" when MINE, and THEIRS of rank 0, are the same code at the same place; else what differs and what to do.
[[nodiscard]] std::string difference(const code_words& mine, const code_words& theirs);

}  // namespace tobi::job
