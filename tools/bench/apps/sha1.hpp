// SPDX-License-Identifier: Apache-2.0
// SHA-1 (FIPS 180-4) of a message of up to 55 bytes, which is one block: all that the UTS benchmark's random numbers
// need.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace tobi_bench {

using sha1_digest = std::array<std::uint32_t, 5>;

/// The digest of the block, given as 16 big-endian words, padding and length included.
inline sha1_digest sha1_block(const std::array<std::uint32_t, 16>& block) noexcept {
  std::array<std::uint32_t, 16> w = block;
  std::uint32_t a = 0x67452301, b = 0xefcdab89, c = 0x98badcfe, d = 0x10325476, e = 0xc3d2e1f0;
  const auto step = [&](std::size_t t, std::uint32_t f, std::uint32_t k) {
    std::uint32_t& word = w[t & 15];
    if (t >= 16) word = std::rotl(w[(t + 13) & 15] ^ w[(t + 8) & 15] ^ w[(t + 2) & 15] ^ word, 1);
    const std::uint32_t next = std::rotl(a, 5) + f + e + k + word;
    e = d;
    d = c;
    c = std::rotl(b, 30);
    b = a;
    a = next;
  };
#pragma GCC unroll 20
  for (std::size_t t = 0; t < 20; ++t) step(t, (b & c) | (~b & d), 0x5a827999);
#pragma GCC unroll 20
  for (std::size_t t = 20; t < 40; ++t) step(t, b ^ c ^ d, 0x6ed9eba1);
#pragma GCC unroll 20
  for (std::size_t t = 40; t < 60; ++t) step(t, (b & c) | (b & d) | (c & d), 0x8f1bbcdc);
#pragma GCC unroll 20
  for (std::size_t t = 60; t < 80; ++t) step(t, b ^ c ^ d, 0xca62c1d6);
  return {0x67452301 + a, 0xefcdab89 + b, 0x98badcfe + c, 0x10325476 + d, 0xc3d2e1f0 + e};
}

/// The digest of N words (at most 13) taken as a message of 4 N bytes.
template <std::size_t N>
sha1_digest sha1_words(const std::array<std::uint32_t, N>& message) noexcept {
  static_assert(N <= 13, "one block holds 55 bytes");
  std::array<std::uint32_t, 16> block{};
  for (std::size_t i = 0; i < N; ++i) block[i] = message[i];
  block[N] = 0x80000000;
  block[15] = static_cast<std::uint32_t>(N * 32);
  return sha1_block(block);
}

}  // namespace tobi_bench
