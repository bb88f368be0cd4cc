// SPDX-License-Identifier: Apache-2.0
// The seam between the templates of the public headers and the runtime: not for users.
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "tobi/detail/standard.hpp"
#include "tobi/detail/travels.hpp"

namespace tobi::detail {

/// What a child returns in registers: up to 16 bytes of result.
struct registers2 {
  std::uint64_t a;
  std::uint64_t b;
};

/// What the slow paths need to know of a task, one constant per closure type. `run` comes first, and the assembly calls
/// it. A closure of at most four words travels in registers. Of a larger one the first word is the address.
struct handle;
struct task_type {
  registers2 (*run)(std::uint64_t w0, handle* unused, const task_type* type, std::uint64_t w1, std::uint64_t w2,
                    std::uint64_t w3);
  std::uint32_t closure_bytes;  // in memory: 0 when it travels in registers
  std::uint32_t result_bytes;
  std::uint32_t register_bytes;  // of a closure that travels there: what else is in the words is nothing
};

/// The parent's side of a child. record is 0 while the result is (or will be) here. Otherwise it says where to find it.
/// The worker that takes the continuation away writes it, so a fork costs nothing for it.
struct handle {
  std::uint64_t record;
};

extern "C" {
/// arch/: saves the caller, leaves it for thieves, and calls the child. Returns to the caller, here or elsewhere.
/// On x86-64 it preserves no register but rbp and the stack pointer: see fork() below.
registers2 tobi_fork(std::uint64_t w0, handle* h, const task_type* type, std::uint64_t w1, std::uint64_t w2,
                     std::uint64_t w3) noexcept;
/// Called by the child's first function when the child has joined what it spawned. Returns where a result too large for
/// registers goes. OFFSET is the place of the result after the handle.
void* tobi_result_slot(std::uint32_t bytes, std::uint32_t offset) noexcept;
/// Called inside a catch clause of the child's first function: keeps the exception for the join.
void tobi_task_failed() noexcept;
/// Waits for the record and copies the result. May migrate the caller. Throws tobi::task_error.
void tobi_join(handle* h, void* result, std::uint32_t bytes);
/// The same for a handle whose owner lost interest: no result, no exception.
void tobi_abandon(handle* h) noexcept;
/// The same for a result that must be ended: returns whether there is one now, or 0 where the child failed.
int tobi_take(handle* h, void* result, std::uint32_t bytes) noexcept;
}

using closure_words = std::uint64_t[4];

// fork() calls tobi_fork with the first USED words of W. On x86-64 that preserves rbp alone: so the compiler keeps on
// the stack what is alive across the fork, and only that, and the fork itself saves nothing. Compilers are told in two
// ways.
#if defined(__x86_64__) && !defined(__clang__)

/// GCC gets a call like any other. It counts on no vector, mask or other register that calls change, as far as the
/// target of the very function has them. That holds also where an attribute or a pragma gives that function more than
/// the command line does. (A list of clobbers could not: GCC takes a name there only where the target has the register,
/// and the preprocessor does not know a function's target.) The registers that calls preserve are taken meanwhile: an
/// empty asm statement before the call sets them, and one after it uses them. Words that are not used are set by empty
/// statements too: volatile ones, or equal statements become one, and its value is moved to each place.
template <int Used>
[[gnu::always_inline]] inline registers2 fork(const closure_words& w, handle* h, const task_type* type) noexcept {
  // The compiler knows nothing of this pointer. Otherwise it would keep it in memory for the join, which hardly ever
  // wants it.
  if (h != nullptr) asm("leaq %1, %0" : "=r"(h) : "m"(*h));
  register std::uint64_t bx asm("rbx");
  register std::uint64_t r12 asm("r12");
  register std::uint64_t r13 asm("r13");
  register std::uint64_t r14 asm("r14");
  register std::uint64_t r15 asm("r15");
  asm volatile("" : "=r"(bx), "=r"(r12), "=r"(r13), "=r"(r14), "=r"(r15) : : "memory");
  std::uint64_t w0, w1, w2, w3;
  if constexpr (Used < 1) asm volatile("" : "=r"(w0));
  if constexpr (Used < 2) asm volatile("" : "=r"(w1));
  if constexpr (Used < 3) asm volatile("" : "=r"(w2));
  if constexpr (Used < 4) asm volatile("" : "=r"(w3));
  registers2 r;
  if constexpr (Used == 0)
    r = tobi_fork(w0, h, type, w1, w2, w3);
  else if constexpr (Used == 1)
    r = tobi_fork(w[0], h, type, w1, w2, w3);
  else if constexpr (Used == 2)
    r = tobi_fork(w[0], h, type, w[1], w2, w3);
  else if constexpr (Used == 3)
    r = tobi_fork(w[0], h, type, w[1], w[2], w3);
  else
    r = tobi_fork(w[0], h, type, w[1], w[2], w[3]);
  asm volatile("" : : "r"(bx), "r"(r12), "r"(r13), "r"(r14), "r"(r15) : "memory");
  return r;
}

#elif defined(__x86_64__)

#if defined(__EGPR__)
#define TOBI_FORK_CLOBBERS_APX \
  , "r16", "r17", "r18", "r19", "r20", "r21", "r22", "r23", "r24", "r25", "r26", "r27", "r28", "r29", "r30", "r31"
#else
#define TOBI_FORK_CLOBBERS_APX
#endif
// The names of AVX-512 are for functions that have it by an attribute or a pragma; clang takes them everywhere.
#define TOBI_FORK_CLOBBERS                                                                                          \
  "r10", "r11", "r12", "r13", "r14", "r15", "cc", "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", \
      "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "xmm16", "xmm17", "xmm18",      \
      "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25", "xmm26", "xmm27", "xmm28", "xmm29", "xmm30",   \
      "xmm31", "k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7", "st", "st(1)", "st(2)", "st(3)", "st(4)", "st(5)",   \
      "st(6)", "st(7)" TOBI_FORK_CLOBBERS_APX

// rbx is clang's base pointer in a frame that it aligns itself and whose stack pointer moves (an over-aligned local or
// alloca in it). Clang then ignores that a statement changes it. So it is pushed: it lies in the parent's frames and
// travels with them, and the worker that goes on with the parent goes on with the pop. It is pushed twice, for the
// stack's alignment. An unwinder finds the frame in spite of the pushes where the frame has a frame pointer. A function
// that asks for its frame's address gets one.
#define TOBI_FORK_CALL "pushq %%rbx\n\tpushq %%rbx\n\tcall tobi_fork@PLT\n\tpopq %%rbx\n\tpopq %%rbx"

/// Clang gets an asm statement that declares every other register changed: variables in registers mean nothing to it
/// between statements. It must also know that the statement calls, or it would keep locals below the stack pointer
/// (the red zone of a function without calls) and not align it. Nothing says that of an asm statement, so an `asm goto`
/// without instructions pretends that a call might follow: it costs nothing. Words that are not used are declared set
/// by asm statements that are empty.
template <int Used>
[[gnu::always_inline]] inline registers2 fork(const closure_words& w, handle* h, const task_type* type) noexcept {
  register std::uint64_t w0 asm("rdi");
  register std::uint64_t w1 asm("rcx");
  register std::uint64_t w2 asm("r8");
  register std::uint64_t w3 asm("r9");
  if constexpr (Used > 0)
    w0 = w[0];
  else
    asm("" : "=r"(w0));
  if constexpr (Used > 1)
    w1 = w[1];
  else
    asm("" : "=r"(w1));
  if constexpr (Used > 2)
    w2 = w[2];
  else
    asm("" : "=r"(w2));
  if constexpr (Used > 3)
    w3 = w[3];
  else
    asm("" : "=r"(w3));
  asm("" : : "r"(__builtin_frame_address(0)));
  registers2 r;
  if (h != nullptr) {
    // The address is computed inside: outside, the compiler would keep it in memory for the join, which hardly ever
    // wants it.
    asm volatile("leaq %[handle], %%rsi\n\t" TOBI_FORK_CALL
                 : "=a"(r.a), "=d"(r.b), "+r"(w0), "+r"(w1), "+r"(w2), "+r"(w3)
                 : "d"(type), [handle] "m"(*h)
                 : "rsi", TOBI_FORK_CLOBBERS);
  } else {
    asm volatile("xorl %%esi, %%esi\n\t" TOBI_FORK_CALL
                 : "=a"(r.a), "=d"(r.b), "+r"(w0), "+r"(w1), "+r"(w2), "+r"(w3)
                 : "d"(type)
                 : "rsi", TOBI_FORK_CLOBBERS);
  }
  asm goto("" : : : : calls);
  return r;
calls:
  tobi_abandon(nullptr);
  return r;
}
#undef TOBI_FORK_CALL
#undef TOBI_FORK_CLOBBERS
#undef TOBI_FORK_CLOBBERS_APX

#else

template <int Used>
registers2 fork(const closure_words& w, handle* h, const task_type* type) noexcept {
  return tobi_fork(Used > 0 ? w[0] : 0, h, type, Used > 1 ? w[1] : 0, Used > 2 ? w[2] : 0, Used > 3 ? w[3] : 0);
}

#endif

/// Room for an object that is not there yet, also of a type whose default constructor does something. What is made
/// there is ended by hand.
template <class T, bool NothingToEnd = std::is_trivially_destructible_v<T>>
union room_for {
  T value;
  room_for() noexcept {}
};
template <class T>
union room_for<T, false> {
  T value;
  room_for() noexcept {}
  room_for(const room_for&) = delete;
  room_for& operator=(const room_for&) = delete;
  ~room_for() {}
};

template <class R>
inline constexpr bool in_registers = std::is_void_v<R> || sizeof(std::conditional_t<std::is_void_v<R>, char, R>) <= 16;

/// With -std=gnu++20 __int128 is an integral type too.
template <class R>
inline constexpr bool one_word = std::is_integral_v<R> && sizeof(R) <= sizeof(std::uint64_t);

template <class R>
registers2 to_registers(const R& value) noexcept {
  if constexpr (one_word<R>) {
    return {static_cast<std::uint64_t>(value), 0};
  } else {
    registers2 r{};
    std::memcpy(&r, std::addressof(value), sizeof value);
    return r;
  }
}

template <class R>
R from_registers(registers2 r) noexcept {
  if constexpr (one_word<R>) {
    return static_cast<R>(r.a);
  } else if constexpr (std::is_trivially_copyable_v<R>) {
    std::array<std::byte, sizeof(R)> bytes;
    std::memcpy(&bytes, &r, sizeof(R));
    return std::bit_cast<R>(bytes);
  } else {
    room_for<R> got;
    std::memcpy(static_cast<void*>(std::addressof(got.value)), &r, sizeof(R));
    return got.value;
  }
}

template <class F>
inline constexpr bool by_words = sizeof(F) <= sizeof(closure_words) && alignof(F) <= alignof(std::uint64_t);

// The padding behind a closure's last capture is copied, too, and the byte of an empty closure: GCC says that they were
// never set.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
/// Copies an object to words or back, one word at a time. A plain copy would be made of 16-byte moves, and a 16-byte
/// load of what has just been stored in smaller pieces waits until those have left the store buffer: longer than the
/// whole fork.
template <std::size_t Bytes>
[[gnu::always_inline]] inline void copy_words(void* to, const void* from) noexcept {
  constexpr std::size_t step = sizeof(std::uint64_t);
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (std::memcpy(static_cast<std::byte*>(to) + I * step, static_cast<const std::byte*>(from) + I * step,
                 I * step + step <= Bytes ? step : Bytes - I * step),
     ...);
  }
  (std::make_index_sequence<(Bytes + step - 1) / step>());
}
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

/// The child's own copy of its closure, among its own locals. By words it never was in memory before; otherwise it is
/// copied out of the parent's frame.
template <class F, bool NothingToEnd = std::is_trivially_destructible_v<F>>
union own_closure {
  F function;
  [[gnu::always_inline]] explicit own_closure(const closure_words& words) noexcept {
    if constexpr (by_words<F>) {
      copy_words<sizeof(F)>(&function, &words);
    } else {
      std::memcpy(static_cast<void*>(&function), reinterpret_cast<const void*>(words[0]), sizeof(F));
    }
  }
  [[gnu::always_inline]] explicit own_closure(const void* bytes) noexcept {
    std::memcpy(static_cast<void*>(&function), bytes, sizeof(F));
  }
  /// Calls it, the only time.
  template <class R>
  [[gnu::always_inline]] R call() {
    return function();
  }
};
/// One that owns something. Its bytes are the object from here on: the parent's are nothing.
template <class F>
union own_closure<F, false> {
  F function;
  explicit own_closure(const closure_words& words) noexcept {
    std::memcpy(static_cast<void*>(&function),
                by_words<F> ? static_cast<const void*>(&words) : reinterpret_cast<const void*>(words[0]), sizeof(F));
  }
  own_closure(const own_closure&) = delete;
  own_closure& operator=(const own_closure&) = delete;
  ~own_closure() {}
  /// Calls it, the only time, and ends it.
  template <class R>
  R call() {
    const struct ending {
      F& function;
      ~ending() { std::destroy_at(std::addressof(function)); }
    } now{function};
    return function();
  }
};

/// What a parent has of a child that returns an R.
template <class R, bool NothingToEnd = std::is_trivially_destructible_v<R>>
struct handle_and_result {
  handle h;
  union {
    std::remove_cv_t<R> value;
  };
  handle_and_result() noexcept {}
};
template <class R>
struct handle_and_result<R, false> {
  handle h;
  union {
    std::remove_cv_t<R> value;
  };
  handle_and_result() noexcept {}
  handle_and_result(const handle_and_result&) = delete;
  handle_and_result& operator=(const handle_and_result&) = delete;
  ~handle_and_result() {}
};

/// As it is laid out: GCC places a vector that is larger than the target's own further back than its alignof says.
template <class R>
constexpr std::uint32_t result_offset() {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
  return offsetof(handle_and_result<R>, value);
#pragma GCC diagnostic pop
}

/// The child's first function. The closure is copied into the child's own frame first: the parent's frame belongs to
/// the worker that runs the parent's continuation, and a moment later that may be another one. This frame is aligned as
/// the closure, the result and what is inlined here need it. So its place does not tell where the parent's frames
/// begin: the runtime asks its deque.
template <class F, class R>
[[gnu::noinline]] registers2 run_task(std::uint64_t w0, handle*, const task_type*, std::uint64_t w1, std::uint64_t w2,
                                      std::uint64_t w3) {
  own_closure<F> own({w0, w1, w2, w3});
  try {
    if constexpr (std::is_void_v<R>) {
      own.template call<void>();
      return {0, 0};
    } else if constexpr (!travels<R>) {
      room_for<R> made;  // its bytes are the object that the parent gets
      ::new (static_cast<void*>(std::addressof(made.value))) R(own.template call<R>());
      if constexpr (in_registers<R>) {
        return to_registers<R>(made.value);
      } else {
        std::memcpy(tobi_result_slot(sizeof(R), result_offset<R>()), std::addressof(made.value), sizeof(R));
        return {0, 0};
      }
    } else if constexpr (in_registers<R>) {
      return to_registers<R>(own.template call<R>());
    } else {
      const R value = own.template call<R>();
      std::memcpy(tobi_result_slot(sizeof(R), result_offset<R>()), std::addressof(value), sizeof value);
      return {0, 0};
    }
  } catch (...) {
    tobi_task_failed();
    return {0, 0};
  }
}

template <class R>
constexpr std::uint32_t result_bytes() {
  if constexpr (std::is_void_v<R>) {
    return 0;
  } else {
    return sizeof(R);
  }
}

template <class F, class R>
inline constexpr task_type type_of{&run_task<F, R>, by_words<F> ? 0 : sizeof(F), result_bytes<R>(),
                                   by_words<F> && !std::is_empty_v<F> ? sizeof(F) : 0};

/// Forks FUNCTION, whose result is an R, into H (null: nobody joins it). FUNCTION may lie anywhere where this process
/// reads it: its bytes are taken before the child runs any of it.
template <class R, class F>
[[gnu::always_inline]] inline registers2 fork_task(const F& function, handle* h) noexcept {
  constexpr int used = by_words<F> ? (std::is_empty_v<F> ? 0 : (sizeof(F) + 7) / 8) : 1;
  // Only the words that are used, and a plain array: GCC inlines a task's continuation into itself (fib's, two fifths
  // of its time) by an estimate of its size that is made before operator[] of an std::array is inlined.
  closure_words words;
  if constexpr (by_words<F>) {
    if constexpr (sizeof(F) % 8 != 0 && used != 0) words[used - 1] = 0;
    if constexpr (used != 0) copy_words<sizeof(F)>(&words, &function);
  } else {
    words[0] = reinterpret_cast<std::uint64_t>(&function);
  }
  return fork<used>(words, h, &type_of<F, R>);
}

/// A function that returns a const P gives a P.
template <class F>
using result_of = std::remove_cv_t<std::invoke_result_t<F&>>;

// A capture by reference is not among what it refuses: such a closure cannot be told from one that captures pointers.
#define TOBI_CLOSURE_SENTENCE                                                                                        \
  "tobi: a task's closure is copied by its bytes, because its parent may move to another process: what it captures " \
  "must have trivial copy constructors and destructors, as numbers and global pointers have, and containers have "   \
  "not; what owns something and is tobi::migratable is an argument of spawn(f, std::move(x))"
#define TOBI_RESULT_SENTENCE                                                                             \
  "tobi: a task's result is copied by its bytes, because it may be joined in another process: its copy " \
  "constructor and its destructor must be trivial, or, where spawn() or parallel_invoke() returns it, "  \
  "tobi::migratable must say that it may move; for a string return a tobi::global_string, for a vector " \
  "tobi::to_global(v)"

/// Whether an R may be a result that is copied. After a check that fails nothing else is compiled, so that nothing else
/// is said.
template <class R>
inline constexpr bool result_travels = std::is_void_v<R> || travels<R>;

template <class F>
constexpr void check_closure() {
  static_assert(travels<F>, TOBI_CLOSURE_SENTENCE);
}

template <class R>
constexpr void check_result() {
  static_assert(result_travels<R>, TOBI_RESULT_SENTENCE);
}

}  // namespace tobi::detail
