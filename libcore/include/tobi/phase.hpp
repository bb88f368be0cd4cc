// SPDX-License-Identifier: Apache-2.0
// Phases of a program, for traces (TOBI_TRACE): tobi-report says of each how long it took, what the workers did
// meanwhile and how many bytes moved. Without a trace a call costs some nanoseconds.
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

#include <cstddef>
#include <string_view>

#include "tobi/detail/standard.hpp"

namespace tobi {

#ifdef TOBI_ELIDE
inline namespace elided {
#else
namespace detail {
extern "C" void tobi_begin_phase(const char* name, std::size_t bytes);
}  // namespace detail
#endif

/// The program begins the phase NAME, which ends where the next one begins. A phase may come again under the same name,
/// as the steps of an iteration do. It is one of the whole job, wherever the caller runs: call it in the root task
/// where no other task of the phase before is left, or in main on all workers. The first 23 bytes of NAME are kept.
/// The caller does not move. Never fails.
/// @code
/// const long sum = tobi::run([] {
///   tobi::begin_phase("square");
///   auto a = tobi::spawn([] { return 3L * 3L; });
///   const long four = 4L * 4L + a.join();
///   tobi::begin_phase("add");
///   return four;
/// });
/// if (rt.rank() == 0) std::printf("%ld\n", sum);  // prints 25
/// @endcode
inline void begin_phase([[maybe_unused]] std::string_view name) noexcept {
#ifndef TOBI_ELIDE
  detail::tobi_begin_phase(name.data(), name.size());
#endif
}

#ifdef TOBI_ELIDE
}  // namespace elided
#endif

}  // namespace tobi
