// SPDX-License-Identifier: Apache-2.0
#include "libcore/job/main_stack.hpp"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>
#include <unwind.h>

#include <atomic>
#include <cstring>
#include <utility>
#include <vector>

#include "libcore/base/log.hpp"
#include "libcore/job/debug_info.hpp"
#include "libcore/sched/worker.hpp"

// Where the stack was when the program began: its arguments and environment are above. Of glibc's loader.
extern "C" [[gnu::weak]] void* __libc_stack_end;  // NOLINT: the C library's name

namespace tobi::job {

namespace {

struct {
  std::uintptr_t from = 0;  // of the pages that can only be read; to: behind them
  std::uintptr_t to = 0;
  std::uintptr_t frames_to = 0;              // of main's frames, within them
  pthread_t thread{};                        // the one whose stack it is
  bool open = false;                         // anybody may write there, for the rest of the run
  std::span<const std::uintptr_t> pointers;  // while a run lasts, as all that follows
  std::span<const waiting_frame> callers;    // innermost first
  const void* root = nullptr;                // what runs the closure that holds these pointers
} shut;

std::uintptr_t page_bytes() noexcept {
  static const auto bytes = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

std::uintptr_t stack_end() {
  static const std::uintptr_t end = [] {
    pthread_attr_t attributes;
    void* low = nullptr;
    std::size_t bytes = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return std::uintptr_t{0};
    pthread_attr_getstack(&attributes, &low, &bytes);
    pthread_attr_destroy(&attributes);
    const auto from = reinterpret_cast<std::uintptr_t>(low);
    const auto begun =
        &__libc_stack_end == nullptr ? std::uintptr_t{0} : reinterpret_cast<std::uintptr_t>(__libc_stack_end);
    return begun > from && begun < from + bytes ? begun : from + bytes;
  }();
  return end;
}

void protect(int access) noexcept {
  if (shut.from >= shut.to) return;
  if (mprotect(reinterpret_cast<void*>(shut.from), shut.to - shut.from, access) != 0) {
    base::fatal("cannot change the protection of main's stack (mprotect); run without TOBI_DEBUG_MIGRATE.");
  }
}

// All that runs from here on has its frames below what is protected.
[[gnu::noinline]] void below(void (*work)(void*), void* argument) {
  protect(PROT_READ);
  work(argument);
  // The range stays known: another thread may have written there a moment ago, and asks only now.
  std::atomic_ref(shut.open).store(true);
  protect(PROT_READ | PROT_WRITE);
}

// While nothing is wrong yet: in the fault handler the way up goes through the task's stack.
std::vector<waiting_frame> find_callers() {
  static constexpr std::size_t most = 256;  // of a recursion that ends in tobi::run
  std::vector<waiting_frame> found;
  found.reserve(most);
  const auto add = [](_Unwind_Context* at, void* to) -> _Unwind_Reason_Code {
#if defined(__x86_64__)
    constexpr int frame_pointer = 6;
#else
    constexpr int frame_pointer = 29;
#endif
    auto& callers = *static_cast<std::vector<waiting_frame>*>(to);
    const std::uintptr_t sp = _Unwind_GetCFA(at);  // what it was when the frame made its call
    if (!callers.empty()) callers.back().high = sp;
    if (callers.size() == most) return _URC_END_OF_STACK;
    callers.push_back({_Unwind_GetIP(at), sp, _Unwind_GetGR(at, frame_pointer), sp});
    return _URC_NO_REASON;
  };
  _Unwind_Backtrace(add, &found);
  return found;
}

// The program that was started, where its file is a relative path or none at all.
void add_file(const char* name, base::text_line& to) noexcept {
  if (name != nullptr && name[0] == '/') {
    to << name;
    return;
  }
  static char path[4096];  // too much for a handler's stack
  const ssize_t n = readlink("/proc/self/exe", path, sizeof path);
  to << (n > 0 ? std::string_view(path, static_cast<std::size_t>(n)) : "the program");
}

}  // namespace

void add_place(const void* code, base::text_line& why) noexcept {
  Dl_info in{};
  const link_map* module = nullptr;
  if (dladdr1(code, &in, reinterpret_cast<void**>(const_cast<link_map**>(&module)), RTLD_DL_LINKMAP) != 0) {
    why << "; the line: addr2line -Cfie ";
    add_file(in.dli_fname, why);
    (why << " 0x").number(reinterpret_cast<std::uintptr_t>(code) - module->l_addr, 16);
  }
}

void with_main_stack_protected(void (*work)(void*), void* argument, std::span<const std::byte> closure,
                               const void* root) {
  // Two pages of nothing, so that the boundary is between the frames of before and those that follow.
  auto* gap = static_cast<std::byte*>(__builtin_alloca(2 * page_bytes()));
  const auto round_up = [](std::uintptr_t at) { return (at + page_bytes() - 1) & ~(page_bytes() - 1); };
  shut.frames_to = stack_end();
  shut.thread = pthread_self();
  shut.open = false;
  shut.root = root;
  std::vector<std::uintptr_t> pointers(closure.size() / sizeof(std::uintptr_t));
  std::memcpy(pointers.data(), closure.data(), pointers.size() * sizeof(std::uintptr_t));
  const std::vector<waiting_frame> callers = find_callers();
  shut.pointers = pointers;
  shut.callers = callers;
  shut.to = round_up(shut.frames_to);
  shut.from = round_up(reinterpret_cast<std::uintptr_t>(gap));
  sched::this_worker().watch_closures(shut.from, shut.frames_to);
  below(work, argument);
  shut.pointers = {};
  shut.callers = {};
  asm volatile("" : : "r"(gap) : "memory");  // the gap lasts until here
}

bool may_write_main_stack(const void* address) noexcept {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  if (at < shut.from || at >= shut.to) return false;
  if (!std::atomic_ref(shut.open).load() && pthread_equal(pthread_self(), shut.thread) != 0 && at < shut.frames_to) {
    return false;
  }
  protect(PROT_READ | PROT_WRITE);  // that thread will write again
  std::atomic_ref(shut.open).store(true);
  return true;
}

bool explain_main_stack(const void* address, const void* code, base::text_line& why) noexcept {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  if (at < shut.from || at >= shut.frames_to) return false;
  constexpr std::uintptr_t near = 1 << 20;  // an array's element is as well what its reference refers to
  const std::size_t none = shut.pointers.size();
  std::size_t found = none;
  std::uintptr_t nearest = near;
  for (std::size_t i = 0; i < shut.pointers.size(); ++i) {
    if (shut.pointers[i] < shut.from || at - shut.pointers[i] >= nearest) continue;
    nearest = at - shut.pointers[i];
    found = i;
  }
  debug_question about{at, nullptr, sched::this_worker().closure_that_holds(at, near)};
  for (const waiting_frame& f : shut.callers) {
    if (at >= f.low && at < f.high) about.frame = &f;
  }
  if (found != none) {
    about.root = shut.root;
    about.root_at = static_cast<std::uint32_t>(found * sizeof(std::uintptr_t));
  }
  debug_names names;
  ask_debug_info(about, names);
  why << "a task writes to a local of main";
  const char* before = " (";
  const auto next = [&]() -> base::text_line& { return why << std::exchange(before, "; "); };
  if (names.variable[0] != 0) next() << names.variable;
  if (found != none) {
    next();
    if (nearest != 0) why.number(nearest) << " bytes behind ";
    (why << "the target of word ").number(found);
    if (names.root_capture[0] != 0) why << " (" << names.root_capture << ")";
    why << " of the closure of tobi::run";
  }
  if (about.captured.type != nullptr) {
    next();
    add_closure(about, names, why);
  }
  if (*before == ';') why << ")";
  why << ", and each process has its own: capture values, and let the root return what main needs (found by "
         "TOBI_DEBUG_MIGRATE";
  add_place(code, why);
  why << ").";
  return true;
}

}  // namespace tobi::job
