// SPDX-License-Identifier: Apache-2.0
// Running stacks move between processes, and with them return addresses and pointers to code and thread-local data. So
// processes that were not forked from one parent must have their code and thread-local data at equal addresses: they
// run without the kernel's randomization, and compare what came of it before the job starts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tobi::bootstrap {

/// A process that is launched with others executes itself once more, without randomization, before main: what a program
/// does in main happens once. Fatal, with what to do, where that has failed, or could not be: the library was opened by
/// a program that ran already.
void require_fixed_addresses();

/// What must be equal in all processes.
struct layout {
  struct object {
    std::string name;  // file name without folders: those may differ between nodes
    std::string build_id;
    std::uint64_t address = 0;
    bool operator==(const object&) const = default;
  };
  std::vector<object> objects;  // those that a task can have code of (came_with_program.hpp), the program first
  std::uint64_t thread_pointer = 0;
  std::uint64_t page_bytes = 0;

  [[nodiscard]] std::string to_text() const;
  /// Of what to_text() returned; anything else gives a layout that no process has.
  [[nodiscard]] static layout from_text(const std::string& text);
};
/// Of this process. Called by the thread that will run tasks, before libraries that only some processes need are
/// loaded.
[[nodiscard]] layout own_layout();

/// "" when running stacks can move between the two, else one sentence that names the first difference. MINE and THEIRS
/// are called MY_NAME and THEIR_NAME in it ("rank 0 on node1").
[[nodiscard]] std::string difference(const layout& mine, const layout& theirs, const std::string& my_name,
                                     const std::string& their_name);

}  // namespace tobi::bootstrap
