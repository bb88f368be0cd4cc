// SPDX-License-Identifier: Apache-2.0
// TOBI_DEBUG_MIGRATE: nobody writes to main's locals while tasks run. Each process has its own main, so what a task
// writes there reaches one process, and which one is chance: tobi::run([&] { v = ...; }) is right now and then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "libcore/base/text_line.hpp"

namespace tobi::job {

/// Calls WORK(ARGUMENT) while the stack of this thread above it can only be read. CLOSURE is the root's, and ROOT runs
/// it: what it points to is named where it is written to. The signal handler for faults asks the functions below.
void with_main_stack_protected(void (*work)(void*), void* argument, std::span<const std::byte> closure,
                               const void* root);

/// For the fault handler. True: ADDRESS was protected, and the writer may: another thread of the program, or
/// the environment's functions. It can be written to now.
[[nodiscard]] bool may_write_main_stack(const void* address) noexcept;
/// What a task at CODE does wrong that writes to ADDRESS, into WHY. False: that is not protected.
[[nodiscard]] bool explain_main_stack(const void* address, const void* code, base::text_line& why) noexcept;
/// For such a sentence: "; the line: " and the command that says which one is at CODE.
void add_place(const void* code, base::text_line& why) noexcept;

}  // namespace tobi::job
