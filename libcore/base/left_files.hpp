// SPDX-License-Identifier: Apache-2.0
// Files with names that a process of the job removes itself when it ends, and cannot when it is killed: what a library
// makes for it. They are noted in memory that the job's processes share, so a process that is left at the job's end
// removes them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tobi::base {

/// One of them, in zeroed memory. Handlers read it.
struct left_file {
  std::atomic<std::uint32_t> noted;  // 1: there is a path
  char path[60];
};
inline constexpr std::size_t left_files_per_process = 2;

/// From now on this process notes its files at A, which has left_files_per_process of them, and at B too unless it is
/// null.
void note_files_at(left_file* a, left_file* b) noexcept;
/// PATH is this process's now. One that is too long, or too many, is not noted, and stays when this process is killed.
void note_file(std::string_view path) noexcept;
/// PATH is gone, by this process itself.
void forget_file(std::string_view path) noexcept;
/// Removes those of N whose processes are at their end. Callable from signal handlers.
void remove_files(left_file* first, std::size_t n) noexcept;

}  // namespace tobi::base
