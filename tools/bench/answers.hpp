// SPDX-License-Identifier: Apache-2.0
// What is known about the right results.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tools/bench/apps/variant.hpp"
#include "tools/bench/arguments.hpp"

namespace tobi_bench {

/// The one right answer of a program.
using right_answer = std::uint64_t (*)(const arguments&);
std::uint64_t right_fib(const arguments& a);
std::uint64_t right_btc(const arguments& a);
std::uint64_t right_nqueens(const arguments& a);
std::uint64_t right_pfor(const arguments& a);
std::uint64_t right_recpfor(const arguments& a);
std::uint64_t right_lcs(const arguments& a);
/// How many elements are in order.
std::uint64_t right_cilksort(const arguments& a);

/// Whether the answer is the known one, which RIGHT says, or the table of trees where RIGHT is null; nothing where none
/// is known.
std::optional<bool> known_answer(right_answer right, const arguments& a, std::uint64_t result, const tree_count& found);
/// The known answer in words, for the message about a wrong one.
std::string expectation(right_answer right, const arguments& a);

/// How many times fib(n) forks: one less than fib(n + 1).
double fib_forks(std::uint64_t n);

}  // namespace tobi_bench
