// Fork-join patterns over spawn and join. Bodies are copied into each task, so they capture by value; each may migrate
// the caller. With TOBI_ELIDE they run serially.
#pragma once

#include <cstddef>
#include <type_traits>

#include "tobi/task.hpp"

namespace tobi {
#ifdef TOBI_ELIDE
inline namespace elided {
#endif

/// Runs all FUNCTIONS, the last one in the caller, and returns when all have. Their results are dropped.
template <class F>
void parallel_invoke(F function) {
  function();
}
template <class F, class G, class... Rest>
void parallel_invoke(F first, G second, Rest... rest) {
  auto child = spawn([=]() mutable { first(); });
  parallel_invoke(second, rest...);
  child.join();
}

/// body(i) for each i of [begin, end), in tasks of at most GRAIN iterations (at least 1), split in halves.
template <class Index, class Body>
void parallel_for(Index begin, Index end, std::type_identity_t<Index> grain, Body body) {
  static_assert(std::is_integral_v<Index>, "tobi: parallel_for counts with an integer");
  if (!(begin < end)) return;
  if (end - begin <= (grain < 1 ? Index{1} : grain)) {
    for (Index i = begin; i < end; ++i) body(i);
    return;
  }
  const Index middle = static_cast<Index>(begin + (end - begin) / 2);
  auto left = spawn([=] { parallel_for(begin, middle, grain, body); });
  parallel_for(middle, end, grain, body);
  left.join();
}

/// combine over map(i) for each i of [begin, end), in tasks of at most GRAIN iterations; IDENTITY for an empty range.
/// COMBINE must be associative; the order of the operands is the order of the indices.
template <class Index, class R, class Map, class Combine>
R parallel_reduce(Index begin, Index end, std::type_identity_t<Index> grain, R identity, Map map, Combine combine) {
  static_assert(std::is_integral_v<Index>, "tobi: parallel_reduce counts with an integer");
  detail::check_result<R>();
  if (!(begin < end)) return identity;
  if (end - begin <= (grain < 1 ? Index{1} : grain)) {
    R value = identity;
    for (Index i = begin; i < end; ++i) value = combine(value, map(i));
    return value;
  }
  const Index middle = static_cast<Index>(begin + (end - begin) / 2);
  auto left = spawn([=] { return parallel_reduce(begin, middle, grain, identity, map, combine); });
  const R right = parallel_reduce(middle, end, grain, identity, map, combine);
  return combine(left.join(), right);
}

#ifdef TOBI_ELIDE
}  // namespace elided
#endif
}  // namespace tobi
