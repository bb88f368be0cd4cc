// SPDX-License-Identifier: Apache-2.0
// The seam between the templates of global updates and the runtime: not for users.
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "tobi/detail/standard.hpp"

namespace tobi::detail {

/// The numbers that are updated where they lie.
/// stored32 and stored64 are bytes of anything, which replace what was there.
enum class number_kind : std::uint32_t { int32, uint32, int64, uint64, float32, float64, stored32, stored64 };
/// What an update of one number does.
enum class update_kind : std::uint32_t { add, min, max, compare_swap };

template <class T>
concept updated_integer = std::integral<T> && !std::same_as<T, bool> && (sizeof(T) == 4 || sizeof(T) == 8);
template <class T>
concept updated_number = updated_integer<T> || std::same_as<T, float> || std::same_as<T, double>;

template <updated_number T>
constexpr number_kind kind_of() noexcept {
  if constexpr (std::same_as<T, float>) return number_kind::float32;
  if constexpr (std::same_as<T, double>) return number_kind::float64;
  if constexpr (sizeof(T) == 4) return std::is_signed_v<T> ? number_kind::int32 : number_kind::uint32;
  return std::is_signed_v<T> ? number_kind::int64 : number_kind::uint64;
}

/// Throws where there are not as many VALUES, which are WHAT, as PLACES, and for a place behind SIZE.
inline void check_places(const char* call, const char* what, std::span<const std::size_t> places, std::size_t values,
                         std::size_t size) {
  if (places.size() != values) {
    throw std::invalid_argument(std::string("tobi::") + call + " was given " + std::to_string(values) + " " + what +
                                " for " + std::to_string(places.size()) + " places; give it as many");
  }
  for (const std::size_t place : places) {
    if (place < size) continue;
    throw std::out_of_range(std::string("tobi::") + call + " was given place " + std::to_string(place) + " of " +
                            std::to_string(size) + " " + what);
  }
}

extern "C" {
/// Adds COUNT numbers at FROM to those at TO.
void tobi_accumulate(void* to, const void* from, std::size_t count, std::uint32_t number);
/// Adds value i to the number at place PLACES[i] from TO on. What is stored takes its place.
void tobi_accumulate_at(void* to, const std::size_t* places, const void* values, std::size_t count,
                        std::uint32_t number);
/// Updates one number. OLD is what it was. EXPECTED: of compare_swap.
void tobi_update(void* at, std::uint32_t number, std::uint32_t how, const void* operand, const void* expected,
                 void* old);
}

}  // namespace tobi::detail

namespace tobi {
#ifdef TOBI_ELIDE
inline namespace elided {
#endif
/// Calls that are the runtime's, or in the serial elision plain code.
namespace update_calls {

#ifdef TOBI_ELIDE
template <class T>
constexpr T sum(T a, T b) noexcept {
  if constexpr (std::integral<T>) {  // wraps around
    using wide = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<wide>(a) + static_cast<wide>(b));
  } else {
    return a + b;
  }
}
template <class T>
void accumulate(T* to, const T* from, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[i] = sum(to[i], from[i]);
}
template <class T>
void accumulate_at(T* to, const std::size_t* places, const T* values, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[places[i]] = sum(to[places[i]], values[i]);
}
inline void store_at(void* to, const std::size_t* places, const void* values, std::size_t count, std::size_t each) {
  for (std::size_t i = 0; i < count; ++i) {
    std::memcpy(static_cast<std::byte*>(to) + places[i] * each, static_cast<const std::byte*>(values) + i * each, each);
  }
}
template <detail::update_kind How, class T>
T update(T* at, T operand, T expected) {
  const T old = *at;
  if constexpr (How == detail::update_kind::add) *at = sum(old, operand);
  if constexpr (How == detail::update_kind::min) *at = operand < old ? operand : old;
  if constexpr (How == detail::update_kind::max) *at = old < operand ? operand : old;
  if constexpr (How == detail::update_kind::compare_swap) *at = old == expected ? operand : old;
  return old;
}
#else
template <class T>
void accumulate(T* to, const T* from, std::size_t count) {
  detail::tobi_accumulate(to, from, count, static_cast<std::uint32_t>(detail::kind_of<T>()));
}
template <class T>
void accumulate_at(T* to, const std::size_t* places, const T* values, std::size_t count) {
  detail::tobi_accumulate_at(to, places, values, count, static_cast<std::uint32_t>(detail::kind_of<T>()));
}
/// Words of EACH bytes, 4 or 8.
inline void store_at(void* to, const std::size_t* places, const void* values, std::size_t count, std::size_t each) {
  const auto kind = each == 8 ? detail::number_kind::stored64 : detail::number_kind::stored32;
  detail::tobi_accumulate_at(to, places, values, count, static_cast<std::uint32_t>(kind));
}
template <detail::update_kind How, class T>
T update(T* at, T operand, T expected) {
  T old;
  detail::tobi_update(at, static_cast<std::uint32_t>(detail::kind_of<T>()), static_cast<std::uint32_t>(How), &operand,
                      &expected, &old);
  return old;
}
#endif

}  // namespace update_calls
#ifdef TOBI_ELIDE
}  // namespace elided
#endif
}  // namespace tobi
