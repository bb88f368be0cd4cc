// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/canary.hpp"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>

#include "bootstrap/other_threads.hpp"
#include "libcore/base/log.hpp"

#if defined(__aarch64__)
// One word for all threads, in the dynamic linker's data, which is read-only once the program runs.
extern "C" std::uintptr_t __stack_chk_guard;
#endif

namespace tobi::bootstrap {

namespace {

std::uintptr_t* where() noexcept {
#if defined(__x86_64__)
  constexpr std::ptrdiff_t offset = 0x28;  // from the thread pointer, fixed by the ABI
  return reinterpret_cast<std::uintptr_t*>(static_cast<std::byte*>(__builtin_thread_pointer()) + offset);
#else
  return &__stack_chk_guard;
#endif
}

// Without a canary of its own. Every word between a frame and the end of its stack that equals the old canary is one:
// it has 56 random bits.
__attribute__((no_stack_protector, no_sanitize_address, noinline)) void replace(std::uintptr_t* slot,
                                                                                std::uintptr_t fresh,
                                                                                const stack_range* stacks,
                                                                                std::size_t count) noexcept {
  // Inverted, so that this function's own variables, which lie above its frame pointer on AArch64, are not found.
  const std::uintptr_t inverse = ~*slot;
  auto* const own = static_cast<std::uintptr_t*>(__builtin_frame_address(0));
  for (std::size_t i = 0; i < count; ++i) {
    volatile std::uintptr_t* word = i == 0 ? own : stacks[i].low;
    for (; word < stacks[i].high; ++word) {
      if (~*word == inverse) *word = fresh;
    }
  }
  *slot = fresh;
}

stack_range own_stack() {
  pthread_attr_t attributes;
  void* low = nullptr;
  std::size_t bytes = 0;
  if (const int why = pthread_getattr_np(pthread_self(), &attributes); why != 0) {
    base::fatal(std::string("cannot find this thread's stack (") + std::strerror(why) + ").");
  }
  pthread_attr_getstack(&attributes, &low, &bytes);
  pthread_attr_destroy(&attributes);
  return {static_cast<std::uintptr_t*>(low), reinterpret_cast<std::uintptr_t*>(static_cast<std::byte*>(low) + bytes)};
}

}  // namespace

std::uintptr_t canary() noexcept { return *where(); }

#if defined(__x86_64__)

void adopt_canary(std::uintptr_t fresh) {
  const stack_range mine = own_stack();
  replace(where(), fresh, &mine, 1);
}

#else

void adopt_canary(std::uintptr_t fresh) {
  if (canary() == fresh) return;
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  auto* const start = reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(where()) / page * page);
  if (mprotect(start, page, PROT_READ | PROT_WRITE) != 0) {
    base::fatal(std::string("cannot make the stack protector's canary writable (") + std::strerror(errno) + ").");
  }
  {
    std::vector<stack_range> stacks{own_stack()};
    const other_threads stopped(stacks);
    replace(where(), fresh, stacks.data(), stacks.size());
  }
  mprotect(start, page, PROT_READ);
}

#endif

}  // namespace tobi::bootstrap
