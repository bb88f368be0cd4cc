// What is known about the right answers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tools/bench/apps/variant.hpp"
#include "tools/bench/arguments.hpp"

namespace tobi_bench {

/// Whether the answer is the known one; nothing where none is known.
std::optional<bool> known_answer(const arguments& a, std::uint64_t result, const tree_count& found);
/// The known answer in words, for the message about a wrong one.
std::string expectation(const arguments& a);

/// How many times fib(n) forks: one less than fib(n + 1).
double fib_forks(std::uint64_t n);

}  // namespace tobi_bench
