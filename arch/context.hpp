// SPDX-License-Identifier: Apache-2.0
// Saving and resuming a running computation: what the assembly of x86_64/ and aarch64/ offers.
//
// A continuation is a stack pointer. Below it on the stack lies nothing that is alive; at it lies a `saved_frame`
// with the callee-saved registers and the return address; above it the computation's own frames. Moving a computation
// to another process is copying those bytes to the same addresses there and calling tobi_enter. The floating-point
// control word and the signal mask do not travel: tasks must leave them as they found them.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include "arch/x86_64/context_impl.hpp"
#elif defined(__aarch64__)
#include "arch/aarch64/context_impl.hpp"
#endif

namespace tobi::arch {

// From the architecture's context_impl.hpp:
//   cut_from_parent(base)      the frames of a task that begin at BASE, and are not the root's, were brought here
//                              without its parent. Before they are entered: its return must find no register of this
//                              process

/// What tobi_fork and tobi_suspend leave at the saved stack pointer. The four words come first on every architecture;
/// the registers after them are the assembly's business. Only the owner of the stack writes here.
struct saved_frame {
  void* handle;          // tobi_fork: the tobi::task that the child's result goes to, or null; tobi_suspend: undefined
  std::uint64_t record;  // written when the continuation is published: where its child will complete
  std::uint64_t die_record;  // likewise: where the task that this continuation belongs to will complete
  std::uint64_t finish;      // likewise: the finish around it
};

/// The words that the fork path touches, and nothing else. One a process, at a fixed place in the image and thus at the
/// same address in every process of the job: a continuation finds its new worker's without thread-local storage.
struct hot_state {
  std::uintptr_t* bottom;                  // the next free slot of the private deque
  std::uintptr_t split_sp;                 // the return to a frame at or above this address is slow
  const volatile std::uint64_t* doorbell;  // non-zero: somebody wants something; the fork is slow
  std::uintptr_t scheduler_sp;             // the scheduler's saved stack, while a task runs
  std::uintptr_t suspended_sp;             // where tobi_suspend left the task
};

}  // namespace tobi::arch

extern "C" {
// The one instance. Hidden: the assembly reaches it relative to the program counter.
extern tobi::arch::hot_state tobi_hot __attribute__((visibility("hidden")));

// Scheduler's side. Each returns when the task that was entered leaves, on this same stack.

/// Resumes the computation saved at SP.
void tobi_enter(std::uintptr_t sp) noexcept __attribute__((visibility("hidden")));
/// Calls `*type` (its first word is the function) with the closure's four WORDS on the stack whose top is SP, as
/// tobi_fork would have.
void tobi_enter_child(std::uintptr_t sp, const std::uint64_t* words, const void* type) noexcept
    __attribute__((visibility("hidden")));
/// Calls FUNCTION(ARGUMENT) on the empty stack whose top is SP. The function must not return: it leaves.
void tobi_enter_root(std::uintptr_t sp, void (*function)(void*), void* argument) noexcept
    __attribute__((visibility("hidden")));

// Task's side.

/// Leaves this stack, to which nothing returns, and goes back to the scheduler.
[[noreturn]] void tobi_leave() noexcept __attribute__((visibility("hidden")));
/// Saves the caller, stores where in hot_state::suspended_sp, and goes back to the scheduler. Returns when some
/// worker enters that stack pointer: maybe in another process.
void tobi_suspend() noexcept __attribute__((visibility("hidden")));
}
