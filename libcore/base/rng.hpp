// SPDX-License-Identifier: Apache-2.0
// A small seeded generator (splitmix64) for choices that need to be cheap and repeatable, not secret.
#pragma once

#include <cstdint>

namespace tobi::base {

class rng {
 public:
  explicit rng(std::uint64_t seed) noexcept : state_(seed) {}

  std::uint64_t operator()() noexcept {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  /// From [0, n), n at least 1 and below 2^32, by multiplication instead of division (Lemire); the bias is below n /
  /// 2^32.
  std::uint64_t uniform(std::uint64_t n) noexcept { return ((*this)() >> 32) * n >> 32; }

 private:
  std::uint64_t state_;
};

}  // namespace tobi::base
