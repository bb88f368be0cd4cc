// SPDX-License-Identifier: Apache-2.0
// What the processes that meet over TCP say to each other. A port can be reached by anybody, and another version of
// Tobiuo may be behind it: what comes in is believed only as far as it has been looked at here.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tobi::bootstrap::tcp {

enum class kind : std::uint32_t { hello, welcome, refused, fence, abort };

/// A head, then words, then bytes.
struct message {
  kind what{};
  std::vector<std::uint64_t> words;
  std::string bytes;
};

/// What a process may say. One that has not been let in says little.
struct allowance {
  std::uint32_t words = 8;  // of a question (exchange::least)
  std::uint64_t bytes = std::uint64_t{1} << 40;
};
constexpr allowance of_a_newcomer{0, 4096};

enum class reading { part, whole, foreign };

/// What IN, all that has come and was not taken, begins with: a part of a message, a whole one, or none that Tobiuo
/// sends to a process that allows MOST.
[[nodiscard]] reading look_at(std::string_view in, const allowance& most = {}) noexcept;
/// Takes the first message out of IN, which begins with a whole one.
[[nodiscard]] message take_from(std::string& in);
[[nodiscard]] std::string to_bytes(kind what, std::span<const std::uint64_t> words, std::string_view bytes);

/// What process RANK has put under KEY, as it travels with a fence. ALL is lengthened by it.
void add_value(std::string& all, int rank, std::string_view key, std::string_view value);
/// Calls KNOWN for each value in ALL; false where ALL is not made of values of ranks below SIZE.
[[nodiscard]] bool read_values(
    std::string_view all, int size,
    const std::function<void(int rank, std::string_view key, std::string_view value)>& known);

}  // namespace tobi::bootstrap::tcp
