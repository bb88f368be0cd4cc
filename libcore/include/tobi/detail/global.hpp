// SPDX-License-Identifier: Apache-2.0
// The seam between the templates of the global memory and the runtime: not for users. With TOBI_ELIDE global memory is
// the process's own, and a checkout is nothing.
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tobi/detail/everywhere.hpp"
#include "tobi/detail/standard.hpp"

namespace tobi::detail {

/// How a range of global memory is dealt to the workers: pieces of equal size, in turn.
struct home_layout {
  std::uint64_t piece_bytes;  // as many as there are where one worker has all
  std::uint64_t skipped;      // bytes of the first piece that come before the range
  std::int32_t first;         // the rank that has the first piece
  std::int32_t workers;       // to which pieces are dealt in turn

  /// How many pieces a range of BYTES, at least 1, lies in.
  [[nodiscard]] constexpr std::size_t pieces(std::size_t bytes) const noexcept {
    return (skipped + bytes - 1) / piece_bytes + 1;
  }
  [[nodiscard]] constexpr int owner_of(std::size_t piece) const noexcept {
    return static_cast<int>((static_cast<std::size_t>(first) + piece) % static_cast<std::size_t>(workers));
  }
  /// The first of COUNT elements of ELEMENT bytes that begins in PIECE, or behind it.
  [[nodiscard]] constexpr std::size_t begin_of(std::size_t piece, std::size_t element,
                                               std::size_t count) const noexcept {
    if (piece == 0) return 0;
    const std::size_t at = (piece * piece_bytes - skipped + element - 1) / element;
    return at < count ? at : count;
  }
};

/// VALUE * TO / OF, rounded to the nearest, for VALUE of at most OF. TO is often a number of blocks of elements, the
/// last of which is not full: then this is the border of blocks that is meant.
constexpr std::size_t scaled(std::size_t value, std::size_t to, std::size_t of) noexcept {
  if (to == of) return value;
  __extension__ using wide = unsigned __int128;
  return static_cast<std::size_t>((static_cast<wide>(value) * to + of / 2) / of);
}

inline constexpr std::uint32_t copy_get = 4, copy_put = 5;

/// What tells the calling thread from others of its process; 0 where there is no such register. It is read anew each
/// time, because a fork may end in another process, of which compilers know nothing.
[[nodiscard, gnu::always_inline]] inline std::uintptr_t this_thread() noexcept {
  std::uintptr_t pointer = 0;
#if defined(__x86_64__)
  __asm__ volatile("movq %%fs:0, %0" : "=r"(pointer));
#elif defined(__aarch64__)
  __asm__ volatile("mrs %0, tpidr_el0" : "=r"(pointer));
#endif
  return pointer;
}

/// A range that is checked out, as the call had it.
struct held_range {
  std::uintptr_t at;
  std::size_t bytes;
  std::uint32_t how;
};

/// Global memory that this process can use as it stands, at any time: blocks of its node that stay mapped for as long
/// as they are allocated, and are the memory itself. So a load or a store there is one access that needs nobody's
/// consent, and a checkout notes that it is held, and nothing else. The worker's thread alone uses this, but for BYTES.
struct plain_memory {
  std::uintptr_t base;
  std::uint64_t bytes;          // of global memory behind BASE; 0: nothing is plain now. See available()
  const std::uint32_t* blocks;  // by number: `plain`, or anything else
  std::uint64_t mask;           // bytes of a block, which are a power of two, less one
  std::uint32_t shift;          // their logarithm
  std::int32_t until_poll;      // so many checkins
  std::uint64_t count;          // of such accesses and checkouts

  // As long as something is held, forks look at a bell that has rung, and are refused (libcore/pgas/memory.hpp).
  const volatile std::uint64_t** bell;  // where they look
  const volatile std::uint64_t* rung_bell;
  const volatile std::uint64_t* usual_bell;
  const volatile std::uint64_t* asked;  // others want something of this worker: its bits that are in WANTED
  std::uint64_t wanted;
  std::uintptr_t thread;  // of the worker: no other one checks out. 0: nobody does yet
  bool others;            // something is held that is not among these
  std::uint32_t holds;    // so many of these, the newest last
  static constexpr std::uint32_t most = 16;
  held_range held[most];

  static constexpr std::uint32_t plain = 1;

  /// The worker's attendant may set BYTES again, behind updates that it has sent home for the worker: an acquire, so
  /// that what is read then has them. It also has the compiler read the memory anew each time, as others may have
  /// written it since.
  [[nodiscard]] std::uint64_t available() const noexcept { return __atomic_load_n(&bytes, __ATOMIC_ACQUIRE); }
  /// Whether SIZE bytes at AT are in one such block. Nothing is not, and what no word can count is not.
  [[nodiscard, gnu::always_inline]] bool has(const void* at, std::size_t size) const noexcept {
    const std::uint64_t offset = reinterpret_cast<std::uintptr_t>(at) - base;
    return offset < available() && size - 1 <= (~offset & mask) && blocks[offset >> shift] == plain;
  }
  /// Checks out BYTES_HELD at AT, if they are plain. False: this is not the place.
  [[nodiscard, gnu::always_inline]] bool checkout(const void* at, std::size_t bytes_held, std::uint32_t how) noexcept {
    if (!has(at, bytes_held) || holds == most || this_thread() != thread) return false;
    held[holds++] = {reinterpret_cast<std::uintptr_t>(at), bytes_held, how};
    ++count;
    *bell = rung_bell;
    return true;
  }
  /// Checks it in, if it is the newest of these. False: this is not the place.
  [[nodiscard, gnu::always_inline]] bool checkin(const void* at, std::size_t bytes_held, std::uint32_t how) noexcept {
    if (holds == 0) return false;
    const held_range& newest = held[holds - 1];
    if (newest.at != reinterpret_cast<std::uintptr_t>(at) || newest.bytes != bytes_held || newest.how != how)
      return false;
    if (--holds == 0 && !others) *bell = usual_bell;
    return true;
  }
  /// Whether somebody is to be served, at a checkin. The attendant may count at the same time: one of both is lost.
  [[nodiscard, gnu::always_inline]] bool must_serve() noexcept {
    const std::int32_t left = __atomic_load_n(&until_poll, __ATOMIC_RELAXED) - 1;
    __atomic_store_n(&until_poll, left, __ATOMIC_RELAXED);
    return (*asked & wanted) != 0 || left <= 0;
  }
};

extern "C" {
void tobi_checkout(const void* at, std::size_t bytes, std::uint32_t how);
void tobi_checkout_nb(const void* at, std::size_t bytes, std::uint32_t how);
void tobi_checkout_wait();
void tobi_prefetch(const void* at, std::size_t bytes);
extern plain_memory tobi_plain_memory;
/// Whether these bytes can be read at once, as they stand.
bool tobi_readable(const void* at, std::size_t bytes);
void tobi_checkin(const void* at, std::size_t bytes, std::uint32_t how);
/// Does what others have asked this worker for.
void tobi_global_serve();
/// Copies to LOCAL (HOW is copy_get) or from there (copy_put). Without WAIT it is complete behind tobi_global_copied().
void tobi_global_copy(const void* at, std::size_t bytes, void* local, std::uint32_t how, bool wait);
void tobi_global_copied(const void* at, std::size_t bytes, std::uint32_t how);
void* tobi_global_allocate(std::size_t bytes);
void tobi_global_free(void* at, std::size_t bytes);
/// CHUNK 0: a block distribution.
void* tobi_global_allocate_all(std::size_t bytes, std::size_t chunk);
void tobi_global_free_all(void* at);
void tobi_global_set_constant(void* at, int constant);
/// What this worker has written goes home; what it has read is read anew.
void tobi_global_release();
void tobi_global_acquire();
/// What a loop over global memory may check out at a time, wherever it lies.
std::size_t tobi_global_chunk_bytes();
/// How the range lies, which has at least one byte. Ends the job where it is no global memory.
home_layout tobi_global_layout(const void* at, std::size_t bytes);
}

/// What COUNT elements need. A product that no word holds (a negative count gives one) is more than there is.
template <class T>
constexpr std::size_t bytes_of(std::size_t count) noexcept {
  return count > ~std::size_t{0} / sizeof(T) ? ~std::size_t{0} : count * sizeof(T);
}

}  // namespace tobi::detail

namespace tobi {
#ifdef TOBI_ELIDE
inline namespace elided {
namespace global_calls {
inline void checkout(const void*, std::size_t, std::uint32_t) noexcept {}
inline bool checkout_nb(const void*, std::size_t, std::uint32_t) noexcept { return false; }
inline void wait() noexcept {}
inline void prefetch(const void*, std::size_t) noexcept {}
inline bool plain(const void*, std::size_t) noexcept { return true; }
inline bool readable(const void*, std::size_t) noexcept { return true; }
inline void checkin(const void*, std::size_t, std::uint32_t) noexcept {}
inline void copy(void* at, std::size_t bytes, void* local, std::uint32_t how, bool) noexcept {
  if (bytes != 0) how == detail::copy_get ? std::memcpy(local, at, bytes) : std::memcpy(at, local, bytes);
}
inline void copied(const void*, std::size_t, std::uint32_t) noexcept {}
inline void* allocate(std::size_t bytes) { return ::operator new(bytes); }
inline void free(void* at, std::size_t) { ::operator delete(at); }
inline void* allocate_all(std::size_t bytes, std::size_t) { return ::operator new(bytes); }
inline void free_all(void* at) { ::operator delete(at); }
inline void set_constant(void*, bool) noexcept {}
inline std::size_t chunk_bytes() noexcept { return std::size_t{1} << 16; }
inline detail::home_layout layout(const void*, std::size_t bytes) noexcept { return {bytes, 0, 0, 1}; }
}  // namespace global_calls
}  // namespace elided
#else
namespace global_calls {
// Part of their caller also where nothing is optimized: then the call comes from a line of the program.
[[gnu::always_inline]] inline void checkout(const void* at, std::size_t bytes, std::uint32_t how) {
  if (!detail::tobi_plain_memory.checkout(at, bytes, how)) detail::tobi_checkout(at, bytes, how);
}
/// Whether there is something to wait for.
[[gnu::always_inline]] inline bool checkout_nb(const void* at, std::size_t bytes, std::uint32_t how) {
  if (detail::tobi_plain_memory.checkout(at, bytes, how)) return false;
  detail::tobi_checkout_nb(at, bytes, how);
  return true;
}
inline void wait() { detail::tobi_checkout_wait(); }
[[gnu::always_inline]] inline void prefetch(const void* at, std::size_t bytes) { detail::tobi_prefetch(at, bytes); }
// In place: a search in a k-d tree took 1.16 times as long with a call for each point.
[[gnu::always_inline]] inline bool plain(const void* at, std::size_t bytes) {
  detail::plain_memory& here = detail::tobi_plain_memory;
  if (!here.has(at, bytes)) return false;
  ++here.count;
  return true;
}
[[gnu::always_inline]] inline bool readable(const void* at, std::size_t bytes) {
  return plain(at, bytes) || detail::tobi_readable(at, bytes);
}
[[gnu::always_inline]] inline void checkin(const void* at, std::size_t bytes, std::uint32_t how) {
  detail::plain_memory& here = detail::tobi_plain_memory;
  if (!here.checkin(at, bytes, how)) {
    detail::tobi_checkin(at, bytes, how);
  } else if (here.must_serve()) {
    detail::tobi_global_serve();
  }
}
[[gnu::always_inline]] inline void copy(const void* at, std::size_t bytes, void* local, std::uint32_t how, bool wait) {
  detail::tobi_global_copy(at, bytes, local, how, wait);
}
inline void copied(const void* at, std::size_t bytes, std::uint32_t how) { detail::tobi_global_copied(at, bytes, how); }
inline void* allocate(std::size_t bytes) { return detail::tobi_global_allocate(bytes); }
inline void free(void* at, std::size_t bytes) { detail::tobi_global_free(at, bytes); }
inline void* allocate_all(std::size_t bytes, std::size_t chunk) {
  return detail::by_all_workers([=] { return detail::tobi_global_allocate_all(bytes, chunk); });
}
inline void free_all(void* at) {
  detail::by_all_workers([=] { detail::tobi_global_free_all(at); });
}
inline void set_constant(void* at, bool constant) {
  detail::by_all_workers([=] { detail::tobi_global_set_constant(at, constant ? 1 : 0); });
}
inline std::size_t chunk_bytes() { return detail::tobi_global_chunk_bytes(); }
inline detail::home_layout layout(const void* at, std::size_t bytes) { return detail::tobi_global_layout(at, bytes); }
}  // namespace global_calls
#endif
}  // namespace tobi
