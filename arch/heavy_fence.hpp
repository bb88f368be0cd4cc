// SPDX-License-Identifier: Apache-2.0
// A fence with one cheap side. Two threads of a process each store a word and then load the other's, and at least one
// of them must see the other's store (Dekker). With a fence on both sides the thread that does so at each return of a
// task would pay for one that does it once in a while. Here the rare side alone pays: heavy_fence() makes every other
// thread of the process that is running pass a full barrier where it stands, so the frequent side needs none; it only
// keeps the compiler from exchanging its store and its load.
#pragma once

#include <string>

namespace tobi::arch {

/// To be called once in the process that will call heavy_fence(), not in its parent. "" or why there is no such fence
/// here: the kernel must offer membarrier(2)'s private expedited barriers (Linux 4.14).
std::string prepare_heavy_fence();

/// Every store that any thread of this process did before the barrier, in its program's order, is seen by the caller
/// afterwards; every load that a thread does behind it sees what the caller stored before the call. About a
/// microsecond.
void heavy_fence() noexcept;

#if defined(__x86_64__)
/// Whether a thread that sees a store also sees the ones that its thread did before it.
inline constexpr bool stores_in_order = true;
#else
inline constexpr bool stores_in_order = false;
#endif

}  // namespace tobi::arch
