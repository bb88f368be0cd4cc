// SPDX-License-Identifier: Apache-2.0
// How the ranks of a job meet outside of the fabric, while a transport measures itself (transport::measure).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace tobi::transports {

class meeting {
 public:
  virtual ~meeting() = default;
  [[nodiscard]] virtual int rank() const noexcept = 0;
  /// How many ranks take part, from 0 on. A transport may have more: those of threads.
  [[nodiscard]] virtual int size() const noexcept = 0;
  /// Returns when all ranks have called it. MOVE is called meanwhile where that can be done; without it this rank
  /// sleeps, and touches no fabric.
  virtual void wait(const std::function<void()>& move) = 0;
  /// What RANK has given; everybody gives something. Sleeps.
  [[nodiscard]] virtual std::vector<std::byte> swap(std::span<const std::byte> mine, int rank) = 0;
  /// The bits, of eight, that are set in everybody's word. Sleeps.
  [[nodiscard]] virtual std::uint32_t common(std::uint32_t mine) = 0;
};

/// Over a bootstrap, which this layer does not know. It calls nothing while it waits, before and after.
template <class Bootstrap>
class meeting_over final : public meeting {
 public:
  explicit meeting_over(Bootstrap& through) : through_(through) { through_.while_waiting(nullptr); }

  [[nodiscard]] int rank() const noexcept override { return through_.rank(); }
  [[nodiscard]] int size() const noexcept override { return through_.size(); }
  void wait(const std::function<void()>& move) override {
    through_.while_waiting(move);
    through_.fence();
    through_.while_waiting(nullptr);
  }
  [[nodiscard]] std::vector<std::byte> swap(std::span<const std::byte> mine, int rank) override {
    const std::string key = "met" + std::to_string(met_++);
    through_.put(key, mine);
    through_.fence();
    return through_.get(rank, key);
  }
  // A bit that is set in all words is the least of them. No rank reads the word of every other one.
  [[nodiscard]] std::uint32_t common(std::uint32_t mine) override {
    std::array<std::uint64_t, 8> bits{};
    for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = mine >> i & 1;
    through_.least(bits);
    std::uint32_t all = 0;
    for (std::size_t i = 0; i < bits.size(); ++i) all |= static_cast<std::uint32_t>(bits[i] << i);
    return all;
  }

 private:
  Bootstrap& through_;
  int met_ = 0;
};

}  // namespace tobi::transports
