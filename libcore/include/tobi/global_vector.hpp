// SPDX-License-Identifier: Apache-2.0
// A vector whose elements are in global memory. Elements may be of any type whose objects do not hold their own
// address: the cache moves their bytes, and their address stays the same (SC'23, section 3.2). So vectors of vectors
// work, and each of the inner ones may be filled by another task.
//
// The vector itself is a handle of three words. It is a local of one task, or an element of another vector, where it is
// accessed through a checkout like every element. Its destructor may run on any worker. It is migratable: a task
// returns one, or gets one as an argument: spawn(f, std::move(v)). A closure does not capture it by value, and captures
// span() instead. One whose elements are dealt to all workers is a distributed_vector.
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

#include "tobi/checkout.hpp"
#include "tobi/global_memory.hpp"
#include "tobi/global_ref.hpp"
#include "tobi/migratable.hpp"

namespace tobi {
#ifdef TOBI_ELIDE
inline namespace elided {
#endif

/// Elements lie in the memory of the worker that made room for them. The caller constructs and destroys them, part by
/// part under checkouts. No member migrates the caller.
template <class T>
class global_vector {
 public:
  using value_type = T;

  global_vector() noexcept = default;
  /// Makes COUNT elements in this worker's memory from ARGUMENTS.
  template <class... Arguments>
  explicit global_vector(std::size_t count, const Arguments&... arguments) {
    grow_to(count, arguments...);
  }
  global_vector(global_vector&& other) noexcept
      : first_(std::exchange(other.first_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        capacity_(std::exchange(other.capacity_, 0)) {}
  global_vector& operator=(global_vector&& other) noexcept {
    if (this != &other) {
      reset();
      first_ = std::exchange(other.first_, nullptr);
      size_ = std::exchange(other.size_, 0);
      capacity_ = std::exchange(other.capacity_, 0);
    }
    return *this;
  }
  global_vector(const global_vector&) = delete;
  global_vector& operator=(const global_vector&) = delete;
  ~global_vector() { reset(); }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] global_ptr<T> data() const noexcept { return first_; }
  [[nodiscard]] global_ptr<T> begin() const noexcept { return first_; }
  [[nodiscard]] global_ptr<T> end() const noexcept { return first_ + static_cast<std::ptrdiff_t>(size_); }
  /// Returns element I, by load() and store(). Its address is &v[i], for a checkout of an element of any other type.
  [[nodiscard]] global_ref<T> operator[](std::size_t i) const noexcept { return global_ref<T>(at(i)); }
  /// Returns all elements, as a closure captures them.
  [[nodiscard]] global_span<T> span() const noexcept { return {first_, size_}; }

  void clear() noexcept { shrink_to(0); }
  void reserve(std::size_t capacity) {
    if (capacity > capacity_) move_to(capacity);
  }
  /// Changes the number of elements. New ones are made from ARGUMENTS.
  template <class... Arguments>
  void resize(std::size_t count, const Arguments&... arguments) {
    if (count < size_) {
      shrink_to(count);
    } else {
      grow_to(count, arguments...);
    }
  }
  void push_back(T value) { emplace_back(std::move(value)); }
  /// Adds a last element, made from ARGUMENTS, which are not references into this vector.
  template <class... Arguments>
  void emplace_back(Arguments&&... arguments) {
    if (size_ == capacity_) move_to(capacity_ == 0 ? 8 : 2 * capacity_);
    auto place = checkout(end(), 1, mode::write);
    std::construct_at(place.data(), std::forward<Arguments>(arguments)...);
    ++size_;
  }
  /// Removes the last element, which must exist.
  void pop_back() noexcept { shrink_to(size_ - 1); }
  void swap(global_vector& other) noexcept {
    std::swap(first_, other.first_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }

 private:
  [[nodiscard]] global_ptr<T> at(std::size_t i) const noexcept { return first_ + static_cast<std::ptrdiff_t>(i); }
  // How many elements a checkout may name, so that it fits into any cache together with those of nested elements.
  [[nodiscard]] static std::size_t step() noexcept {
    const std::size_t fit = global_calls::chunk_bytes() / sizeof(T);
    return fit == 0 ? 1 : fit;
  }
  template <access How, class F>
  static void for_parts(global_ptr<T> first, std::size_t count, mode::tag<How> how, F f) {
    const std::size_t most = step();
    for (std::size_t done = 0; done < count;) {
      const std::size_t n = count - done < most ? count - done : most;
      auto part = checkout(first + static_cast<std::ptrdiff_t>(done), n, how);
      for (std::size_t i = 0; i < n; ++i) f(part.data() + i, done + i);
      done += n;
    }
  }

  template <class... Arguments>
  void grow_to(std::size_t count, const Arguments&... arguments) {
    reserve(count);
    for_parts(end(), count - size_, mode::write, [&](T* at, std::size_t) { std::construct_at(at, arguments...); });
    size_ = count;
  }
  void shrink_to(std::size_t count) noexcept {
    if constexpr (!std::is_trivially_destructible_v<T>) {
      for_parts(at(count), size_ - count, mode::read_write, [](T* at, std::size_t) { std::destroy_at(at); });
    }
    size_ = count;
  }
  void move_to(std::size_t capacity) {
    const global_ptr<T> fresh = allocate_global<T>(capacity);
    constexpr access how = detail::travels<T> ? access::read : access::read_write;
    for_parts(first_, size_, mode::tag<how>{}, [&](auto* from, std::size_t i) {
      auto place = checkout(fresh + static_cast<std::ptrdiff_t>(i), 1, mode::write);
      std::construct_at(place.data(), std::move(*from));
      if constexpr (how == access::read_write) std::destroy_at(from);
    });
    if (capacity_ != 0) free_global(first_, capacity_);
    first_ = fresh;
    capacity_ = capacity;
  }
  void reset() noexcept {
    if (capacity_ == 0) return;
    shrink_to(0);
    free_global(first_, capacity_);
    first_ = nullptr;
    capacity_ = 0;
  }

  global_ptr<T> first_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

#ifdef TOBI_ELIDE
}  // namespace elided
#endif

template <class T>
inline constexpr bool migratable<global_vector<T>> = true;

}  // namespace tobi
