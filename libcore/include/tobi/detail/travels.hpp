// SPDX-License-Identifier: Apache-2.0
// Which values may go from process to process.
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

#include <type_traits>

#include "tobi/detail/standard.hpp"

namespace tobi::detail {

/// Whether a T is its bytes: they are copied to the place where they are needed, and nothing destroys the original. A
/// trivially copyable type is. So is a type whose copy constructor and destructor are trivial, as those of std::pair
/// and std::tuple of such types are, whatever its assignment does.
template <class T>
inline constexpr bool travels = std::is_trivially_copyable_v<T> ||
                                (std::is_trivially_copy_constructible_v<T> && std::is_trivially_destructible_v<T>);

}  // namespace tobi::detail
