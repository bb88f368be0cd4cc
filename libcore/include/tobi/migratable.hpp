// SPDX-License-Identifier: Apache-2.0
// Which objects may move to another process: migratable<T>.
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

#include <array>
#include <cstddef>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include "tobi/detail/standard.hpp"
#include "tobi/detail/travels.hpp"

namespace tobi {

/// Whether the bytes of a T are the object itself, wherever they are brought: they are the object in another process,
/// and what they were copied from is then nothing that needs to be destroyed. So a T holds no address of itself, and
/// none of memory that one process has for itself. What it owns is global memory, or a number of something.
///
/// A T whose copy constructor and destructor are trivial is migratable. So are global_vector, distributed_vector, and
/// pairs, tuples, arrays, optionals and variants of what is. The arguments of spawn(), what is spawned, and the result
/// may be any migratable type: a move-only one is moved into the child, and out of it by join(), and is destroyed once,
/// on the worker where it ends. A program says so of a type of its own:
/// @code
/// struct ticket {  // gives its number back where it ends
///   tobi::global_ptr<int> returned;
///   int number;
///   ticket(tobi::global_ptr<int> to, int mine) : returned(to), number(mine) {}
///   ticket(ticket&& other) noexcept : returned(other.returned), number(std::exchange(other.number, 0)) {}
///   ~ticket() { tobi::fetch_add(returned, number); }
/// };
/// template <>
/// inline constexpr bool tobi::migratable<ticket> = true;
///
/// const auto returned = tobi::allocate_all<int>(1);
/// const int sum = tobi::run([=] {
///   tobi::store(returned.data(), 0);
///   auto seen = tobi::spawn([](ticket t) { return t.number; }, ticket(returned.data(), 42));
///   return seen.join() + tobi::load(returned.data());
/// });
/// if (rt.rank() == 0) std::printf("%d\n", sum);  // prints 84
/// @endcode
template <class T>
inline constexpr bool migratable = detail::travels<T>;

template <class A, class B>
inline constexpr bool migratable<std::pair<A, B>> = migratable<A>&& migratable<B>;
template <class... T>
inline constexpr bool migratable<std::tuple<T...>> = (migratable<T> && ...);
template <class T, std::size_t N>
inline constexpr bool migratable<std::array<T, N>> = migratable<T>;
template <class T>
inline constexpr bool migratable<std::optional<T>> = migratable<T>;
template <class... T>
inline constexpr bool migratable<std::variant<T...>> = (migratable<T> && ...);

namespace detail {
/// What is moved to where it goes, and ended there.
template <class T>
inline constexpr bool moves = travels<T> || (migratable<T> && std::is_move_constructible_v<T>);
}  // namespace detail

}  // namespace tobi
