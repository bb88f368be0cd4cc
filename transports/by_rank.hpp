// SPDX-License-Identifier: Apache-2.0
// What a worker keeps of each other rank, made when that rank is first used: of a hundred thousand ranks a worker talks
// to some hundreds. Until then a rank costs four bytes here, which nobody has touched. What is needed of all ranks is
// in a base::per_rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <memory>
#include <new>

#include "libcore/base/no_memory.hpp"

namespace tobi::transports {

template <class T>
class by_rank {
 public:
  explicit by_rank(std::size_t ranks = 0) { resize(ranks); }

  /// Before the first use. New memory is zero already, and its pages exist only from their first use on: no vector.
  void resize(std::size_t ranks) {
    made_.clear();
    place_.reset(ranks == 0 ? nullptr : static_cast<std::uint32_t*>(std::calloc(ranks, sizeof(std::uint32_t))));
    if (ranks != 0 && place_ == nullptr) throw std::bad_alloc();
    ranks_ = ranks;
  }
  [[nodiscard]] std::size_t ranks() const noexcept { return ranks_; }

  /// Null where RANK was never used.
  [[nodiscard]] T* find(int rank) noexcept {
    const std::uint32_t at = place_[static_cast<std::size_t>(rank)];
    return at == 0 ? nullptr : &made_[at - 1];
  }
  [[nodiscard]] const T* find(int rank) const noexcept {
    const std::uint32_t at = place_[static_cast<std::size_t>(rank)];
    return at == 0 ? nullptr : &made_[at - 1];
  }
  /// Made now, if this is the first use of RANK. It stays where it is. Without memory the job ends with a sentence:
  /// posts cannot throw.
  [[nodiscard]] T& of(int rank) noexcept {
    std::uint32_t& at = place_[static_cast<std::size_t>(rank)];
    if (at == 0) [[unlikely]]
      make(at);
    return made_[at - 1];
  }

  /// All that were made.
  [[nodiscard]] auto begin() const noexcept { return made_.begin(); }
  [[nodiscard]] auto end() const noexcept { return made_.end(); }

 private:
  void make(std::uint32_t& at) noexcept {
    try {
      made_.emplace_back();
    } catch (const std::bad_alloc&) {
      base::no_memory();
    }
    at = static_cast<std::uint32_t>(made_.size());
  }
  struct give_back {
    void operator()(std::uint32_t* at) const noexcept { std::free(at); }
  };
  std::size_t ranks_ = 0;
  std::unique_ptr<std::uint32_t[], give_back> place_;  // 0: not made; else 1 + its place among those that were
  std::deque<T> made_;
};

}  // namespace tobi::transports
