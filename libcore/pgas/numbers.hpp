// SPDX-License-Identifier: Apache-2.0
// What updates do to numbers of each kind, as functions of bytes: for code that knows the kind as a value.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "tobi/detail/update.hpp"

namespace tobi::pgas {

using detail::number_kind;
using detail::update_kind;

constexpr std::size_t bytes_of(number_kind k) noexcept {
  return k == number_kind::int64 || k == number_kind::uint64 || k == number_kind::float64 || k == number_kind::stored64
             ? 8
             : 4;
}
/// Those that are no numbers: an update replaces them, and one task at a time may. Nothing excludes anything.
constexpr bool is_stored(number_kind k) noexcept { return k == number_kind::stored32 || k == number_kind::stored64; }
/// Those that the fabric's atomics change. All other numbers are changed under a lock.
constexpr bool is_word(number_kind k) noexcept { return k == number_kind::int64 || k == number_kind::uint64; }

/// Integers wrap around, as they do in a fabric's fetch-and-add.
template <class T>
constexpr T sum_of(T a, T b) noexcept {
  if constexpr (std::is_integral_v<T>) {
    using wide = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<wide>(a) + static_cast<wide>(b));
  } else {
    return a + b;
  }
}

/// What VALUE becomes by an update.
template <class T>
constexpr T updated(update_kind how, T value, T operand, T expected) noexcept {
  switch (how) {
    case update_kind::add:
      return sum_of(value, operand);
    case update_kind::min:
      return operand < value ? operand : value;
    case update_kind::max:
      return value < operand ? operand : value;
    case update_kind::compare_swap:
      return value == expected ? operand : value;
  }
  return value;
}

/// Calls F with a number of the kind K, and returns what it returns.
template <class F>
auto with_number(number_kind k, F f) {
  switch (k) {
    case number_kind::int32:
      return f(std::int32_t{});
    case number_kind::uint32:
      return f(std::uint32_t{});
    case number_kind::int64:
      return f(std::int64_t{});
    case number_kind::uint64:
      return f(std::uint64_t{});
    case number_kind::float32:
      return f(float{});
    case number_kind::float64:
    case number_kind::stored32:  // not asked for
    case number_kind::stored64:
      break;
  }
  return f(double{});
}

/// An update of numbers that nobody else changes meanwhile.
struct update {
  update_kind how = update_kind::add;
  number_kind number = number_kind::float64;
  std::uint64_t expected = 0;  // the bytes of a number, from the first on
  void* old = nullptr;         // where the first number goes as it was; null: nobody asks

  /// Changes the BYTES of numbers at AT by those at OPERANDS. The operands may lie at any address.
  void apply(std::byte* at, const std::byte* operands, std::size_t bytes) const noexcept {
    if (is_stored(number)) {
      std::memcpy(at, operands, bytes);
      return;
    }
    with_number(number, [&](auto zero) {
      using T = decltype(zero);
      T compared;
      std::memcpy(&compared, &expected, sizeof compared);
      if (old != nullptr) std::memcpy(old, at, sizeof compared);
      auto* const to = reinterpret_cast<T*>(at);
      if (how == update_kind::add) {  // a loop of its own, for the compiler's vectors
        for (std::size_t i = 0; i < bytes / sizeof(T); ++i) to[i] = sum_of(to[i], loaded<T>(operands, i));
      } else {
        for (std::size_t i = 0; i < bytes / sizeof(T); ++i) {
          to[i] = updated(how, to[i], loaded<T>(operands, i), compared);
        }
      }
    });
  }

 private:
  template <class T>
  static T loaded(const std::byte* from, std::size_t i) noexcept {
    T value;
    std::memcpy(&value, from + i * sizeof value, sizeof value);
    return value;
  }
};

}  // namespace tobi::pgas
