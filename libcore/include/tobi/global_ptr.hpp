// SPDX-License-Identifier: Apache-2.0
// Pointers and ranges in global memory, which every task of the job can reach (SC'23, section 3.1). They are plain
// values: capture them, return them, store them in global memory.
//
// A global address is the same in every process. What lies there may be read and written only between a checkout and
// its checkin (checkout.hpp). A single element may be read and written as *p, p[i] and span[i] too (global_ref.hpp),
// each time by a checkout of its own.
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

#include <cstddef>
#include <iterator>
#include <type_traits>
#include <utility>

#include "tobi/detail/global.hpp"

namespace tobi {
#ifdef TOBI_ELIDE
inline namespace elided {
#endif

template <class T>
class global_ref;

/// The address of a T in global memory. It is a random-access iterator with a global_ref as reference. So it is correct
/// for every algorithm of the standard library, and fast for those that look at a few elements. A loop uses checkout().
template <class T>
class global_ptr {
 public:
  using element_type = T;
  using value_type = std::remove_cv_t<T>;
  using difference_type = std::ptrdiff_t;
  using pointer = global_ptr;
  using reference = global_ref<T>;
  using iterator_category =
      std::random_access_iterator_tag;  // as of std::vector<bool>, whose references are like these

  constexpr global_ptr() noexcept = default;
  /// Null.
  constexpr global_ptr(std::nullptr_t) noexcept {}
  /// Points to an address in global memory.
  constexpr explicit global_ptr(T* at) noexcept : at_(at) {}
  /// Converts to a pointer to const.
  template <class U>
  requires std::is_convertible_v<U*, T*>
  constexpr global_ptr(global_ptr<U> other) noexcept : at_(other.raw()) {}

  /// Returns the address, for use while it is checked out.
  [[nodiscard]] constexpr T* raw() const noexcept { return at_; }
  constexpr explicit operator bool() const noexcept { return at_ != nullptr; }

  /// Returns the element, by load() and store(). Include global_ref.hpp, or tobi.hpp.
  [[nodiscard]] constexpr global_ref<T> operator*() const noexcept { return global_ref<T>(*this); }
  [[nodiscard]] constexpr global_ref<T> operator[](std::ptrdiff_t i) const noexcept { return global_ref<T>(*this + i); }

  constexpr global_ptr& operator+=(std::ptrdiff_t n) noexcept {
    at_ += n;
    return *this;
  }
  constexpr global_ptr& operator-=(std::ptrdiff_t n) noexcept {
    at_ -= n;
    return *this;
  }
  constexpr global_ptr& operator++() noexcept { return *this += 1; }
  constexpr global_ptr& operator--() noexcept { return *this -= 1; }
  constexpr global_ptr operator++(int) noexcept { return std::exchange(*this, *this + 1); }
  constexpr global_ptr operator--(int) noexcept { return std::exchange(*this, *this - 1); }
  friend constexpr global_ptr operator+(global_ptr p, std::ptrdiff_t n) noexcept { return p += n; }
  friend constexpr global_ptr operator+(std::ptrdiff_t n, global_ptr p) noexcept { return p += n; }
  friend constexpr global_ptr operator-(global_ptr p, std::ptrdiff_t n) noexcept { return p -= n; }
  friend constexpr std::ptrdiff_t operator-(global_ptr a, global_ptr b) noexcept { return a.at_ - b.at_; }
  friend constexpr bool operator==(global_ptr, global_ptr) noexcept = default;
  friend constexpr auto operator<=>(global_ptr, global_ptr) noexcept = default;

 private:
  T* at_ = nullptr;
};

/// N elements in a row in global memory, which something else owns. It is a range, and its iterators are global
/// pointers.
template <class T>
class global_span {
 public:
  using element_type = T;

  constexpr global_span() noexcept = default;
  /// COUNT elements from FIRST on.
  constexpr global_span(global_ptr<T> first, std::size_t count) noexcept : first_(first), count_(count) {}
  /// Converts to a span of const.
  template <class U>
  requires std::is_convertible_v<U*, T*>
  constexpr global_span(global_span<U> other) noexcept : first_(other.data()), count_(other.size()) {}

  [[nodiscard]] constexpr global_ptr<T> data() const noexcept { return first_; }
  [[nodiscard]] constexpr global_ptr<T> begin() const noexcept { return first_; }
  [[nodiscard]] constexpr global_ptr<T> end() const noexcept { return first_ + static_cast<std::ptrdiff_t>(count_); }
  [[nodiscard]] constexpr std::size_t size() const noexcept { return count_; }
  [[nodiscard]] constexpr bool empty() const noexcept { return count_ == 0; }
  /// Returns element I, by load() and store(). Its address is &a[i]. Include global_ref.hpp, or tobi.hpp.
  [[nodiscard]] constexpr global_ref<T> operator[](std::size_t i) const noexcept {
    return global_ref<T>(first_ + static_cast<std::ptrdiff_t>(i));
  }
  /// Returns the first COUNT elements.
  [[nodiscard]] constexpr global_span first(std::size_t count) const noexcept { return {first_, count}; }
  /// Returns COUNT elements from index FROM on.
  [[nodiscard]] constexpr global_span subspan(std::size_t from, std::size_t count) const noexcept {
    return {first_ + static_cast<std::ptrdiff_t>(from), count};
  }
  /// Returns all elements from index FROM on.
  [[nodiscard]] constexpr global_span subspan(std::size_t from) const noexcept { return subspan(from, count_ - from); }

 private:
  global_ptr<T> first_;
  std::size_t count_ = 0;
};

#ifdef TOBI_ELIDE
}  // namespace elided
#endif
}  // namespace tobi
