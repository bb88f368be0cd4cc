// SPDX-License-Identifier: Apache-2.0
// The programs, a row each: what runs, what is right, and what is said about it. Their names are compared in two other
// files: arguments.cc, where several options decide together, and peers.cc, which has fib and uts alone.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "tools/bench/answers.hpp"
#include "tools/bench/apps/memory_program.hpp"
#include "tools/bench/apps/variant.hpp"
#include "tools/bench/arguments.hpp"
#include "tools/bench/model.hpp"

namespace tobi_bench {

/// What a program found: a tree has three numbers, the others have one.
struct answer {
  std::uint64_t result = 0;
  tree_count tree{};
};

/// What is counted for the throughput.
struct work {
  double amount = 0;
  const char* unit = "";  // of so many millions, or bytes
};

/// A program with its tasks, or with the runtime elided. What is null is not needed.
struct variant {
  answer (*run)(const arguments&);
  void (*prepare)(const arguments&) = nullptr;  // in every process, before the first run
  void (*fill)() = nullptr;                     // before each run, outside of its time
  bool (*is_right)() = nullptr;                 // behind it, where the result does not say it
  const memory_program* phases = nullptr;       // of a program on global memory, instead of the three others
};

struct program {
  std::string_view name;
  variant with_tasks, elided;
  std::string (*describe)(const arguments&);
  nlohmann::ordered_json (*params)(const arguments&);
  /// For a program on global memory, of the phase that is named.
  work (*done)(const arguments&, const answer&, std::string_view phase);
  right_answer right = nullptr;  // null: a tree's, or what is_right() or the memory says
  const char* result = "result";
  std::optional<ideal> (*best)(const arguments&) = nullptr;
  bool is_loop = false;        // its iterations take as long as --m says
  bool sorts_memory = false;   // its array is in global memory, and it is no program of phases
  bool searches_tree = false;  // --tree, or the tree's own flags

  [[nodiscard]] bool on_memory() const noexcept { return with_tasks.phases != nullptr; }
};

/// Null: NAME is none of the programs.
const program* find_program(std::string_view name);
/// Of a program that the arguments have been parsed for.
const program& program_of(const arguments& a);

}  // namespace tobi_bench
