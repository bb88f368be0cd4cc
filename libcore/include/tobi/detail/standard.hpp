// SPDX-License-Identifier: Apache-2.0
// The language that every header of Tobiuo is written in. What every header includes includes this one, so that the
// first line that a compiler says is the sentence below.
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

#if __cplusplus < 202002L
#error "tobi: Tobiuo needs C++20 or later: compile with -std=c++20, -std=c++23 or their gnu++ forms."
#endif

// Frames that sign their return addresses cannot move between processes that a launcher started (AArch64). Code that
// signs says so when it is loaded, and the start refuses such a job.
#if defined(__aarch64__) && defined(__ARM_FEATURE_PAC_DEFAULT)
extern "C" void tobi_signed_code() noexcept;
namespace tobi::detail {
[[maybe_unused]] static const bool says_that_it_signs = (tobi_signed_code(), true);
}
#endif
