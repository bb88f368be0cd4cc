// SPDX-License-Identifier: Apache-2.0
// Access to global memory (SC'23, section 3.3). A checkout makes a range readable or writable here, at its global
// address. Memory of the same node is used as it is, memory of other nodes through a cache. The range is used like any
// other memory until the checkin.
//
//   read        the bytes are there; they must not be changed
//   write       every byte will be written; until then they may be anything
//   read_write  the bytes are there, and all of them count as written
//
// Tasks that access the same bytes, one of them not reading, must be ordered by spawns and joins (no data races). Then
// each reads what was written last. read_write is a write, also where nothing is changed.
//
// A checkout ends before the task forks, joins or ends, on the worker where it began. Checkouts of one worker may
// overlap and nest. None migrates the caller. An error ends the job with one sentence: memory that is not global or was
// freed, more than the cache holds, a checkin that matches no checkout, a checkout held across a fork or a join that
// moves the task.
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "tobi/detail/global.hpp"
#include "tobi/detail/travels.hpp"
#include "tobi/global_ptr.hpp"

namespace tobi {
#ifdef TOBI_ELIDE
inline namespace elided {
#endif

/// How the bytes of a checkout are used: see above.
enum class access : std::uint32_t { read = 0, write = 1, read_write = 2 };

/// The accesses as types, so that what is read comes as const: checkout(p, n, tobi::mode::read).
namespace mode {
/// An access as a type.
template <access How>
struct tag {
  /// The access.
  static constexpr access value = How;
};
/// The bytes are read.
inline constexpr tag<access::read> read{};
/// Every byte is written.
inline constexpr tag<access::write> write{};
/// The bytes are read and written.
inline constexpr tag<access::read_write> read_write{};
}  // namespace mode

/// The pair of the paper: each checkout_raw is followed by one checkin_raw with the same arguments. A checkout of 0
/// bytes does nothing.
[[gnu::always_inline]] inline void checkout_raw(const void* at, std::size_t bytes, access how) {
  global_calls::checkout(at, bytes, static_cast<std::uint32_t>(how));
}
/// Ends the checkout that has the same arguments.
inline void checkin_raw(const void* at, std::size_t bytes, access how) {
  global_calls::checkin(at, bytes, static_cast<std::uint32_t>(how));
}

/// A range that is checked out as long as this object lives. The object is a local of the task that made it. It can be
/// moved, and not copied.
template <class T, access How>
class [[nodiscard]] checked_out {
 public:
  using element_type = std::conditional_t<How == access::read, const T, T>;

  /// Made by checkout() and checkout_nb(): WAIT says which.
  [[gnu::always_inline]] checked_out(global_ptr<T> first, std::size_t count, bool wait)
      : first_(first.raw()), count_(count), waits_(false) {
    if (count_ == 0) return;  // nothing is no checkout: it is held by nobody, and may lie anywhere
    const std::uint32_t how = static_cast<std::uint32_t>(How);
    if (wait) {
      global_calls::checkout(first_, bytes(), how);
    } else {
      waits_ = global_calls::checkout_nb(first_, bytes(), how);
    }
  }
  checked_out(checked_out&& other) noexcept
      : first_(std::exchange(other.first_, nullptr)),
        count_(std::exchange(other.count_, 0)),
        waits_(std::exchange(other.waits_, false)) {}
  checked_out& operator=(checked_out&& other) noexcept {
    if (this != &other) {
      checkin();
      first_ = std::exchange(other.first_, nullptr);
      count_ = std::exchange(other.count_, 0);
      waits_ = std::exchange(other.waits_, false);
    }
    return *this;
  }
  ~checked_out() { checkin(); }

  /// Ends the checkout early. A second call does nothing.
  void checkin() noexcept {
    if (count_ == 0) return;
    global_calls::checkin(first_, bytes(), static_cast<std::uint32_t>(How));
    first_ = nullptr;
    count_ = 0;
  }
  /// After checkout_nb: waits until the bytes are there. data() and the other accessors call it.
  void wait() const {
    if (std::exchange(waits_, false)) global_calls::wait();
  }

  [[nodiscard]] element_type* data() const {
    wait();
    return first_;
  }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] element_type* begin() const { return data(); }
  [[nodiscard]] element_type* end() const { return data() + count_; }
  [[nodiscard]] element_type& operator[](std::size_t i) const { return data()[i]; }
  [[nodiscard]] element_type& operator*() const { return *data(); }
  [[nodiscard]] element_type* operator->() const { return data(); }

 private:
  [[nodiscard]] std::size_t bytes() const noexcept { return detail::bytes_of<T>(count_); }

  T* first_;
  std::size_t count_;
  mutable bool waits_;
};

/// Checks out COUNT elements from FIRST on. Waits until the bytes are there.
/// @code
/// const auto a = tobi::allocate_all<long>(10);
/// const long sum = tobi::run([=] {
///   const auto p = a.data();
///   auto held = tobi::checkout(p, 10, tobi::mode::write);
///   for (std::size_t i = 0; i < held.size(); ++i) held[i] = 5;
///   held.checkin();  // or at the end of its life, and before the task forks or joins
///   long s = 0;
///   for (const long x : tobi::checkout(p, 10, tobi::mode::read)) s += x;
///   return s;
/// });
/// if (rt.rank() == 0) std::printf("%ld\n", sum);  // prints 50
/// @endcode
template <class T, access How>
[[gnu::always_inline]] inline checked_out<T, How> checkout(global_ptr<T> first, std::size_t count, mode::tag<How>) {
  return {first, count, true};
}
/// Checks out a whole span.
template <class T, access How>
[[gnu::always_inline]] inline checked_out<T, How> checkout(global_span<T> what, mode::tag<How> how) {
  return checkout(what.data(), what.size(), how);
}
/// Starts to fetch, and returns. The bytes are there after wait(), or at the first use of the result.
template <class T, access How>
[[gnu::always_inline]] inline checked_out<T, How> checkout_nb(global_ptr<T> first, std::size_t count, mode::tag<How>) {
  return {first, count, false};
}
/// Starts to fetch a whole span.
template <class T, access How>
[[gnu::always_inline]] inline checked_out<T, How> checkout_nb(global_span<T> what, mode::tag<How> how) {
  return checkout_nb(what.data(), what.size(), how);
}

/// Starts to fetch COUNT elements from FIRST on, where they are of another node, and returns. It is a hint. Nothing is
/// held, and a later checkout reads what it would have read without it, sooner. The task may fork and join before that.
/// A join of a stolen task makes what was fetched before it worth nothing. Of a range that is larger than a quarter of
/// the cache only the beginning is fetched. An array that is read from its begin to its end, or from its end to its
/// begin, needs no prefetch: what follows is fetched anyway (TOBI_READ_AHEAD). A range that is no global memory ends
/// the job.
/// @code
/// const auto a = tobi::allocate_all<long>(4000);
/// const long sum = tobi::run([=] {
///   tobi::iota(a, 0L);
///   long s = 0;
///   for (std::size_t i = 0; i < 4; ++i) {
///     const std::size_t here = i * 7 % 4, next = (i + 1) * 7 % 4;  // the parts, out of order
///     if (i + 1 < 4) tobi::prefetch(a.subspan(next * 1000, 1000));
///     for (const long x : tobi::checkout(a.subspan(here * 1000, 1000), tobi::mode::read)) s += x;
///   }
///   return s;
/// });
/// if (rt.rank() == 0) std::printf("%ld\n", sum);  // prints 7998000
/// @endcode
template <class T>
[[gnu::always_inline]] inline void prefetch(global_ptr<T> first, std::size_t count) {
  global_calls::prefetch(first.raw(), detail::bytes_of<T>(count));
}
/// Starts to fetch a whole span.
template <class T>
[[gnu::always_inline]] inline void prefetch(global_span<T> what) {
  prefetch(what.data(), what.size());
}

/// How many bytes a loop over global memory may check out at a time, wherever they lie. A few ranges of this size
/// always fit into the cache. Every worker has the same value.
[[nodiscard]] inline std::size_t chunk_bytes() { return global_calls::chunk_bytes(); }

/// Returns one element by value.
template <class T>
[[nodiscard, gnu::always_inline]] inline std::remove_const_t<T> load(global_ptr<T> from) {
  // A look at what is here already needs no checkout: nothing of this worker comes between the look and the copy.
  if constexpr (detail::travels<T>) {
    if (global_calls::readable(from.raw(), sizeof(T))) return *from.raw();
  }
  return *checkout(from, 1, mode::read);
}
/// Writes one element, which is copied by its bytes.
template <class T>
[[gnu::always_inline]] inline void store(global_ptr<T> to, const T& value) {
  static_assert(detail::travels<T>, "tobi: store() writes bytes; construct other objects in a checkout");
  if (global_calls::plain(to.raw(), sizeof(T))) {
    *to.raw() = value;
    return;
  }
  *checkout(to, 1, mode::write) = value;
}

#ifdef TOBI_ELIDE
}  // namespace elided
#endif
}  // namespace tobi
