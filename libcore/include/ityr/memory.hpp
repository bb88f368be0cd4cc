// SPDX-License-Identifier: Apache-2.0
// Allocation, raw checkouts and fences: the layer that Itoyori calls ori.
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "ityr/global_ptr.hpp"
#include "tobi/tobi.hpp"

namespace ityr {

/// How a range is used while it is checked out.
namespace checkout_mode {
struct read_t {};
struct write_t {};
struct read_write_t {};
struct no_access_t {};
/// The bytes are read.
inline constexpr read_t read{};
/// Every byte is written.
inline constexpr write_t write{};
/// The bytes are read and written.
inline constexpr read_write_t read_write{};
/// Nothing is checked out: an algorithm hands over references.
inline constexpr no_access_t no_access{};
}  // namespace checkout_mode

namespace internal {
template <class Mode>
inline constexpr tobi::access access_of = tobi::access::read_write;
template <>
inline constexpr tobi::access access_of<checkout_mode::read_t> = tobi::access::read;
template <>
inline constexpr tobi::access access_of<checkout_mode::write_t> = tobi::access::write;
}  // namespace internal

namespace ori {

namespace mode = checkout_mode;
using block_size_t = std::size_t;

/// Names for the distributions that malloc_coll() takes.
namespace mem_mapper {
template <block_size_t>
struct block {};
template <block_size_t>
struct cyclic {};
}  // namespace mem_mapper

namespace internal {
template <class T>
global_ptr<T> allocate_coll(std::size_t count, tobi::distribution how) {
  return global_ptr<T>(tobi::allocate_all<T>(count, how).data().raw());
}
}  // namespace internal

/// Collective, or in a task, which pauses the run: COUNT elements, one part per process.
template <class T>
global_ptr<T> malloc_coll(std::size_t count) {
  return internal::allocate_coll<T>(count, tobi::block());
}
/// The same, in pieces of SEGMENT_BYTES in turn where Mapper is mem_mapper::cyclic.
template <class T, template <block_size_t> class Mapper>
global_ptr<T> malloc_coll(std::size_t count, std::size_t segment_bytes = 1) {
  constexpr bool in_turn = std::is_same_v<Mapper<1>, mem_mapper::cyclic<1>>;
  return internal::allocate_coll<T>(count, in_turn ? tobi::block_cyclic(segment_bytes) : tobi::block());
}
/// Frees what malloc_coll returned. Collective, or in a task.
template <class T>
void free_coll(global_ptr<T> what) {
  tobi::free_all(tobi::global_span<T>(tobi::global_ptr<T>(what.raw_ptr()), 0));
}
/// COUNT elements in the memory of this process.
template <class T>
global_ptr<T> malloc(std::size_t count) {
  return global_ptr<T>(tobi::allocate_global<T>(count).raw());
}
/// Frees what malloc(COUNT) returned, in any process.
template <class T>
void free(global_ptr<T> what, std::size_t count) {
  tobi::free_global(tobi::global_ptr<T>(what.raw_ptr()), count);
}

/// Makes COUNT elements accessible, until checkin() with the same arguments.
template <class T, class Mode>
T* checkout(global_ptr<T> at, std::size_t count, Mode) {
  tobi::checkout_raw(at.raw_ptr(), count * sizeof(T), ityr::internal::access_of<Mode>);
  return at.raw_ptr();
}
/// The same, but they may be used after checkout_complete() only.
template <class T, class Mode>
T* checkout_nb(global_ptr<T> at, std::size_t count, Mode) {
  tobi::global_calls::checkout_nb(at.raw_ptr(), count * sizeof(T),
                                  static_cast<std::uint32_t>(ityr::internal::access_of<Mode>));
  return at.raw_ptr();
}
inline void checkout_complete() { tobi::global_calls::wait(); }
template <class T, class Mode>
void checkin(T* at, std::size_t count, Mode) {
  tobi::checkin_raw(at, count * sizeof(T), ityr::internal::access_of<Mode>);
}

/// Copies COUNT elements to memory of the caller.
template <class From, class T>
void get(global_ptr<From> from, T* to, std::size_t count) {
  const std::size_t most = tobi::global_calls::chunk_bytes() / sizeof(T);
  for (std::size_t done = 0; done < count;) {
    const std::size_t n = std::min(std::max<std::size_t>(most, 1), count - done);
    const From* const part = checkout(from + static_cast<std::ptrdiff_t>(done), n, checkout_mode::read);
    std::memcpy(static_cast<void*>(to + done), part, n * sizeof(T));
    checkin(part, n, checkout_mode::read);
    done += n;
  }
}
/// Copies COUNT elements from memory of the caller.
template <class T>
void put(const T* from, global_ptr<T> to, std::size_t count) {
  const std::size_t most = tobi::global_calls::chunk_bytes() / sizeof(T);
  for (std::size_t done = 0; done < count;) {
    const std::size_t n = std::min(std::max<std::size_t>(most, 1), count - done);
    T* const part = checkout(to + static_cast<std::ptrdiff_t>(done), n, checkout_mode::write);
    std::memcpy(static_cast<void*>(part), from + done, n * sizeof(T));
    checkin(part, n, checkout_mode::write);
    done += n;
  }
}

/// What a lazy release leaves to be waited for. Forks, steals and joins do it by themselves here, so it is nothing.
struct release_handler {};
/// What this process has written goes home.
inline void release() { tobi::detail::tobi_global_release(); }
/// What other processes have released is read from now on.
inline void acquire() { tobi::detail::tobi_global_acquire(); }
inline release_handler release_lazy() {
  release();
  return {};
}
inline void acquire(release_handler) { acquire(); }
/// Serves other processes, as every fork, join and checkin does.
inline void poll() { tobi::poll(); }

/// Nobody writes the array that malloc_coll returned at AT, until unset_readonly_coll(). Collective, or in a task. It
/// is always the whole array.
template <class T>
void set_readonly_coll(global_ptr<T> at, std::size_t count) {
  tobi::set_read_only(tobi::global_span<T>(tobi::global_ptr<T>(at.raw_ptr()), count));
}
template <class T>
void unset_readonly_coll(global_ptr<T> at, std::size_t count) {
  tobi::set_writable(tobi::global_span<T>(tobi::global_ptr<T>(at.raw_ptr()), count));
}

}  // namespace ori
}  // namespace ityr
