// SPDX-License-Identifier: Apache-2.0
// The seam between the templates of the global memory and the runtime: not for users. With TOBI_ELIDE global memory is
// the process's own, and a checkout is nothing.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tobi/detail/standard.hpp"

namespace tobi::detail {

extern "C" {
void tobi_checkout(const void* at, std::size_t bytes, std::uint32_t how);
void tobi_checkout_nb(const void* at, std::size_t bytes, std::uint32_t how);
void tobi_checkout_wait();
/// Whether these bytes can be read at once, as they stand.
bool tobi_readable(const void* at, std::size_t bytes);
void tobi_checkin(const void* at, std::size_t bytes, std::uint32_t how);
void* tobi_global_allocate(std::size_t bytes);
void tobi_global_free(void* at, std::size_t bytes);
/// CHUNK 0: a block distribution.
void* tobi_global_allocate_all(std::size_t bytes, std::size_t chunk);
void tobi_global_free_all(void* at);
/// What a loop over global memory may check out at a time, wherever it lies.
std::size_t tobi_global_chunk_bytes();
}

/// What COUNT elements need. A product that no word holds (a negative count gives one) is more than there is.
template <class T>
constexpr std::size_t bytes_of(std::size_t count) noexcept {
  return count > ~std::size_t{0} / sizeof(T) ? ~std::size_t{0} : count * sizeof(T);
}

}  // namespace tobi::detail

namespace tobi {
#ifdef TOBI_ELIDE
inline namespace elided {
namespace global_calls {
inline void checkout(const void*, std::size_t, std::uint32_t) noexcept {}
inline void checkout_nb(const void*, std::size_t, std::uint32_t) noexcept {}
inline void wait() noexcept {}
inline bool readable(const void*, std::size_t) noexcept { return true; }
inline void checkin(const void*, std::size_t, std::uint32_t) noexcept {}
inline void* allocate(std::size_t bytes) { return ::operator new(bytes); }
inline void free(void* at, std::size_t) { ::operator delete(at); }
inline void* allocate_all(std::size_t bytes, std::size_t) { return ::operator new(bytes); }
inline void free_all(void* at) { ::operator delete(at); }
inline std::size_t chunk_bytes() noexcept { return std::size_t{1} << 16; }
}  // namespace global_calls
}  // namespace elided
#else
namespace global_calls {
inline void checkout(const void* at, std::size_t bytes, std::uint32_t how) { detail::tobi_checkout(at, bytes, how); }
inline void checkout_nb(const void* at, std::size_t bytes, std::uint32_t how) {
  detail::tobi_checkout_nb(at, bytes, how);
}
inline void wait() { detail::tobi_checkout_wait(); }
inline bool readable(const void* at, std::size_t bytes) { return detail::tobi_readable(at, bytes); }
inline void checkin(const void* at, std::size_t bytes, std::uint32_t how) { detail::tobi_checkin(at, bytes, how); }
inline void* allocate(std::size_t bytes) { return detail::tobi_global_allocate(bytes); }
inline void free(void* at, std::size_t bytes) { detail::tobi_global_free(at, bytes); }
inline void* allocate_all(std::size_t bytes, std::size_t chunk) {
  return detail::tobi_global_allocate_all(bytes, chunk);
}
inline void free_all(void* at) { detail::tobi_global_free_all(at); }
inline std::size_t chunk_bytes() { return detail::tobi_global_chunk_bytes(); }
}  // namespace global_calls
#endif
}  // namespace tobi
