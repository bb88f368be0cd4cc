// SPDX-License-Identifier: Apache-2.0
// Allocation of global memory (SC'23, section 4.2). The memory is not initialized.
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

#include <cstddef>

#include "tobi/detail/global.hpp"
#include "tobi/global_ptr.hpp"
#include "tobi/global_ref.hpp"

namespace tobi {
#ifdef TOBI_ELIDE
inline namespace elided {
#endif

/// How an allocation by all workers is distributed: see block() and block_cyclic().
struct distribution {
  /// Bytes per piece. 0 means one piece per worker.
  std::size_t chunk_bytes = 0;
};
/// One piece per worker, all of equal size.
constexpr distribution block() noexcept { return {}; }
/// Pieces of CHUNK_BYTES (rounded up to TOBI_BLOCK_SIZE), dealt to the workers in turn.
constexpr distribution block_cyclic(std::size_t chunk_bytes) noexcept { return {chunk_bytes == 0 ? 1 : chunk_bytes}; }

/// Allocates COUNT elements, distributed as HOW says. In main it is collective: every worker calls it with the same
/// arguments and gets the same result. In a task that task alone calls it, and the run pauses as for on_all_workers(),
/// which may migrate the caller and must not be under a checkout: for sizes that are known in a run only, not for small
/// pieces. Out of memory ends the job.
/// @code
/// const auto a = tobi::allocate_all<int>(1000000, tobi::block_cyclic(1 << 16));
/// const long sum = tobi::run([=] {
///   tobi::fill(a, 2);
///   return tobi::reduce(a, 0L);
/// });
/// tobi::free_all(a);
/// if (rt.rank() == 0) std::printf("%ld\n", sum);  // prints 2000000
/// @endcode
template <class T>
[[nodiscard]] global_span<T> allocate_all(std::size_t count, distribution how = block()) {
  return {global_ptr<T>(static_cast<T*>(global_calls::allocate_all(detail::bytes_of<T>(count), how.chunk_bytes))),
          count};
}
/// Frees what allocate_all returned. Collective in main, and a pause of the run in a task, as allocate_all(), wherever
/// it was allocated. No worker may hold a checkout of it.
template <class T>
void free_all(global_span<T> what) {
  global_calls::free_all(what.data().raw());
}

/// From now on nobody writes the array that allocate_all returned: what a worker has fetched of it stays in its cache,
/// as far as there is room, and is not fetched again behind each steal and join. For tables that are made once and read
/// often. Collective in main, and a pause of the run in a task, as allocate_all(). Its bytes are those that were
/// written before. A checkout for writing, or an update, that names a part of another node ends the job;
/// TOBI_DEBUG_GLOBAL=1 notices those of the same node, too.
/// @code
/// const auto table = tobi::allocate_all<long>(1000);
/// const long sum = tobi::run([=] {
///   tobi::iota(table, 0L);
///   tobi::set_read_only(table);
///   return tobi::parallel_reduce(0, 1000, 0L, [=](int i) { return tobi::load(&table[i]); }, std::plus<>{});
/// });
/// tobi::free_all(table);
/// if (rt.rank() == 0) std::printf("%ld\n", sum);  // prints 499500
/// @endcode
template <class T>
void set_read_only(global_span<T> what) {
  global_calls::set_constant(what.data().raw(), true);
}
/// Ends set_read_only(): the array may be written again. Collective in main, and a pause of the run in a task.
template <class T>
void set_writable(global_span<T> what) {
  global_calls::set_constant(what.data().raw(), false);
}

/// Allocates COUNT elements in the memory of the worker that runs the caller. Any task may call it, and code outside of
/// tasks. Does not migrate the caller. Out of memory ends the job. Objects of one size, of at most 256 bytes, that are
/// allocated one after the other lie next to each other.
template <class T>
[[nodiscard]] global_ptr<T> allocate_global(std::size_t count) {
  static_assert(alignof(T) <= 16, "tobi: what one worker allocates is aligned to at most 16 bytes");
  return global_ptr<T>(static_cast<T*>(global_calls::allocate(detail::bytes_of<T>(count))));
}
/// Frees what allocate_global(COUNT) returned, on any worker. COUNT must be the same: another one ends the job where
/// the memory is of this node, and elsewhere with TOBI_DEBUG_GLOBAL=1. Nobody waits for it. Frees of objects of another
/// node go there together, 4096 at the latest.
template <class T>
void free_global(global_ptr<T> what, std::size_t count) {
  global_calls::free(what.raw(), detail::bytes_of<T>(count));
}

#ifdef TOBI_ELIDE
}  // namespace elided
#endif
}  // namespace tobi
