// SPDX-License-Identifier: Apache-2.0
#include "libcore/job/card.hpp"

#include <cstring>

#include "libcore/base/log.hpp"

namespace tobi::job {

namespace {

std::uint8_t used_bytes(const transports::region_key& key) noexcept {
  static_assert(sizeof key.bytes < 256);
  std::size_t n = key.bytes.size();
  while (n > 0 && key.bytes[n - 1] == std::byte{0}) --n;
  return static_cast<std::uint8_t>(n);
}

}  // namespace

// The core, the lengths of both keys, the keys.
std::vector<std::byte> to_bytes(const rank_card& card) {
  const std::uint8_t lengths[] = {used_bytes(card.keys.heap), used_bytes(card.keys.stack)};
  std::vector<std::byte> bytes(sizeof card.core + sizeof lengths + lengths[0] + lengths[1]);
  std::byte* to = bytes.data();
  const auto add = [&to](const void* from, std::size_t n) {
    if (n != 0) std::memcpy(to, from, n);
    to += n;
  };
  add(&card.core, sizeof card.core);
  add(lengths, sizeof lengths);
  add(card.keys.heap.bytes.data(), lengths[0]);
  add(card.keys.stack.bytes.data(), lengths[1]);
  return bytes;
}

rank_card card_from(std::span<const std::byte> bytes) {
  rank_card card{};
  std::uint8_t lengths[2] = {};
  const std::size_t head = sizeof card.core + sizeof lengths;
  TOBI_ASSERT(bytes.size() >= head, "all workers run the same program");
  std::memcpy(&card.core, bytes.data(), sizeof card.core);
  std::memcpy(lengths, bytes.data() + sizeof card.core, sizeof lengths);
  TOBI_ASSERT(bytes.size() == head + lengths[0] + lengths[1], "all workers run the same program");
  std::memcpy(card.keys.heap.bytes.data(), bytes.data() + head, lengths[0]);
  std::memcpy(card.keys.stack.bytes.data(), bytes.data() + head + lengths[0], lengths[1]);
  return card;
}

// Of each run: its first number, how many there are, and the step.
std::vector<std::int32_t> as_runs(const std::vector<std::int32_t>& numbers) {
  std::vector<std::int32_t> runs;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t n = 1;
    const std::int32_t step = i + 1 < numbers.size() ? numbers[i + 1] - numbers[i] : 0;
    while (i + n < numbers.size() && numbers[i + n] - numbers[i + n - 1] == step) ++n;
    runs.insert(runs.end(), {numbers[i], static_cast<std::int32_t>(n), step});
    i += n;
  }
  return runs;
}

std::vector<std::int32_t> from_runs(const std::vector<std::int32_t>& runs) {
  std::vector<std::int32_t> numbers;
  for (std::size_t i = 0; i + 2 < runs.size(); i += 3) {
    for (std::int32_t k = 0; k < runs[i + 1]; ++k) numbers.push_back(runs[i] + k * runs[i + 2]);
  }
  return numbers;
}

}  // namespace tobi::job
