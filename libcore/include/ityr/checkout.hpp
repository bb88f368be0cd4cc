// SPDX-License-Identifier: Apache-2.0
// Ranges of global memory, and ranges that are checked out.
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

#include <cstddef>
#include <iterator>
#include <tuple>
#include <type_traits>
#include <utility>

#include "ityr/global_ptr.hpp"
#include "ityr/memory.hpp"

namespace ityr {

/// A range of global memory, which it does not own.
template <class T>
class global_span {
 public:
  using element_type = T;
  using value_type = std::remove_cv_t<T>;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using pointer = ori::global_ptr<T>;
  using const_pointer = ori::global_ptr<const T>;
  using reference = ori::global_ref<T>;
  using const_reference = ori::global_ref<const T>;
  using iterator = pointer;
  using const_iterator = const_pointer;
  using reverse_iterator = std::reverse_iterator<iterator>;
  using const_reverse_iterator = std::reverse_iterator<const_iterator>;

  constexpr global_span() noexcept = default;
  constexpr global_span(pointer first, size_type count) noexcept : first_(first), count_(count) {}
  constexpr global_span(pointer first, pointer last) noexcept
      : first_(first), count_(static_cast<size_type>(last - first)) {}
  /// All of a container or another span.
  template <class Range>
  requires(!std::is_same_v<std::remove_cvref_t<Range>, global_span> &&
           requires(Range & r) {
             { r.data() } -> ori::a_global_ptr;
             r.size();
           }) constexpr global_span(Range&& of) noexcept
      : first_(const_cast<T*>(of.data().raw_ptr())), count_(of.size()) {}

  [[nodiscard]] constexpr pointer data() const noexcept { return first_; }
  [[nodiscard]] constexpr size_type size() const noexcept { return count_; }
  [[nodiscard]] constexpr bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] constexpr iterator begin() const noexcept { return first_; }
  [[nodiscard]] constexpr iterator end() const noexcept { return first_ + static_cast<difference_type>(count_); }
  [[nodiscard]] constexpr const_iterator cbegin() const noexcept { return begin(); }
  [[nodiscard]] constexpr const_iterator cend() const noexcept { return end(); }
  [[nodiscard]] constexpr reverse_iterator rbegin() const noexcept { return reverse_iterator(end()); }
  [[nodiscard]] constexpr reverse_iterator rend() const noexcept { return reverse_iterator(begin()); }
  [[nodiscard]] constexpr const_reverse_iterator crbegin() const noexcept { return const_reverse_iterator(cend()); }
  [[nodiscard]] constexpr const_reverse_iterator crend() const noexcept { return const_reverse_iterator(cbegin()); }
  reference operator[](size_type i) const noexcept { return first_[static_cast<difference_type>(i)]; }
  [[nodiscard]] reference front() const noexcept { return *first_; }
  [[nodiscard]] reference back() const noexcept { return *(end() - 1); }
  [[nodiscard]] constexpr global_span subspan(size_type from, size_type count) const noexcept {
    return {first_ + static_cast<difference_type>(from), count};
  }

 private:
  pointer first_;
  size_type count_ = 0;
};
template <class T>
global_span(ori::global_ptr<T>, std::size_t) -> global_span<T>;
template <class T>
global_span(ori::global_ptr<T>, ori::global_ptr<T>) -> global_span<T>;

template <class T>
constexpr auto data(const global_span<T>& s) noexcept {
  return s.data();
}
template <class T>
constexpr auto size(const global_span<T>& s) noexcept {
  return s.size();
}
template <class T>
constexpr auto begin(const global_span<T>& s) noexcept {
  return s.begin();
}
template <class T>
constexpr auto end(const global_span<T>& s) noexcept {
  return s.end();
}

/// A range that is checked out as long as this object lives, or until checkin().
template <class T, class Mode>
class checkout_span {
 public:
  using element_type = std::conditional_t<std::is_same_v<Mode, checkout_mode::read_t>, const T, T>;
  using value_type = std::remove_cv_t<T>;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using pointer = element_type*;
  using reference = element_type&;
  using iterator = pointer;
  using reverse_iterator = std::reverse_iterator<iterator>;

  checkout_span() noexcept = default;
  checkout_span(ori::global_ptr<T> first, std::size_t count, Mode how) { checkout(first, count, how); }
  ~checkout_span() { checkin(); }
  checkout_span(const checkout_span&) = delete;
  checkout_span& operator=(const checkout_span&) = delete;
  checkout_span(checkout_span&& other) noexcept
      : first_(std::exchange(other.first_, nullptr)), count_(std::exchange(other.count_, 0)) {}
  checkout_span& operator=(checkout_span&& other) noexcept {
    if (this == &other) return *this;
    checkin();
    first_ = std::exchange(other.first_, nullptr);
    count_ = std::exchange(other.count_, 0);
    return *this;
  }

  [[nodiscard]] pointer data() const noexcept { return first_; }
  [[nodiscard]] size_type size() const noexcept { return count_; }
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] iterator begin() const noexcept { return first_; }
  [[nodiscard]] iterator end() const noexcept { return first_ + count_; }
  [[nodiscard]] iterator cbegin() const noexcept { return first_; }
  [[nodiscard]] iterator cend() const noexcept { return first_ + count_; }
  [[nodiscard]] reverse_iterator rbegin() const noexcept { return reverse_iterator(end()); }
  [[nodiscard]] reverse_iterator rend() const noexcept { return reverse_iterator(begin()); }
  reference operator[](size_type i) const noexcept { return first_[i]; }
  [[nodiscard]] reference front() const noexcept { return *first_; }
  [[nodiscard]] reference back() const noexcept { return first_[count_ - 1]; }

  /// Checks this in and another range out.
  void checkout(ori::global_ptr<T> first, std::size_t count, Mode how) {
    checkin();
    if (count != 0) keep(ori::checkout(first, count, how), count);
  }
  /// The same, but its elements may be used after ori::checkout_complete() only.
  void checkout_nb(ori::global_ptr<T> first, std::size_t count, Mode how) {
    checkin();
    if (count != 0) keep(ori::checkout_nb(first, count, how), count);
  }
  void checkin() noexcept {
    if (first_ != nullptr) ori::checkin(const_cast<T*>(first_), count_, Mode{});
    first_ = nullptr;
    count_ = 0;
  }

 private:
  void keep(T* first, std::size_t count) noexcept {
    first_ = first;
    count_ = count;
  }

  pointer first_ = nullptr;
  size_type count_ = 0;
};

/// Checks out COUNT elements at FIRST.
template <class T, class Mode>
[[nodiscard]] checkout_span<T, Mode> make_checkout(ori::global_ptr<T> first, std::size_t count, Mode how) {
  return {first, count, how};
}
/// Checks out WHAT.
template <class T, class Mode>
[[nodiscard]] checkout_span<T, Mode> make_checkout(global_span<T> what, Mode how) {
  return {what.data(), what.size(), how};
}

namespace internal {
inline std::tuple<> checkouts_nb() { return {}; }
template <class T, class Mode, class... Rest>
auto checkouts_nb(global_span<T> what, Mode how, Rest&&... rest);
template <class T, class Count, class Mode, class... Rest>
auto checkouts_nb(ori::global_ptr<T> first, Count count, Mode how, Rest&&... rest) {
  checkout_span<T, Mode> one;
  one.checkout_nb(first, static_cast<std::size_t>(count), how);
  return std::tuple_cat(std::tuple<checkout_span<T, Mode>>(std::move(one)), checkouts_nb(std::forward<Rest>(rest)...));
}
template <class T, class Mode, class... Rest>
auto checkouts_nb(global_span<T> what, Mode how, Rest&&... rest) {
  return checkouts_nb(what.data(), what.size(), how, std::forward<Rest>(rest)...);
}
}  // namespace internal

/// Checks out several ranges, which are fetched together. Each is a span and a mode, or a pointer, a number and a mode.
template <class... Ranges>
[[nodiscard]] auto make_checkouts(Ranges&&... ranges) {
  auto all = internal::checkouts_nb(std::forward<Ranges>(ranges)...);
  ori::checkout_complete();
  return all;
}

}  // namespace ityr
