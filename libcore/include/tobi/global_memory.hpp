// Allocation of global memory (SC'23, section 4.2). Nothing is initialized.
#pragma once

#include <cstddef>

#include "tobi/detail/global.hpp"
#include "tobi/global_ptr.hpp"

namespace tobi {
#ifdef TOBI_ELIDE
inline namespace elided {
#endif

/// How an allocation by all workers is dealt to them: see block() and block_cyclic().
struct distribution {
  std::size_t chunk_bytes = 0;
};
/// One piece each, of equal size.
constexpr distribution block() noexcept { return {}; }
/// Pieces of CHUNK_BYTES (rounded up to TOBI_BLOCK_SIZE), in turn.
constexpr distribution block_cyclic(std::size_t chunk_bytes) noexcept { return {chunk_bytes == 0 ? 1 : chunk_bytes}; }

/// COUNT elements, distributed as HOW says. Collective, outside of run(): every worker calls it with the same arguments
/// and gets the same answer. Out of memory ends the job.
template <class T>
[[nodiscard]] global_span<T> allocate_all(std::size_t count, distribution how = block()) {
  return {global_ptr<T>(static_cast<T*>(global_calls::allocate_all(count * sizeof(T), how.chunk_bytes))), count};
}
/// Collective likewise: frees what allocate_all answered. Nobody may hold a checkout of it.
template <class T>
void free_all(global_span<T> what) {
  global_calls::free_all(what.data().raw());
}

/// COUNT elements in the memory of the worker that runs the caller. Any task, or code outside of tasks; does not
/// migrate the caller. Out of memory ends the job.
template <class T>
[[nodiscard]] global_ptr<T> allocate_global(std::size_t count) {
  static_assert(alignof(T) <= 16, "tobi: what one worker allocates is aligned to 16 bytes");
  return global_ptr<T>(static_cast<T*>(global_calls::allocate(count * sizeof(T))));
}
/// Frees what allocate_global(COUNT) answered, on any worker: one unwaited put where it is another's.
template <class T>
void free_global(global_ptr<T> what, std::size_t count) {
  global_calls::free(what.raw(), count * sizeof(T));
}

#ifdef TOBI_ELIDE
}  // namespace elided
#endif
}  // namespace tobi
