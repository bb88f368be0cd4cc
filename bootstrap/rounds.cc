// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/rounds.hpp"

#include <algorithm>
#include <cstring>

namespace tobi::bootstrap {

namespace {

constexpr int radix = 8;

std::string name_in_round(std::string_view key, int reach) { return std::string(key) + "." + std::to_string(reach); }

}  // namespace

// Behind the round of REACH a process knows the least of itself and the 8 * REACH - 1 before it, around the end. The
// least of a word and itself is the word, so it does no harm where that is more than all.
void least_by_rounds(exchange& over, std::span<std::uint64_t> words, std::string_view key) {
  const int size = over.size();
  int reach = 1;
  do {
    const std::string name = name_in_round(key, reach);
    over.put(name, std::as_bytes(words));
    over.fence();
    for (int i = 1; i < radix && i * reach < size; ++i) {
      const std::vector<std::byte> theirs = over.get((over.rank() - i * reach + size) % size, name);
      for (std::size_t w = 0; w < words.size(); ++w) {
        std::uint64_t word = 0;
        std::memcpy(&word, theirs.data() + w * sizeof word, sizeof word);
        words[w] = std::min(words[w], word);
      }
    }
    reach *= radix;
  } while (reach < size);
}

// Behind the round of REACH the processes whose rank is a multiple of 8 * REACH have the texts of the 8 * REACH from
// their own on. The others have no more to do but fences.
std::string gather_by_rounds(exchange& over, const std::string& mine, std::string_view key) {
  const int size = over.size();
  const int rank = over.rank();
  std::string texts = mine;
  int reach = 1;
  do {
    const std::string name = reach == 1 ? std::string(key) : name_in_round(key, reach);
    const std::size_t said = rank % reach == 0 ? texts.size() : 0;  // each puts something, or the fence brings nothing
    if (reach != 1) over.put(name, std::as_bytes(std::span(texts.data(), said)));
    over.fence();
    for (int i = 1; i < radix && rank % (reach * radix) == 0 && rank + i * reach < size; ++i) {
      const std::vector<std::byte> theirs = over.get(rank + i * reach, name);
      texts.append(reinterpret_cast<const char*>(theirs.data()), theirs.size());
    }
    reach *= radix;
  } while (reach < size);
  return texts;
}

}  // namespace tobi::bootstrap
