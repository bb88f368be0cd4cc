// SPDX-License-Identifier: Apache-2.0
// What the program's debug information says of addresses, for reports: a variable's name, a closure's place. libdw
// (elfutils) reads it, which is opened when a report is made and not before. Where it is not there, or the program has
// no debug information, names are empty and the report is said without them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "libcore/base/text_line.hpp"
#include "libcore/task/closure_watch.hpp"

namespace tobi::job {

/// A function that waits for tobi::run: main, or a function that it has called.
struct waiting_frame {
  std::uintptr_t code;  // where it is
  std::uintptr_t low;   // its stack pointer
  std::uintptr_t frame_pointer;
  std::uintptr_t high;  // the stack pointer of its caller when it called: DWARF's canonical frame address
};

struct debug_names {
  char variable[384];  // "v of main, prog.cc:7"
  char closure[384];   // "prog.cc:9"
  char capture[128];   // "v"
  char root_capture[128];
};

struct debug_question {
  std::uintptr_t address;        // of a variable
  const waiting_frame* frame;    // that it may lie in; null: none
  tasks::held_pointer captured;  // type null: no closure
  const void* root = nullptr;    // what runs the root task, where a word of its closure is to be named; else null
  std::uint32_t root_at = 0;     // the byte where that word is
};

/// Both are for the fault handler, whose stack is small and which may have interrupted the allocator.
///
/// A process of its own reads, so that whatever happens there, a lock that nobody opens included, costs the report some
/// seconds and its names and nothing else.
void ask_debug_info(const debug_question& about, debug_names& into) noexcept;
/// "the closure of a task, made at PLACE, holds a pointer to it at byte N as NAME", of what was ASKED about.
void add_closure(const debug_question& asked, const debug_names& names, base::text_line& to) noexcept;

/// What a user is told of the places behind CALLS of the library: "prog.cc:7", or what addr2line(1) wants. Not for a
/// handler.
std::vector<std::string> lines_of(std::span<const std::uintptr_t> calls);
/// The same of one, for callers on a task's stack: what reads has a stack of its own.
std::string line_of(std::uintptr_t call);

}  // namespace tobi::job
