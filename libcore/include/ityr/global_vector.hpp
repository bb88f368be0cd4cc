// SPDX-License-Identifier: Apache-2.0
// A vector in global memory, with the interface of std::vector.
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "ityr/loop.hpp"
#include "ityr/memory.hpp"

namespace ityr {

namespace internal {
/// Whether elements are made in parallel; or how many of them each task makes, which says that they are.
class yes_or_count {
 public:
  constexpr yes_or_count(bool yes) noexcept : yes_(yes) {}
  template <std::integral Count>
  constexpr yes_or_count(Count cutoff) noexcept : yes_(true), cutoff_(static_cast<std::size_t>(cutoff)) {}
  constexpr operator bool() const noexcept { return yes_; }
  [[nodiscard]] constexpr std::size_t cutoff_or(std::size_t other) const noexcept {
    return cutoff_ != 0 ? cutoff_ : other;
  }

 private:
  bool yes_;
  std::size_t cutoff_ = 0;
};
}  // namespace internal

/// Where a vector's elements lie, and how they are made and ended: global_vector_options(true, 1024), or, where the
/// compiler makes aggregates by parentheses too, {.collective = true, .cutoff_count = 1024}.
struct global_vector_options {
  /// In the memory of all processes: made and ended by all of them, or in a task. Else in that of one.
  bool collective = false;
  internal::yes_or_count parallel_construct = false;
  internal::yes_or_count parallel_destruct = parallel_construct;
  /// How many elements a task makes or ends.
  std::size_t cutoff_count = parallel_construct.cutoff_or(1024);
#ifndef __cpp_aggregate_paren_init
  constexpr global_vector_options() noexcept = default;
  constexpr global_vector_options(bool all, internal::yes_or_count in_parallel = false) noexcept
      : collective(all), parallel_construct(in_parallel) {}
#endif
};

namespace internal {

template <class Iterator>
concept an_iterator = requires {
  typename std::iterator_traits<Iterator>::iterator_category;
};

/// What a vector has, and how it is looked at.
template <class T>
class vector_view {
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

  [[nodiscard]] pointer data() noexcept { return first_; }
  [[nodiscard]] const_pointer data() const noexcept { return first_; }
  [[nodiscard]] size_type size() const noexcept { return size_; }
  [[nodiscard]] size_type capacity() const noexcept { return capacity_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] const global_vector_options& options() const noexcept { return how_; }
  [[nodiscard]] iterator begin() noexcept { return first_; }
  [[nodiscard]] iterator end() noexcept { return at_place(size_); }
  [[nodiscard]] const_iterator begin() const noexcept { return first_; }
  [[nodiscard]] const_iterator end() const noexcept { return at_place(size_); }
  [[nodiscard]] const_iterator cbegin() const noexcept { return first_; }
  [[nodiscard]] const_iterator cend() const noexcept { return at_place(size_); }
  [[nodiscard]] reverse_iterator rbegin() noexcept { return reverse_iterator(end()); }
  [[nodiscard]] reverse_iterator rend() noexcept { return reverse_iterator(begin()); }
  [[nodiscard]] const_reverse_iterator crbegin() const noexcept { return const_reverse_iterator(cend()); }
  [[nodiscard]] const_reverse_iterator crend() const noexcept { return const_reverse_iterator(cbegin()); }
  reference operator[](size_type i) noexcept { return *at_place(i); }
  const_reference operator[](size_type i) const noexcept { return const_reference(at_place(i)); }
  reference at(size_type i) { return *at_place(checked(i)); }
  [[nodiscard]] const_reference at(size_type i) const { return const_reference(at_place(checked(i))); }
  reference front() noexcept { return *first_; }
  reference back() noexcept { return *at_place(size_ - 1); }
  [[nodiscard]] const_reference front() const noexcept { return const_reference(first_); }
  [[nodiscard]] const_reference back() const noexcept { return const_reference(at_place(size_ - 1)); }

 protected:
  vector_view() noexcept = default;
  explicit vector_view(const global_vector_options& how) noexcept : how_(how) {}
  [[nodiscard]] pointer at_place(std::size_t i) const noexcept { return first_ + static_cast<difference_type>(i); }
  [[nodiscard]] std::size_t checked(std::size_t i) const {
    if (i < size_) return i;
    throw std::out_of_range("tobi: element " + std::to_string(i) + " of a global_vector of " + std::to_string(size_));
  }
  void take(vector_view& other) noexcept {
    how_ = other.how_;
    first_ = std::exchange(other.first_, nullptr);
    size_ = std::exchange(other.size_, 0);
    capacity_ = std::exchange(other.capacity_, 0);
  }

  global_vector_options how_;
  pointer first_;
  size_type size_ = 0;
  size_type capacity_ = 0;
};

}  // namespace internal

/// A vector. A copy has elements of its own; closures capture a global_span of it. Of a collective one all processes
/// make the same calls in main, and one task does elsewhere.
template <class T>
class global_vector : public internal::vector_view<T> {
  using view = internal::vector_view<T>;
  using view::at_place;
  using view::capacity_;
  using view::first_;
  using view::how_;
  using view::size_;

 public:
  using typename view::const_iterator;
  using typename view::iterator;
  using typename view::pointer;
  using typename view::reference;
  using typename view::size_type;

  global_vector() noexcept = default;
  explicit global_vector(size_type count) { resize(count); }
  global_vector(size_type count, const T& value) { resize(count, value); }
  template <internal::an_iterator Iterator>
  global_vector(Iterator first, Iterator last) {
    append(first, last);
  }
  global_vector(std::initializer_list<T> all) { append(all.begin(), all.end()); }
  explicit global_vector(const global_vector_options& how) noexcept : view(how) {}
  global_vector(const global_vector_options& how, size_type count) : view(how) { resize(count); }
  global_vector(const global_vector_options& how, size_type count, const T& value) : view(how) { resize(count, value); }
  template <internal::an_iterator Iterator>
  global_vector(const global_vector_options& how, Iterator first, Iterator last) : view(how) {
    append(first, last);
  }
  global_vector(const global_vector_options& how, std::initializer_list<T> all) : view(how) {
    append(all.begin(), all.end());
  }
  global_vector(const global_vector& other) : view(other.how_) { append(other.begin(), other.end()); }
  global_vector(global_vector&& other) noexcept { this->take(other); }
  global_vector& operator=(const global_vector& other) {
    if (this == &other) return *this;
    reset();
    how_ = other.how_;
    append(other.begin(), other.end());
    return *this;
  }
  global_vector& operator=(global_vector&& other) noexcept {
    if (this == &other) return *this;
    reset();
    this->take(other);
    return *this;
  }
  ~global_vector() { reset(); }

  void swap(global_vector& other) noexcept {
    global_vector mine(std::move(*this));
    this->take(other);
    other.take(mine);
  }
  void clear() { truncate(0); }
  void reserve(size_type capacity) {
    if (capacity > capacity_) move_to(capacity);
  }
  void resize(size_type count) {
    grow_to(count, [](T* at) { std::construct_at(at); });
  }
  void resize(size_type count, const T& value) {
    grow_to(count, [value](T* at) { std::construct_at(at, value); });
  }
  void push_back(const T& value) { emplace_back(value); }
  void push_back(T&& value) { emplace_back(std::move(value)); }
  template <class... Arguments>
  reference emplace_back(Arguments&&... arguments) {
    T made(std::forward<Arguments>(arguments)...);
    make_room(1);
    once([this, &made] { place(size_, std::move(made)); });
    return *at_place(size_++);
  }
  void pop_back() { truncate(size_ - 1); }
  iterator insert(const_iterator before, const T& value) { return emplace(before, value); }
  iterator insert(const_iterator before, T&& value) { return emplace(before, std::move(value)); }
  iterator insert(const_iterator before, size_type count, const T& value) {
    const std::size_t old = size_;
    const std::size_t at = place_of(before);
    resize(size_ + count, value);
    return turn(at, old);
  }
  template <internal::an_iterator Iterator>
  iterator insert(const_iterator before, Iterator first, Iterator last) {
    const std::size_t old = size_;
    const std::size_t at = place_of(before);
    append(first, last);
    return turn(at, old);
  }
  iterator insert(const_iterator before, std::initializer_list<T> all) {
    return insert(before, all.begin(), all.end());
  }
  template <class... Arguments>
  iterator emplace(const_iterator before, Arguments&&... arguments) {
    const std::size_t old = size_;
    const std::size_t at = place_of(before);
    emplace_back(std::forward<Arguments>(arguments)...);
    return turn(at, old);
  }

 private:
  [[nodiscard]] std::size_t place_of(const_iterator at) const noexcept {
    return static_cast<std::size_t>(at - this->cbegin());
  }
  // How many elements are checked out at a time, whatever the cache and the cutoff.
  [[nodiscard]] std::size_t chunk() const {
    const std::size_t fit = tobi::global_calls::chunk_bytes() / sizeof(T) / 2;
    return std::clamp<std::size_t>(how_.cutoff_count, 1, std::max<std::size_t>(fit, 1));
  }
  // What one task does with the elements: of a collective vector in main, that of a run.
  template <class F>
  void once(const F& f) const {
    if (!how_.collective || is_root()) return f();
    barrier();
    if (is_master()) f();
    barrier();
  }
  // F for the places from FROM on, and what OTHERS go over.
  template <class F, class Places, class... Others>
  void for_places(bool in_parallel, F f, std::size_t count, Places places, Others... others) const {
    const std::size_t each = chunk();
    if (in_parallel && (how_.collective || is_root())) {
      const execution::parallel_policy how(std::max<std::size_t>(how_.cutoff_count, 1), each);
      root_exec([=] { internal::loop(how, count, f, places, others...); });
    } else {
      once([=] { internal::serial_loop(each, count, f, places, others...); });
    }
  }
  [[nodiscard]] pointer allocate(std::size_t count) const {
    return how_.collective ? ori::malloc_coll<T>(count) : ori::malloc<T>(count);
  }
  void deallocate(pointer at, std::size_t count) const { how_.collective ? ori::free_coll(at) : ori::free(at, count); }
  void make_room(std::size_t more) {
    if (size_ + more > capacity_) move_to(std::max(size_ + more, 2 * capacity_));
  }
  void place(std::size_t i, T&& value) {
    auto to = make_checkout(at_place(i), 1, checkout_mode::write);
    std::construct_at(to.data(), std::move(value));
  }
  template <class Make>
  void grow_to(std::size_t count, const Make& make) {
    if (count <= size_) return truncate(count);
    reserve(count);
    for_places(how_.parallel_construct, make, count - size_, make_construct_iterator(at_place(size_)));
    size_ = count;
  }
  void truncate(std::size_t count) {
    if constexpr (!std::is_trivially_destructible_v<T>) {
      for_places(
          how_.parallel_destruct, [](T* at) { std::destroy_at(at); }, size_ - count,
          make_destruct_iterator(at_place(count)));
    }
    size_ = count;
  }
  template <class Iterator>
  void append(Iterator first, Iterator last) {
    using category = typename std::iterator_traits<Iterator>::iterator_category;
    if constexpr (!std::is_base_of_v<std::forward_iterator_tag, category>) {
      for (; first != last; ++first) emplace_back(*first);
    } else {
      const std::size_t count = internal::length(first, last);
      if (count == 0) return;
      make_room(count);
      for_places(
          how_.parallel_construct,
          [](T* at, auto&& from) { std::construct_at(at, std::forward<decltype(from)>(from)); }, count,
          make_construct_iterator(at_place(size_)), source(first));
      size_ += count;
    }
  }
  // What is copied is checked out, too.
  template <class Iterator>
  static auto source(Iterator at) {
    return internal::with_mode<checkout_mode::read_t>(at);
  }
  void move_to(std::size_t capacity) {
    const pointer fresh = allocate(capacity);
    if (size_ != 0) {
      for_places(
          how_.parallel_construct,
          [](T* at, T* from) {
            std::construct_at(at, std::move(*from));
            std::destroy_at(from);
          },
          size_, make_construct_iterator(fresh), make_destruct_iterator(first_));
    }
    if (capacity_ != 0) deallocate(first_, capacity_);
    first_ = fresh;
    capacity_ = capacity;
  }
  // What was added behind OLD comes before AT.
  iterator turn(std::size_t at, std::size_t old) {
    once([this, at, old] {
      rotate(execution::sequenced_policy(chunk()), at_place(at), at_place(old), at_place(size_));
    });
    return at_place(at);
  }
  void reset() noexcept {
    if (capacity_ == 0) return;
    truncate(0);
    deallocate(first_, capacity_);
    first_ = nullptr;
    capacity_ = 0;
  }
};
template <class Iterator>
global_vector(Iterator, Iterator) -> global_vector<typename std::iterator_traits<Iterator>::value_type>;

template <class T>
void swap(global_vector<T>& a, global_vector<T>& b) noexcept {
  a.swap(b);
}
template <class T>
bool operator==(const global_vector<T>& a, const global_vector<T>& b) {
  if (a.size() != b.size()) return false;
  return equal(execution::sequenced_policy(256), a.begin(), a.end(), b.begin());
}

}  // namespace ityr
