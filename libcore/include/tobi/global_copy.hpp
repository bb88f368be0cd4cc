// SPDX-License-Identifier: Apache-2.0
// Strings and vectors as results of tasks. A result is copied by its bytes, so it owns nothing: a std::string stays
// where it was made. A task returns a copy in global memory, and the task that joins it takes the copy.
//
//   auto child = tobi::spawn([=] { return tobi::global_string(name_of(i)); });
//   const std::string name = child.join().take();
//
//   auto found = tobi::spawn([=] { return tobi::to_global(neighbours_of(v)); });  // a std::vector<int>
//   const std::vector<int> near = tobi::take(found.join());
//
// What is taken is memory of this process, like any other string. It is not kept across a spawn or a join: a task that
// joins several children joins all of them before it takes.
//
// A copy lies in the memory of the worker that made it. It is freed by take(), or with free(), once, on any worker.
// Nothing here migrates the caller. Vectors that stay in global memory, where tasks fill and read them, are elements of
// a global_vector: global_vector.hpp.
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "tobi/checkout.hpp"
#include "tobi/global_memory.hpp"
#include "tobi/global_ptr.hpp"

namespace tobi {
#ifdef TOBI_ELIDE
inline namespace elided {
#endif

namespace pieces {
/// Calls body(part, i) for the parts of A that may be checked out at once, from element i on.
template <class T, access How, class Body>
void for_each_part(global_span<T> a, mode::tag<How> how, const Body& body) {
  const std::size_t most = std::max<std::size_t>(1, global_calls::chunk_bytes() / sizeof(T));
  for (std::size_t i = 0; i < a.size(); i += most) {
    const auto part = checkout(a.subspan(i, std::min(most, a.size() - i)), how);
    body(part, i);
  }
}
}  // namespace pieces

/// Returns a copy of FROM, a contiguous range, in this worker's global memory. Its elements are copied by their bytes.
/// @code
/// const long sum = tobi::run([] {
///   auto child = tobi::spawn([] { return tobi::to_global(std::vector<long>{3, 4, 5}); });
///   long all = 0;
///   for (const long x : tobi::take(child.join())) all += x;
///   return all;
/// });
/// if (rt.rank() == 0) std::printf("%ld\n", sum);  // prints 12
/// @endcode
template <class Range>
[[nodiscard]] auto to_global(const Range& from) {
  const std::span given(from);
  using T = std::remove_const_t<typename decltype(given)::element_type>;
  static_assert(
      detail::travels<T>,
      "tobi: to_global() copies bytes: the copy constructor and the destructor of the elements must be trivial");
  if (given.empty()) return global_span<T>();
  const global_span<T> all(allocate_global<T>(given.size()), given.size());
  pieces::for_each_part(all, mode::write, [&](const auto& part, std::size_t i) {
    std::copy_n(given.data() + i, part.size(), part.data());
  });
  return all;
}

/// Returns what to_global() has copied, and frees it.
template <class T>
[[nodiscard]] std::vector<T> take(global_span<T> from) {
  std::vector<T> all;
  all.reserve(from.size());
  pieces::for_each_part(from, mode::read, [&](const auto& part, std::size_t) {
    all.insert(all.end(), part.data(), part.data() + part.size());
  });
  if (!from.empty()) free_global(from.data(), from.size());
  return all;
}

/// A text in global memory, as a task returns it and as an array of results has it. It is copied by its bytes: copies
/// are the same text, and one of them is freed.
/// @code
/// const auto names = tobi::allocate_all<tobi::global_string>(3);
/// const auto text = tobi::run([=] {
///   tobi::parallel_for(0, 3, [=](int i) { names[i] = tobi::global_string("task " + std::to_string(i)); });
///   std::string all;
///   for (std::size_t i = 0; i < names.size(); ++i) all += names[i].get().take() + (i < 2 ? ", " : "");
///   return tobi::global_string(all);
/// });
/// if (rt.rank() == 0) std::printf("%s\n", text.take().c_str());  // prints task 0, task 1, task 2
/// @endcode
class global_string {
 public:
  global_string() noexcept = default;
  /// Copies TEXT into this worker's global memory.
  explicit global_string(std::string_view text) : text_(to_global(text)) {}

  [[nodiscard]] std::size_t size() const noexcept { return text_.size(); }
  [[nodiscard]] bool empty() const noexcept { return text_.empty(); }
  /// Returns the characters where they lie.
  [[nodiscard]] global_span<const char> span() const noexcept { return text_; }
  /// Returns a copy of the text.
  [[nodiscard]] std::string str() const {
    std::string all;
    all.reserve(size());
    pieces::for_each_part(span(), mode::read,
                          [&](const auto& part, std::size_t) { all.append(part.data(), part.size()); });
    return all;
  }
  /// Frees the text, of which no copy is used any more.
  void free() const {
    if (!empty()) free_global(text_.data(), text_.size());
  }
  /// Returns a copy of the text, and frees it.
  [[nodiscard]] std::string take() const {
    std::string all = str();
    free();
    return all;
  }

 private:
  global_span<char> text_;
};

#ifdef TOBI_ELIDE
}  // namespace elided
#endif
}  // namespace tobi
