// SPDX-License-Identifier: Apache-2.0
// What makes one value of two. Not for users.
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

#include <array>
#include <cstddef>
#include <type_traits>

#include "tobi/detail/standard.hpp"

namespace tobi::detail {

/// Whether a COMBINE makes one R of a FIRST and a const R.
template <class Combine, class R, class First = R>
inline constexpr bool combines = std::is_invocable_r_v<R, Combine&, First, const R&>;

/// Whether it does so in combined().
template <class Combine, class R>
inline constexpr bool combines_elements = combines<const Combine, R, R&>;
template <class Combine, class T, std::size_t N>
inline constexpr bool combines_elements<Combine, std::array<T, N>> =
    combines<const Combine, std::array<T, N>, std::array<T, N>&> || combines_elements<Combine, T>;

/// Returns A and B combined, element by element where they are arrays and COMBINE takes none.
template <class R, class Combine>
R combined(R& a, const R& b, const Combine& combine) {
  if constexpr (combines<const Combine, R, R&>) {
    return static_cast<R>(combine(a, b));
  } else {
    R all = a;
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = combined(a[i], b[i], combine);
    return all;
  }
}

}  // namespace tobi::detail
