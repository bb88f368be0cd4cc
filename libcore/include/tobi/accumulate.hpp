// SPDX-License-Identifier: Apache-2.0
// Updates of numbers in global memory, where they lie: accumulate adds many, fetch_add and its like change one and
// return what it was. Tasks that are not ordered may update the same numbers, and no update is lost. So contributions
// are collected without a join: the tiles of a tensor contraction (HPDC'12, section 5), the bins of a histogram.
//
// Updates of one type are atomic among each other, number by number. Between an update and any other access to the
// same number (a checkout, load, store, or update as another type) there is the order of spawns and joins, or it is a
// data race as between two checkouts. A sum of floating-point numbers depends on the order of its terms, so it may
// differ in its last digits from run to run.
//
// Others see an update behind the next join or barrier that orders them, as they see what was written. An update orders
// nothing else. What fetch_add and its like change is changed when they return. What is accumulated into few numbers of
// other nodes is kept by the worker and sent with more of it: at the latest when a join or barrier needs it, or this
// worker looks, and after some milliseconds where the worker idles or checks in. So a signal to a task that is not
// ordered is a fetch_add, or a stop_flag. The caller's cache keeps nothing of what it has updated: what it had written
// there goes home before, and its next checkout fetches. A checkout of the same bytes that this worker holds meanwhile
// is an error.
//
// Numbers are float, double, and integers of 32 and 64 bits, which wrap around. They are aligned to their size.
//
// Cost. On memory of the same node it is an atomic instruction per 64-bit integer, and two per 16 KiB of the other
// numbers, which are changed under locks of their home. On other nodes:
//
//   64-bit integers               the fabric's atomics, as many at once as it takes
//   32 or more others in a row    a lock, a get and a put per 16 KiB: two round trips, where chains work, for 16 pieces
//   scattered others              sorted first; those of 16 KiB need one lock and one get, and a put each
//   8 or more of one worker,      one message for up to 511 of them, which that worker executes: four round trips for
//   where targets must poll       up to 8 messages. MPI is so, and libfabric over sockets (tobi-info: passive_amo)
//
// Numbers that wait are sorted, too, and what goes to one number goes there once.
//
// None migrates the caller. They work in tasks, in tasks of a collection, and outside of tasks. An error ends the job
// with one sentence: memory that is not global or was freed, a number that is not aligned, a checkout that is held
// there.
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

#include <cstddef>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "tobi/detail/update.hpp"
#include "tobi/global_ptr.hpp"

namespace tobi {
#ifdef TOBI_ELIDE
inline namespace elided {
#endif

/// Adds from[i] to to[i], for N numbers. FROM is this task's own memory, or checked out. They may lie in several
/// blocks, and on several workers.
/// @code
/// const auto bins = tobi::allocate_all<long>(4);
/// const long third = tobi::run([=] {
///   tobi::fill(bins, 0L);
///   tobi::parallel_for(0, 100, 1, [=](int) {
///     const std::array<long, 4> found{1, 2, 3, 4};
///     tobi::accumulate(bins.data(), found.data(), found.size());
///   });
///   return bins[2].get();
/// });
/// if (rt.rank() == 0) std::printf("%ld\n", third);  // prints 300
/// @endcode
template <detail::updated_number T>
void accumulate(global_ptr<T> to, const std::type_identity_t<T>* from, std::size_t n) {
  if (n != 0) update_calls::accumulate(to.raw(), from, n);
}
/// Adds FROM to TO, number by number. Throws std::invalid_argument where their lengths differ.
template <detail::updated_number T>
void accumulate(global_span<T> to, std::type_identity_t<std::span<const T>> from) {
  if (to.size() != from.size()) {
    throw std::invalid_argument("tobi::accumulate was given " + std::to_string(from.size()) + " numbers to add to " +
                                std::to_string(to.size()) + "; give it as many");
  }
  accumulate(to.data(), from.data(), from.size());
}
/// Adds values[i] to to[places[i]], for all i. A place may come several times. Throws std::invalid_argument where there
/// are not as many values as places, and std::out_of_range for a place that TO does not have; then nothing is added.
template <detail::updated_number T>
void accumulate_at(global_span<T> to, std::span<const std::size_t> places,
                   std::type_identity_t<std::span<const T>> values) {
  detail::check_places("accumulate_at", "numbers", places, values.size(), to.size());
  if (places.empty()) return;
  update_calls::accumulate_at(to.data().raw(), places.data(), values.data(), places.size());
}

/// Adds OPERAND to the number at AT. Returns what it was.
/// @code
/// const auto next = tobi::allocate_all<long>(1);
/// const long drawn = tobi::run([=] {
///   tobi::store(next.data(), 0L);
///   tobi::parallel_for(0, 10, 1, [=](int) { tobi::fetch_add(next.data(), 1); });
///   return tobi::fetch_add(next.data(), 0);
/// });
/// if (rt.rank() == 0) std::printf("%ld\n", drawn);  // prints 10
/// @endcode
template <detail::updated_number T>
T fetch_add(global_ptr<T> at, std::type_identity_t<T> operand) {
  return update_calls::update<detail::update_kind::add>(at.raw(), operand, T{});
}
/// Stores OPERAND where it is less than the number at AT. Returns what that was. A NaN is never stored.
template <detail::updated_number T>
T fetch_min(global_ptr<T> at, std::type_identity_t<T> operand) {
  return update_calls::update<detail::update_kind::min>(at.raw(), operand, T{});
}
/// Stores OPERAND where it is greater than the number at AT. Returns what that was. A NaN is never stored.
template <detail::updated_number T>
T fetch_max(global_ptr<T> at, std::type_identity_t<T> operand) {
  return update_calls::update<detail::update_kind::max>(at.raw(), operand, T{});
}
/// Returns the number at AT as the updates so far have left it, or a little earlier. It needs no order with updates,
/// and costs as much as one. For a number that is read often there are shared_min and shared_max (bound.hpp).
template <detail::updated_number T>
[[nodiscard]] T load_relaxed(global_ptr<T> at) {
  // An update that changes nothing: adding 0.0 would change the sign of a zero.
  if constexpr (std::is_floating_point_v<T>) {
    return fetch_min(at, std::numeric_limits<T>::infinity());
  } else {
    return fetch_add(at, T{0});
  }
}
/// Stores DESIRED where the integer at AT is EXPECTED. Returns what it was, so it has stored where that is EXPECTED.
template <detail::updated_integer T>
T compare_and_swap(global_ptr<T> at, std::type_identity_t<T> expected, std::type_identity_t<T> desired) {
  return update_calls::update<detail::update_kind::compare_swap>(at.raw(), desired, expected);
}

#ifdef TOBI_ELIDE
}  // namespace elided
#endif
}  // namespace tobi
