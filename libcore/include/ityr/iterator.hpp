// SPDX-License-Identifier: Apache-2.0
// Iterators that say how an algorithm checks out what they go over, and one that counts.
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

#include <compare>
#include <cstddef>
#include <iterator>
#include <tuple>
#include <type_traits>
#include <utility>

#include "ityr/checkout.hpp"
#include "ityr/global_ptr.hpp"

namespace ityr {

/// An iterator whose element is its own value: 0, 1, 2 ...
template <class T>
class count_iterator {
 public:
  using difference_type = std::ptrdiff_t;
  using value_type = T;
  using pointer = void;
  using reference = T;
  using iterator_category = std::random_access_iterator_tag;

  constexpr count_iterator() = default;
  constexpr count_iterator(T value) : value_(value) {}
  constexpr T operator*() const { return value_; }
  constexpr T operator[](difference_type n) const { return *(*this + n); }
  constexpr count_iterator& operator+=(difference_type n) {
    if constexpr (std::is_arithmetic_v<T>) {
      value_ = static_cast<T>(value_ + static_cast<T>(n));
    } else {
      value_ += n;
    }
    return *this;
  }
  constexpr count_iterator& operator-=(difference_type n) { return *this += -n; }
  constexpr count_iterator& operator++() { return *this += 1; }
  constexpr count_iterator& operator--() { return *this += -1; }
  constexpr count_iterator operator++(int) {
    const count_iterator before = *this;
    ++*this;
    return before;
  }
  constexpr count_iterator operator--(int) {
    const count_iterator before = *this;
    --*this;
    return before;
  }
  friend constexpr count_iterator operator+(count_iterator i, difference_type n) { return i += n; }
  friend constexpr count_iterator operator+(difference_type n, count_iterator i) { return i += n; }
  friend constexpr count_iterator operator-(count_iterator i, difference_type n) { return i -= n; }
  friend constexpr difference_type operator-(count_iterator i, count_iterator k) {
    return static_cast<difference_type>(i.value_ - k.value_);
  }
  friend constexpr auto operator<=>(const count_iterator&, const count_iterator&) = default;
  friend constexpr bool operator==(const count_iterator&, const count_iterator&) = default;

 private:
  T value_{};
};
template <class T>
constexpr count_iterator<T> make_count_iterator(T value) {
  return count_iterator<T>(value);
}

namespace internal {

/// The arithmetic of an iterator SELF that is made of one of type Of.
template <class Self, class Of>
class derived_iterator {
 public:
  using value_type = typename Of::value_type;
  using difference_type = std::ptrdiff_t;
  using pointer = typename Of::pointer;
  using reference = typename Of::reference;
  using iterator_category = std::random_access_iterator_tag;

  derived_iterator() = default;
  explicit derived_iterator(Of at) : at_(at) {}
  [[nodiscard]] Of base() const { return at_; }

  Self& operator+=(difference_type n) {
    at_ += n;
    return static_cast<Self&>(*this);
  }
  Self& operator-=(difference_type n) { return *this += -n; }
  Self& operator++() { return *this += 1; }
  Self& operator--() { return *this += -1; }
  Self operator++(int) {
    const Self before = static_cast<Self&>(*this);
    ++*this;
    return before;
  }
  Self operator--(int) {
    const Self before = static_cast<Self&>(*this);
    --*this;
    return before;
  }
  friend Self operator+(Self i, difference_type n) { return i += n; }
  friend Self operator+(difference_type n, Self i) { return i += n; }
  friend Self operator-(Self i, difference_type n) { return i -= n; }
  friend difference_type operator-(const Self& i, const Self& k) { return i.base() - k.base(); }
  friend bool operator==(const Self& i, const Self& k) { return i.base() == k.base(); }
  friend bool operator<(const Self& i, const Self& k) { return i.base() < k.base(); }
  friend bool operator>(const Self& i, const Self& k) { return k < i; }
  friend bool operator<=(const Self& i, const Self& k) { return !(k < i); }
  friend bool operator>=(const Self& i, const Self& k) { return !(i < k); }

 private:
  Of at_;
};

}  // namespace internal

/// A global pointer of which an algorithm checks out by itself what it goes over, as Mode says.
template <class T, class Mode>
class global_iterator : public ori::global_ptr<T> {
  using base = ori::global_ptr<T>;

 public:
  using mode = Mode;
  using checkout_iterator = void;
  using difference_type = std::ptrdiff_t;

  global_iterator() noexcept = default;
  global_iterator(base at, Mode) noexcept : base(at) {}
  global_iterator& operator+=(difference_type n) noexcept {
    base::operator+=(n);
    return *this;
  }
  global_iterator& operator-=(difference_type n) noexcept { return *this += -n; }
  global_iterator& operator++() noexcept { return *this += 1; }
  global_iterator& operator--() noexcept { return *this += -1; }
  global_iterator operator++(int) noexcept {
    const global_iterator before = *this;
    ++*this;
    return before;
  }
  global_iterator operator--(int) noexcept {
    const global_iterator before = *this;
    --*this;
    return before;
  }
  friend global_iterator operator+(global_iterator i, difference_type n) noexcept { return i += n; }
  friend global_iterator operator+(difference_type n, global_iterator i) noexcept { return i += n; }
  friend global_iterator operator-(global_iterator i, difference_type n) noexcept { return i -= n; }
  friend difference_type operator-(global_iterator i, global_iterator k) noexcept {
    return static_cast<const base&>(i) - static_cast<const base&>(k);
  }

  /// Begins to check out COUNT elements: returns what holds them, and where they begin.
  [[nodiscard]] auto checkout_nb(std::size_t count) const {
    if constexpr (std::is_same_v<Mode, checkout_mode::no_access_t>) {
      return std::pair(nullptr, static_cast<base>(*this));
    } else {
      checkout_span<T, Mode> held;
      held.checkout_nb(*this, count, Mode{});
      const auto first = held.data();
      return std::pair(std::move(held), first);
    }
  }
};

template <class T, class Mode>
global_iterator<T, Mode> make_global_iterator(ori::global_ptr<T> at, Mode how) noexcept {
  return {at, how};
}

namespace internal {
template <class T>
using source_mode = std::conditional_t<tobi::detail::travels<T>, checkout_mode::read_t, checkout_mode::read_write_t>;
template <class T>
using target_mode = std::conditional_t<tobi::detail::travels<T>, checkout_mode::write_t, checkout_mode::read_write_t>;
}  // namespace internal

/// Goes over elements that are moved away.
template <class Of>
class global_move_iterator : public internal::derived_iterator<global_move_iterator<Of>, Of> {
 public:
  using mode = typename Of::mode;
  using checkout_iterator = void;
  global_move_iterator() = default;
  explicit global_move_iterator(Of at) : internal::derived_iterator<global_move_iterator, Of>(at) {}
  [[nodiscard]] auto checkout_nb(std::size_t count) const {
    auto [held, first] = this->base().checkout_nb(count);
    return std::pair(std::move(held), std::make_move_iterator(first));
  }
};
template <class T>
auto make_move_iterator(ori::global_ptr<T> at) {
  using from = global_iterator<T, internal::source_mode<T>>;
  return global_move_iterator<from>(from(at, {}));
}
template <class T, class Mode>
auto make_move_iterator(global_iterator<T, Mode> at) {
  return global_move_iterator<global_iterator<T, Mode>>(at);
}

/// Goes from the last element to the first.
template <class Of>
class global_reverse_iterator : public std::reverse_iterator<Of> {
  using parent = std::reverse_iterator<Of>;

 public:
  using mode = typename Of::mode;
  using checkout_iterator = void;
  using difference_type = std::ptrdiff_t;
  global_reverse_iterator() = default;
  explicit global_reverse_iterator(Of at) : parent(at) {}
  global_reverse_iterator& operator+=(difference_type n) {
    parent::operator+=(n);
    return *this;
  }
  global_reverse_iterator& operator-=(difference_type n) { return *this += -n; }
  global_reverse_iterator& operator++() { return *this += 1; }
  global_reverse_iterator& operator--() { return *this += -1; }
  friend global_reverse_iterator operator+(global_reverse_iterator i, difference_type n) { return i += n; }
  friend global_reverse_iterator operator-(global_reverse_iterator i, difference_type n) { return i -= n; }
  friend difference_type operator-(global_reverse_iterator i, global_reverse_iterator k) { return k.base() - i.base(); }
  [[nodiscard]] auto checkout_nb(std::size_t count) const {
    auto [held, first] = (this->base() - static_cast<difference_type>(count)).checkout_nb(count);
    return std::pair(std::move(held), std::make_reverse_iterator(first + static_cast<difference_type>(count)));
  }
};
template <class T, class Mode>
auto make_reverse_iterator(ori::global_ptr<T> at, Mode how) {
  return global_reverse_iterator<global_iterator<T, Mode>>(make_global_iterator(at, how));
}
template <class T, class Mode>
auto make_reverse_iterator(global_iterator<T, Mode> at) {
  return global_reverse_iterator<global_iterator<T, Mode>>(at);
}

/// Goes over places: a loop's function gets the address of each element, where there is an object or none.
template <class Of>
class global_place_iterator : public internal::derived_iterator<global_place_iterator<Of>, Of> {
 public:
  using mode = typename Of::mode;
  using checkout_iterator = void;
  global_place_iterator() = default;
  explicit global_place_iterator(Of at) : internal::derived_iterator<global_place_iterator, Of>(at) {}
  [[nodiscard]] auto checkout_nb(std::size_t count) const {
    auto [held, first] = this->base().checkout_nb(count);
    return std::pair(std::move(held), make_count_iterator(first));
  }
};
template <class T>
auto make_construct_iterator(ori::global_ptr<T> at) {
  using to = global_iterator<T, checkout_mode::write_t>;
  return global_place_iterator<to>(to(at, {}));
}
template <class T>
auto make_destruct_iterator(ori::global_ptr<T> at) {
  using of = global_iterator<T, checkout_mode::read_write_t>;
  return global_place_iterator<of>(of(at, {}));
}

namespace internal {
template <class T>
concept checks_out = requires {
  typename std::remove_cvref_t<T>::checkout_iterator;
};
}  // namespace internal
/// Whether an algorithm checks out by itself what a T goes over.
template <class T>
inline constexpr bool is_global_iterator_v = internal::checks_out<T>;

namespace internal {

/// A plain global pointer as an iterator of MODE; others as they are.
template <class Mode, class Iterator>
auto with_mode(Iterator at) {
  if constexpr (ori::is_global_ptr_v<Iterator>) {
    return make_global_iterator(at, Mode{});
  } else {
    return at;
  }
}

/// What an iterator's COUNT elements are held by, and where they begin.
template <class Iterator>
auto hold(Iterator at, std::size_t count) {
  if constexpr (checks_out<Iterator>) {
    return at.checkout_nb(count);
  } else {
    return std::pair(nullptr, at);
  }
}

/// Calls F(first, others...) with iterators of COUNT elements each, which are checked out meanwhile.
template <class F, class... Iterators>
decltype(auto) held(std::size_t count, F&& f, Iterators... at) {
  // In this order, which braces give: of a range that is read and then written the bytes are fetched first.
  std::tuple<decltype(hold(at, count))...> all{hold(at, count)...};
  if constexpr ((checks_out<Iterators> || ...)) ori::checkout_complete();
  return std::apply([&](auto&... each) -> decltype(auto) { return f(each.second...); }, all);
}

template <class Iterator>
Iterator after(Iterator at, std::size_t n) {
  return std::next(at, static_cast<typename std::iterator_traits<Iterator>::difference_type>(n));
}
template <class Iterator>
std::size_t length(Iterator first, Iterator last) {
  return static_cast<std::size_t>(std::distance(first, last));
}

}  // namespace internal
}  // namespace ityr
