// SPDX-License-Identifier: Apache-2.0
// Global addresses as Itoyori writes them: a pointer that is a random access iterator, and what it refers to.
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

#include <compare>
#include <cstddef>
#include <functional>
#include <iterator>
#include <type_traits>
#include <utility>

#include "tobi/tobi.hpp"

namespace ityr::ori {

template <class T>
class global_ref;

/// A place in global memory, the same in all processes.
template <class T>
class global_ptr {
 public:
  using element_type = T;
  using value_type = std::remove_cv_t<T>;
  using difference_type = std::ptrdiff_t;
  using pointer = T*;
  using reference = std::conditional_t<std::is_void_v<T>, void, global_ref<T>>;
  using iterator_category = std::random_access_iterator_tag;
  static constexpr bool is_global_ptr_v = true;

  constexpr global_ptr() noexcept = default;
  explicit constexpr global_ptr(T* at) noexcept : at_(at) {}
  constexpr global_ptr(std::nullptr_t) noexcept {}
  template <class U>
  requires(std::is_convertible_v<U*, T*> && !std::is_same_v<U, T>) constexpr global_ptr(global_ptr<U> other) noexcept
      : at_(other.raw_ptr()) {}

  [[nodiscard]] constexpr T* raw_ptr() const noexcept { return at_; }
  explicit constexpr operator bool() const noexcept { return at_ != nullptr; }
  template <class U>
  explicit operator global_ptr<U>() const noexcept {
    return global_ptr<U>(const_cast<U*>(reinterpret_cast<const volatile U*>(at_)));
  }

  reference operator*() const noexcept requires(!std::is_void_v<T>) { return reference(*this); }
  reference operator[](difference_type i) const noexcept requires(!std::is_void_v<T>) { return reference(*this + i); }
  constexpr global_ptr& operator+=(difference_type n) noexcept {
    at_ += n;
    return *this;
  }
  constexpr global_ptr& operator-=(difference_type n) noexcept { return *this += -n; }
  constexpr global_ptr& operator++() noexcept { return *this += 1; }
  constexpr global_ptr& operator--() noexcept { return *this += -1; }
  constexpr global_ptr operator++(int) noexcept { return global_ptr(at_++); }
  constexpr global_ptr operator--(int) noexcept { return global_ptr(at_--); }
  friend constexpr global_ptr operator+(global_ptr p, difference_type n) noexcept { return global_ptr(p.at_ + n); }
  friend constexpr global_ptr operator+(difference_type n, global_ptr p) noexcept { return p + n; }
  friend constexpr global_ptr operator-(global_ptr p, difference_type n) noexcept { return global_ptr(p.at_ - n); }
  friend constexpr difference_type operator-(global_ptr p, global_ptr q) noexcept { return p.at_ - q.at_; }
  friend constexpr auto operator<=>(const global_ptr&, const global_ptr&) noexcept = default;
  friend constexpr bool operator==(const global_ptr&, const global_ptr&) noexcept = default;
  friend constexpr bool operator==(const global_ptr& p, std::nullptr_t) noexcept { return p.at_ == nullptr; }
  constexpr void swap(global_ptr& other) noexcept { std::swap(at_, other.at_); }
  friend constexpr void swap(global_ptr& p, global_ptr& q) noexcept { p.swap(q); }

 private:
  T* at_ = nullptr;
};

/// What a global pointer points to: read and written by itself, one element at a time.
template <class T>
class global_ref {
  using value = std::remove_const_t<T>;

 public:
  global_ref(global_ptr<T> to) noexcept : to_(to) {}
  global_ref(const global_ref&) noexcept = default;
  global_ptr<T> operator&() const noexcept { return to_; }

  /// Returns the element.
  [[nodiscard]] value get() const {
    if constexpr (tobi::detail::travels<value>) {
      return tobi::load(tobi::global_ptr<value>(const_cast<value*>(to_.raw_ptr())));
    } else {
      return *tobi::checkout(tobi::global_ptr<value>(const_cast<value*>(to_.raw_ptr())), 1, tobi::mode::read);
    }
  }
  /// Writes the element.
  template <class U>
  void put(U&& to) const {
    static_assert(!std::is_const_v<T>, "tobi: a global_ref to a const element cannot be written");
    *tobi::checkout(tobi::global_ptr<value>(to_.raw_ptr()), 1, tobi::mode::read_write) = std::forward<U>(to);
  }
  operator value() const { return get(); }
  const global_ref& operator=(const value& to) const {
    put(to);
    return *this;
  }
  const global_ref& operator=(value&& to) const {
    put(std::move(to));
    return *this;
  }
  global_ref& operator=(const global_ref& other) {
    put(other.get());
    return *this;
  }
  template <class U>
  const global_ref& operator+=(const U& by) const {
    return change([&](value& x) { x += by; });
  }
  template <class U>
  const global_ref& operator-=(const U& by) const {
    return change([&](value& x) { x -= by; });
  }
  template <class U>
  const global_ref& operator*=(const U& by) const {
    return change([&](value& x) { x *= by; });
  }
  template <class U>
  const global_ref& operator/=(const U& by) const {
    return change([&](value& x) { x /= by; });
  }
  const global_ref& operator++() const {
    return change([](value& x) { ++x; });
  }
  const global_ref& operator--() const {
    return change([](value& x) { --x; });
  }
  /// Exchanges two elements, as std:: algorithms do.
  friend void swap(global_ref x, global_ref y) {
    value kept = x.get();
    x.put(y.get());
    y.put(std::move(kept));
  }
  value operator++(int) const {
    const value before = get();
    ++*this;
    return before;
  }
  value operator--(int) const {
    const value before = get();
    --*this;
    return before;
  }

 private:
  template <class F>
  const global_ref& change(const F& f) const {
    f(*tobi::checkout(tobi::global_ptr<value>(to_.raw_ptr()), 1, tobi::mode::read_write));
    return *this;
  }

  global_ptr<T> to_;
};

/// A member of what P points to; of an array its first element.
template <class T, class Member>
global_ref<std::remove_extent_t<Member>> operator->*(global_ptr<T> p, Member T::*which) {
  using member = std::remove_extent_t<Member>;
  return global_ptr<member>(reinterpret_cast<member*>(std::addressof(p.raw_ptr()->*which)));
}

template <class T>
concept a_global_ptr = requires {
  requires std::remove_cvref_t<T>::is_global_ptr_v;
};
/// Whether T is a global_ptr, and not an iterator made of one.
template <class T>
inline constexpr bool is_global_ptr_v = false;
template <class T>
inline constexpr bool is_global_ptr_v<global_ptr<T>> = true;

template <class To, class From>
global_ptr<To> static_pointer_cast(global_ptr<From> p) noexcept {
  return global_ptr<To>(static_cast<To*>(p.raw_ptr()));
}
template <class To, class From>
global_ptr<To> reinterpret_pointer_cast(global_ptr<From> p) noexcept {
  return global_ptr<To>(reinterpret_cast<To*>(p.raw_ptr()));
}
template <class To, class From>
global_ptr<To> const_pointer_cast(global_ptr<From> p) noexcept {
  return global_ptr<To>(const_cast<To*>(p.raw_ptr()));
}

}  // namespace ityr::ori
