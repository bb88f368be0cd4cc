// SPDX-License-Identifier: Apache-2.0
// A vector whose elements are dealt to all workers, and whose size is known only when the program runs. Each worker
// makes, moves and ends the elements that it owns, all at the same time.
//
// The vector itself is a handle. It is a local of the task that made it, or of main: then every worker has one, and all
// make the same calls. It is migratable, as a global_vector is: a task returns one, or gets one as an argument.
// Closures capture span().
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

#include <algorithm>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

#include "tobi/checkout.hpp"
#include "tobi/global_memory.hpp"
#include "tobi/global_ref.hpp"
#include "tobi/migratable.hpp"
#include "tobi/on_all_workers.hpp"
#include "tobi/placement.hpp"

namespace tobi {
#ifdef TOBI_ELIDE
inline namespace elided {
#endif

/// What distributed_vector is made of: not for users.
namespace pieces {
#ifdef TOBI_ELIDE
template <class F>
auto by_all(const F& body) {
  return body();
}
inline void all_meet() noexcept {}
#else
template <class F>
auto by_all(const F& body) {
  return on_all_workers(body);
}
inline void all_meet() { detail::the_runtime().barrier(); }
#endif
}  // namespace pieces

/// Elements lie as its distribution says, and belong to the worker in whose memory they begin. What changes the number
/// of elements, and the destructor, is a call of all workers: collective in main, and in a task a pause of the run, as
/// on_all_workers(), which may migrate the caller and is not made under a checkout. To add elements one by one there is
/// global_vector. An element is of any type whose objects do not hold their own address, is at most as large as what
/// may be checked out (half of the cache), and its constructors and its destructor throw nothing.
/// @code
/// const long sum = tobi::run([] {
///   const std::size_t found = 100000;  // known here only
///   const tobi::distributed_vector<long> v(found, tobi::block_cyclic(1 << 16), 3L);
///   return tobi::reduce(v.span(), 0L);
/// });
/// if (rt.rank() == 0) std::printf("%ld\n", sum);  // prints 300000
/// @endcode
template <class T>
class distributed_vector {
 public:
  using value_type = T;

  distributed_vector() noexcept = default;
  /// Makes COUNT elements, one part per worker.
  explicit distributed_vector(std::size_t count) : distributed_vector(count, block()) {}
  /// Makes COUNT elements from ARGUMENTS, which are copied to all workers by their bytes.
  template <class... Arguments>
  distributed_vector(std::size_t count, distribution how, const Arguments&... arguments) : how_(how) {
    resize(count, arguments...);
  }
  distributed_vector(distributed_vector&& other) noexcept
      : all_(std::exchange(other.all_, {})), size_(std::exchange(other.size_, 0)), how_(other.how_) {}
  distributed_vector& operator=(distributed_vector&& other) noexcept {
    if (this != &other) {
      reset();
      all_ = std::exchange(other.all_, {});
      size_ = std::exchange(other.size_, 0);
      how_ = other.how_;
    }
    return *this;
  }
  distributed_vector(const distributed_vector&) = delete;
  distributed_vector& operator=(const distributed_vector&) = delete;
  ~distributed_vector() { reset(); }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t capacity() const noexcept { return all_.size(); }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] global_ptr<T> data() const noexcept { return all_.data(); }
  [[nodiscard]] global_ptr<T> begin() const noexcept { return all_.data(); }
  [[nodiscard]] global_ptr<T> end() const noexcept { return all_.data() + static_cast<std::ptrdiff_t>(size_); }
  /// Returns element I, as global_vector does.
  [[nodiscard]] global_ref<T> operator[](std::size_t i) const noexcept { return global_ref<T>(&all_[i]); }
  /// Returns all elements, as closures capture them.
  [[nodiscard]] global_span<T> span() const noexcept { return all_.first(size_); }

  /// Makes room for CAPACITY elements.
  void reserve(std::size_t capacity) { change(size_, capacity, nothing_new); }
  /// Changes the number of elements. New ones are made from ARGUMENTS.
  template <class... Arguments>
  void resize(std::size_t count, const Arguments&... arguments) {
    change(count, count, [=](T* at) { std::construct_at(at, arguments...); });
  }
  /// Ends the elements from COUNT on, and keeps the room.
  void truncate(std::size_t count) noexcept { change(std::min(count, size_), 0, nothing_new); }
  /// Ends all elements, and keeps the room.
  void clear() noexcept { truncate(0); }
  void swap(distributed_vector& other) noexcept {
    std::swap(all_, other.all_);
    std::swap(size_, other.size_);
    std::swap(how_, other.how_);
  }

 private:
  static constexpr bool ends_by_itself = std::is_trivially_destructible_v<T>;

  // F(first, begin, n) for the elements of ALL that this worker owns, N at a time, which begin at FIRST where they are
  // checked out, and in ALL at BEGIN. Two such chunks, and what nested elements check out, fit into any cache.
  template <access How, class F>
  static void for_own(global_span<T> all, mode::tag<How> how, const F& f) {
    const std::size_t most = std::max<std::size_t>(global_calls::chunk_bytes() / sizeof(T) / 2, 1);
    std::size_t begin = 0;
    for (const segment<T> s : segments(all)) {
      for (std::size_t done = 0; s.owner == pieces::here() && done < s.part.size();) {
        const std::size_t n = std::min(most, s.part.size() - done);
        auto chunk = checkout(s.part.subspan(done, n), how);
        f(chunk.data(), begin + done, n);
        done += n;
      }
      begin += s.part.size();
    }
  }
  static void end_own(global_span<T> all) {
    if constexpr (!ends_by_itself)
      for_own(all, mode::read_write, [](T* at, std::size_t, std::size_t n) { std::destroy_n(at, n); });
  }
  // Where the elements do not begin with the same owner as before, they come from elsewhere.
  static void move_own(global_span<T> from, global_span<T> to) {
    constexpr access how = detail::travels<T> ? access::read : access::read_write;
    for_own(to, mode::write, [&](T* at, std::size_t begin, std::size_t n) {
      auto before = checkout(from.subspan(begin, n), mode::tag<how>{});
      for (std::size_t i = 0; i < n; ++i) {
        std::construct_at(at + i, std::move(before.data()[i]));
        if constexpr (how == access::read_write) std::destroy_at(before.data() + i);
      }
    });
  }

  static constexpr auto nothing_new = [](T*) {};
  // MAKE: constructs an element.
  template <class Make>
  void change(std::size_t count, std::size_t capacity, const Make& make) {
    const bool grows = capacity > all_.size();
    if (!grows && (count == size_ || (count < size_ && ends_by_itself))) {
      size_ = count;
      return;
    }
    const global_span<T> before = all_;
    const std::size_t kept = std::min(size_, count);
    all_ = pieces::by_all([=, size = size_, how = how_] {
      const global_span<T> now = grows ? allocate_all<T>(capacity, how) : before;
      pieces::all_meet();  // what any worker has written to the elements is read here
      if (size > kept) end_own(before.subspan(kept, size - kept));
      if (grows && kept != 0) move_own(before.first(kept), now.first(kept));
      if (grows && !before.empty()) free_all(before);
      for_own(now.subspan(kept, count - kept), mode::write, [&](T* at, std::size_t, std::size_t n) {
        for (std::size_t i = 0; i < n; ++i) make(at + i);
      });
      pieces::all_meet();
      return now;
    });
    size_ = count;
  }
  void reset() noexcept {
    if (all_.empty()) return;
    pieces::by_all([all = all_, elements = span()] {
      if constexpr (!ends_by_itself) pieces::all_meet();
      end_own(elements);
      free_all(all);
    });
    all_ = {};
    size_ = 0;
  }

  global_span<T> all_;  // the room
  std::size_t size_ = 0;
  distribution how_;
};

#ifdef TOBI_ELIDE
}  // namespace elided
#endif

template <class T>
inline constexpr bool migratable<distributed_vector<T>> = true;

}  // namespace tobi
