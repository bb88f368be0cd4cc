// SPDX-License-Identifier: Apache-2.0
// Copies between global memory and memory of the process that the caller runs in: a local array, a std::vector, a
// buffer of a library. They take no checkout and no room in the cache. So they suit what is used once, and what is
// larger than the cache.
//
// They read and write what a checkout in their place would: a get sees what this task has written, also where that is
// still in the cache only, and a put is seen by this task at once, by others behind a join or a barrier. Ranges of the
// same node are copied by the CPU. Of other nodes a get is one message per home and gap in the cache, straight into the
// buffer, and a put is one per home. Both wait for a round trip. None migrates the caller.
//
// A buffer is memory of this process. A task that forks or joins may go on in another one, so it uses its std::vector
// up to the next spawn or join. An array in the task itself moves with it.
//
// An error ends the job with one sentence: memory that is not global or was freed, an array that is read-only, a range
// that this task holds a checkout of (a get may overlap checkouts for reading), a transfer that is under way across a
// fork or a join. Sizes that differ throw, and nothing is copied.
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "tobi/detail/global.hpp"
#include "tobi/detail/travels.hpp"
#include "tobi/global_ptr.hpp"

namespace tobi {
#ifdef TOBI_ELIDE
inline namespace elided {
#endif

/// What the functions of this header are made of: not for users.
namespace pieces {
template <class T>
void check_transfer(const char* call, std::size_t global, std::size_t local) {
  static_assert(detail::travels<T>,
                "tobi: get() and put() copy bytes: the copy constructor and the destructor of the elements must be "
                "trivial");
  if (global == local) return;
  throw std::invalid_argument(std::string("tobi::") + call + ": the span has " + std::to_string(global) +
                              " elements, and the buffer " + std::to_string(local));
}
template <class T>
constexpr void check_written() {
  static_assert(!std::is_const_v<T>, "tobi: put() writes to global memory, and this span is one of const elements");
}
}  // namespace pieces

/// A get or put that is under way, from get_nb() or put_nb(). Its buffer is the runtime's until wait(), or until the
/// end of this object. It is a local of the task that made it, and ends before that task forks, joins or ends. It can
/// be moved, and not copied.
class [[nodiscard]] transfer {
 public:
  /// Made by get_nb() and put_nb().
  transfer(const void* at, std::size_t bytes, std::uint32_t how) noexcept : at_(at), bytes_(bytes), how_(how) {}
  transfer(transfer&& other) noexcept : at_(other.at_), bytes_(std::exchange(other.bytes_, 0)), how_(other.how_) {}
  transfer& operator=(transfer&& other) noexcept {
    if (this != &other) {
      wait();
      at_ = other.at_;
      bytes_ = std::exchange(other.bytes_, 0);
      how_ = other.how_;
    }
    return *this;
  }
  ~transfer() { wait(); }

  /// Returns when the bytes are where they belong, and the buffer is the program's again. A second call does nothing.
  void wait() noexcept {
    if (bytes_ != 0) global_calls::copied(at_, std::exchange(bytes_, 0), how_);
  }

 private:
  const void* at_;
  std::size_t bytes_;
  std::uint32_t how_;
};

/// Copies FROM to INTO, which has as many elements: else it throws std::invalid_argument.
/// @code
/// const auto a = tobi::allocate_all<double>(1000);
/// const double sum = tobi::run([=] {
///   tobi::fill(a, 1.5);
///   std::vector<double> own(100);
///   tobi::get(a.subspan(450, 100), own);  // no spawn and no join as long as OWN is used
///   own[0] = 10;
///   tobi::put(own, a.first(100));
///   return tobi::reduce(a, 0.0);
/// });
/// if (rt.rank() == 0) std::printf("%.1f\n", sum);  // prints 1508.5
/// @endcode
template <class T>
[[gnu::always_inline]] inline void get(global_span<T> from,
                                       std::type_identity_t<std::span<std::remove_const_t<T>>> into) {
  pieces::check_transfer<T>("get", from.size(), into.size());
  global_calls::copy(from.data().raw(), from.size() * sizeof(T), into.data(), detail::copy_get, true);
}
/// Copies FROM to INTO, which has as many elements: else it throws std::invalid_argument.
template <class T>
[[gnu::always_inline]] inline void put(std::type_identity_t<std::span<const T>> from, global_span<T> into) {
  pieces::check_written<T>();
  pieces::check_transfer<T>("put", into.size(), from.size());
  global_calls::copy(into.data().raw(), from.size() * sizeof(T), const_cast<std::remove_const_t<T>*>(from.data()),
                     detail::copy_put, true);
}

/// Starts a get, and returns. INTO is complete behind the result's wait(). What is started before the first wait() is
/// on its way together, and all of that has come when one wait() returns.
/// @code
/// const auto a = tobi::allocate_all<int>(1000, tobi::block_cyclic(1024));
/// const int sum = tobi::run([=] {
///   tobi::iota(a, 0);
///   std::array<int, 10> first, last;
///   auto one = tobi::get_nb(a.first(10), first);
///   auto other = tobi::get_nb(a.subspan(990), last);
///   one.wait();
///   other.wait();
///   return first[9] + last[0];
/// });
/// if (rt.rank() == 0) std::printf("%d\n", sum);  // prints 999
/// @endcode
template <class T>
[[gnu::always_inline]] inline transfer get_nb(global_span<T> from,
                                              std::type_identity_t<std::span<std::remove_const_t<T>>> into) {
  pieces::check_transfer<T>("get_nb", from.size(), into.size());
  global_calls::copy(from.data().raw(), from.size() * sizeof(T), into.data(), detail::copy_get, false);
  return {from.data().raw(), from.size() * sizeof(T), detail::copy_get};
}
/// Starts a put, and returns. FROM must not change, and INTO is not read, before the result's wait().
template <class T>
[[gnu::always_inline]] inline transfer put_nb(std::type_identity_t<std::span<const T>> from, global_span<T> into) {
  pieces::check_written<T>();
  pieces::check_transfer<T>("put_nb", into.size(), from.size());
  global_calls::copy(into.data().raw(), from.size() * sizeof(T), const_cast<std::remove_const_t<T>*>(from.data()),
                     detail::copy_put, false);
  return {into.data().raw(), from.size() * sizeof(T), detail::copy_put};
}

#ifdef TOBI_ELIDE
}  // namespace elided
#endif
}  // namespace tobi
