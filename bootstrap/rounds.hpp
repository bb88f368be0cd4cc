// SPDX-License-Identifier: Apache-2.0
// What the processes of a launcher find out together by its puts, gets and fences alone, without anybody reading a
// value of each: the least of what all say, and what all say at process 0.
//
// For the least they disseminate: in each round one reads what seven others have put, 1 to 7 times as far before it as
// the last round reached, and puts the least of it for the next. After log8 of their number rounds each knows the least
// of all: 6 rounds and 42 values for 100,000 processes, one round and at most 7 values for up to 8.
//
// A round ends with a fence. A get that waits for what has not been put yet would need no fence, and a tree instead of
// dissemination; but what PMIx returns there depends on the launcher: a server asked for a process's values hands out
// those that it has committed so far, and the key that comes later is "not found", as its authors say.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "bootstrap/bootstrap.hpp"

namespace tobi::bootstrap {

/// exchange::least() of OVER. KEY is one that nobody has put yet.
void least_by_rounds(exchange& over, std::span<std::uint64_t> words, std::string_view key);

/// At process 0 the texts of all, by rank, one behind the other; elsewhere some of them. A tree of eights: 7 values per
/// round, and each text is read once per round. Every process has put its own, MINE, under KEY since the last fence.
[[nodiscard]] std::string gather_by_rounds(exchange& over, const std::string& mine, std::string_view key);

}  // namespace tobi::bootstrap
