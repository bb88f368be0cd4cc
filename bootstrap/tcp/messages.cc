// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/tcp/messages.hpp"

#include <algorithm>
#include <cstring>

namespace tobi::bootstrap::tcp {

namespace {

struct head {
  std::uint64_t magic;
  kind what;
  std::uint32_t words;
  std::uint64_t bytes;
};
constexpr std::uint64_t magic = 0x316d'696f'6274'6f74;  // of this version of the messages
constexpr std::size_t word_bytes = sizeof(std::uint64_t);

struct value_head {
  std::uint32_t rank;
  std::uint32_t key_bytes;
  std::uint32_t value_bytes;
};

// How many words each kind has; a fence has those of its question.
bool has_its_words(const head& h) noexcept {
  switch (h.what) {
    case kind::hello:
    case kind::refused:
      return h.words == 0;
    case kind::welcome:
      return h.words == 2;
    case kind::abort:
      return h.words == 1;
    case kind::fence:
      return true;
  }
  return false;
}

}  // namespace

reading look_at(std::string_view in, const allowance& most) noexcept {
  head h{};
  if (in.substr(0, sizeof magic) !=
      std::string_view(reinterpret_cast<const char*>(&magic), sizeof magic).substr(0, in.size()))
    return reading::foreign;
  if (in.size() < sizeof h) return reading::part;
  std::memcpy(&h, in.data(), sizeof h);
  if (!has_its_words(h) || h.words > most.words || h.bytes > most.bytes) return reading::foreign;
  // What is allowed is far from where a sum would wrap.
  return in.size() - sizeof h >= h.words * word_bytes + h.bytes ? reading::whole : reading::part;
}

message take_from(std::string& in) {
  head h{};
  std::memcpy(&h, in.data(), sizeof h);
  message m{h.what, std::vector<std::uint64_t>(h.words), {}};
  const std::size_t words = h.words * word_bytes;
  if (words != 0) std::memcpy(m.words.data(), in.data() + sizeof h, words);
  m.bytes = in.substr(sizeof h + words, h.bytes);
  in.erase(0, sizeof h + words + h.bytes);
  return m;
}

std::string to_bytes(kind what, std::span<const std::uint64_t> words, std::string_view bytes) {
  const head h{magic, what, static_cast<std::uint32_t>(words.size()), bytes.size()};
  std::string all(reinterpret_cast<const char*>(&h), sizeof h);
  all.append(reinterpret_cast<const char*>(words.data()), words.size_bytes());
  all.append(bytes);
  return all;
}

void add_value(std::string& all, int rank, std::string_view key, std::string_view value) {
  const value_head h{static_cast<std::uint32_t>(rank), static_cast<std::uint32_t>(key.size()),
                     static_cast<std::uint32_t>(value.size())};
  all.append(reinterpret_cast<const char*>(&h), sizeof h);
  all.append(key);
  all.append(value);
}

bool read_values(std::string_view all, int size,
                 const std::function<void(int rank, std::string_view key, std::string_view value)>& known) {
  while (!all.empty()) {
    value_head h{};
    if (all.size() < sizeof h) return false;
    std::memcpy(&h, all.data(), sizeof h);
    all.remove_prefix(sizeof h);
    if (h.rank >= static_cast<std::uint32_t>(size) || all.size() < std::uint64_t{h.key_bytes} + h.value_bytes)
      return false;
    known(static_cast<int>(h.rank), all.substr(0, h.key_bytes), all.substr(h.key_bytes, h.value_bytes));
    all.remove_prefix(std::size_t{h.key_bytes} + h.value_bytes);
  }
  return true;
}

}  // namespace tobi::bootstrap::tcp
