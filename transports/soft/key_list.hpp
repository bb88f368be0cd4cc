// SPDX-License-Identifier: Apache-2.0
// The keys of the ranks' boards, packed: a region_key has room for any transport's, and is for the most part zeros.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

#include "transports/transport.hpp"

namespace tobi::transports::soft {

class key_list {
 public:
  explicit key_list(std::size_t ranks) : ranks_(ranks) {}

  /// How much of KEY is not zeros at its end, in whole words.
  [[nodiscard]] static std::size_t used(const region_key& key) noexcept {
    std::size_t n = key.bytes.size();
    while (n > 0 && key.bytes[n - 1] == std::byte{0}) --n;
    return (n + word - 1) / word * word;
  }

  void set(std::size_t rank, const region_key& key) {
    if (const std::size_t n = used(key); n > each_) make_room(n);
    if (each_ != 0) std::memcpy(at(rank), key.bytes.data(), each_);
  }
  [[nodiscard]] region_key of(std::size_t rank) const noexcept {
    region_key key;
    if (each_ != 0) std::memcpy(key.bytes.data(), packed_.data() + rank * each_, each_);
    return key;
  }

 private:
  static constexpr std::size_t word = 8;
  [[nodiscard]] std::byte* at(std::size_t rank) noexcept { return packed_.data() + rank * each_; }
  // Once: the keys of a transport are of one length, but for an end that happens to be zeros.
  void make_room(std::size_t bytes) {
    std::vector<std::byte> wider(ranks_ * bytes);
    for (std::size_t r = 0; each_ != 0 && r < ranks_; ++r) std::memcpy(wider.data() + r * bytes, at(r), each_);
    packed_ = std::move(wider);
    each_ = bytes;
  }

  std::size_t ranks_;
  std::size_t each_ = 0;  // bytes of a key
  std::vector<std::byte> packed_;
};

}  // namespace tobi::transports::soft
