// Pointers and ranges in global memory, which every task of the job can reach (SC'23, section 3.1). They are plain
// values: capture them, return them, store them in global memory.
//
// A global address is the same in every process, but what lies there may be read and written only between a checkout
// and its checkin (checkout.hpp).
#pragma once

#include <cstddef>
#include <type_traits>

#include "tobi/detail/global.hpp"

namespace tobi {
#ifdef TOBI_ELIDE
inline namespace elided {
#endif

/// The address of a T in global memory. It cannot be dereferenced: see checkout().
template <class T>
class global_ptr {
 public:
  using element_type = T;

  constexpr global_ptr() noexcept = default;
  constexpr global_ptr(std::nullptr_t) noexcept {}
  constexpr explicit global_ptr(T* at) noexcept : at_(at) {}
  /// To a pointer to const.
  template <class U>
  requires std::is_convertible_v<U*, T*>
  constexpr global_ptr(global_ptr<U> other) noexcept : at_(other.raw()) {}

  /// The address, for use while it is checked out.
  [[nodiscard]] constexpr T* raw() const noexcept { return at_; }
  constexpr explicit operator bool() const noexcept { return at_ != nullptr; }

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
  friend constexpr global_ptr operator+(global_ptr p, std::ptrdiff_t n) noexcept { return p += n; }
  friend constexpr global_ptr operator-(global_ptr p, std::ptrdiff_t n) noexcept { return p -= n; }
  friend constexpr std::ptrdiff_t operator-(global_ptr a, global_ptr b) noexcept { return a.at_ - b.at_; }
  friend constexpr bool operator==(global_ptr, global_ptr) noexcept = default;
  friend constexpr auto operator<=>(global_ptr, global_ptr) noexcept = default;

 private:
  T* at_ = nullptr;
};

/// N elements in a row in global memory, which somebody else owns.
template <class T>
class global_span {
 public:
  using element_type = T;

  constexpr global_span() noexcept = default;
  constexpr global_span(global_ptr<T> first, std::size_t count) noexcept : first_(first), count_(count) {}
  /// To a span of const.
  template <class U>
  requires std::is_convertible_v<U*, T*>
  constexpr global_span(global_span<U> other) noexcept : first_(other.data()), count_(other.size()) {}

  [[nodiscard]] constexpr global_ptr<T> data() const noexcept { return first_; }
  [[nodiscard]] constexpr global_ptr<T> begin() const noexcept { return first_; }
  [[nodiscard]] constexpr global_ptr<T> end() const noexcept { return first_ + static_cast<std::ptrdiff_t>(count_); }
  [[nodiscard]] constexpr std::size_t size() const noexcept { return count_; }
  [[nodiscard]] constexpr bool empty() const noexcept { return count_ == 0; }
  /// The address of element I.
  [[nodiscard]] constexpr global_ptr<T> operator[](std::size_t i) const noexcept {
    return first_ + static_cast<std::ptrdiff_t>(i);
  }
  [[nodiscard]] constexpr global_span first(std::size_t count) const noexcept { return {first_, count}; }
  [[nodiscard]] constexpr global_span subspan(std::size_t from, std::size_t count) const noexcept {
    return {(*this)[from], count};
  }
  [[nodiscard]] constexpr global_span subspan(std::size_t from) const noexcept { return subspan(from, count_ - from); }

 private:
  global_ptr<T> first_;
  std::size_t count_ = 0;
};

#ifdef TOBI_ELIDE
}  // namespace elided
#endif
}  // namespace tobi
