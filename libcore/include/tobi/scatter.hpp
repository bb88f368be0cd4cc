// SPDX-License-Identifier: Apache-2.0
// Elements that lie scattered over global memory. A store by checkout or store() sends each element home by a message
// of its own, as soon as the block around it goes. Those of store_at() are collected by the worker, for all of its
// tasks, and sent together. A load by checkout or load() waits for a round trip. Those of load_at() wait for it
// together.
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <type_traits>
#include <vector>

#include "tobi/checkout.hpp"
#include "tobi/detail/update.hpp"
#include "tobi/global_ptr.hpp"

namespace tobi {
#ifdef TOBI_ELIDE
inline namespace elided {
#endif

/// What store_at is made of: not for users.
namespace pieces {

/// Words of EACH bytes, of which each element has WORDS.
inline void store_words(void* to, std::span<const std::size_t> places, const void* values, std::size_t words,
                        std::size_t each) {
  if (words == 1) {
    update_calls::store_at(to, places.data(), values, places.size(), each);
    return;
  }
  constexpr std::size_t most = 4096;  // at once
  std::vector<std::size_t> at;
  at.reserve(std::min(places.size() * words, most + words));
  const auto* from = static_cast<const std::byte*>(values);
  for (std::size_t i = 0; i < places.size(); ++i) {
    for (std::size_t w = 0; w < words; ++w) at.push_back(places[i] * words + w);
    if (at.size() < most && i + 1 < places.size()) continue;
    update_calls::store_at(to, at.data(), from, at.size(), each);
    from += at.size() * each;
    at.clear();
  }
}

}  // namespace pieces

/// Stores values[i] in to[places[i]], for all i. Where a place comes several times the last value counts. The elements
/// are copied by their bytes. Each is written as by store(): until a join or barrier orders it no other task uses it,
/// and this one holds no checkout of it. Others find it behind that join or barrier, and this task at once.
///
/// Cost. On memory of the same node it is a store each. For other nodes elements of 4 and 8 bytes, and larger ones that
/// consist of such words, are kept by the worker, sorted, and sent at the latest when a join or barrier needs them.
/// Where targets must poll (tobi-info: passive_amo), one message has up to 511 words. Elsewhere each word is a put, and
/// all puts are on their way at once. Other elements are stored one by one.
///
/// Throws std::invalid_argument where there are not as many values as places, and std::out_of_range for a place that TO
/// does not have. Then nothing is stored. Does not migrate the caller.
/// @code
/// const auto squares = tobi::allocate_all<long>(100);
/// const long last = tobi::run([=] {
///   tobi::parallel_for(std::size_t{0}, std::size_t{50}, std::size_t{10}, [=](std::size_t begin, std::size_t end) {
///     std::vector<std::size_t> places;
///     std::vector<long> values;
///     for (std::size_t i = begin; i < end; ++i) {
///       places.push_back(i * 37 % 100);
///       values.push_back(static_cast<long>(i * i));
///     }
///     tobi::store_at(squares, places, values);
///   });
///   return squares[49 * 37 % 100].get();
/// });
/// if (rt.rank() == 0) std::printf("%ld\n", last);  // prints 2401
/// @endcode
template <class T>
void store_at(global_span<T> to, std::span<const std::size_t> places, std::type_identity_t<std::span<const T>> values) {
  static_assert(!std::is_const_v<T>, "tobi: store_at() writes: give it a span of T and not of const T");
  static_assert(detail::travels<T>, "tobi: store_at() writes bytes; construct other objects in a checkout");
  detail::check_places("store_at", "elements", places, values.size(), to.size());
  if (places.empty()) return;
  constexpr std::size_t each = sizeof(T) % 8 == 0 && alignof(T) >= 8   ? 8
                               : sizeof(T) % 4 == 0 && alignof(T) >= 4 ? 4
                                                                       : 0;
  if constexpr (each != 0) {
    pieces::store_words(to.data().raw(), places, values.data(), sizeof(T) / each, each);
  } else {
    for (std::size_t i = 0; i < places.size(); ++i) store(to.subspan(places[i], 1).data(), values[i]);
  }
}

/// Loads values[i] from from[places[i]], for all i. The elements are copied by their bytes. Each is read as by load():
/// what other tasks write meanwhile needs an order by joins or barriers.
///
/// Cost. On memory of the same node, and on what this worker has cached, it is a load each. The others are fetched with
/// the sub-blocks around them (TOBI_SUB_BLOCK_SIZE) and stay in the cache. Some 64 of them are on their way at once.
///
/// Throws std::invalid_argument where there are not as many values as places, and std::out_of_range for a place that
/// FROM does not have. Then nothing is loaded. Does not migrate the caller.
/// @code
/// const auto squares = tobi::allocate_all<long>(100);
/// const long sum = tobi::run([=] {
///   tobi::for_each(squares, tobi::mode::write, [](long& x, std::size_t i) { x = static_cast<long>(i * i); });
///   const std::vector<std::size_t> places{9, 3, 77, 3};
///   std::vector<long> found(places.size());
///   tobi::load_at(squares, places, found);
///   return found[0] + found[1] + found[2] + found[3];
/// });
/// if (rt.rank() == 0) std::printf("%ld\n", sum);  // prints 6028
/// @endcode
template <class T>
void load_at(global_span<T> from, std::span<const std::size_t> places,
             std::type_identity_t<std::span<std::remove_const_t<T>>> values) {
  static_assert(detail::travels<std::remove_const_t<T>>,
                "tobi: load_at() copies bytes; read other objects in a checkout");
  constexpr std::size_t together = 64;
  detail::check_places("load_at", "elements", places, values.size(), from.size());
  for (std::size_t begin = 0; begin < places.size(); begin += together) {
    const std::size_t end = std::min(begin + together, places.size());
    std::array<std::size_t, together> coming;
    std::size_t n = 0;
    for (std::size_t i = begin; i < end; ++i) {
      const global_ptr<T> at = from.subspan(places[i], 1).data();
      if (global_calls::readable(at.raw(), sizeof(T))) {
        values[i] = *at.raw();
      } else {
        prefetch(at, 1);
        coming[n++] = i;
      }
    }
    for (std::size_t k = 0; k < n; ++k) values[coming[k]] = load(from.subspan(places[coming[k]], 1).data());
  }
}

#ifdef TOBI_ELIDE
}  // namespace elided
#endif
}  // namespace tobi
