// SPDX-License-Identifier: Apache-2.0
// How the ranks of a job meet outside of the fabric, while a transport measures itself (transport::measure).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
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
  /// The bits that are set in everybody's word. Sleeps.
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
  // Rank 0 asks everybody and everybody asks rank 0: one value each, not all of them for all.
  [[nodiscard]] std::uint32_t common(std::uint32_t mine) override {
    const std::string key = "met" + std::to_string(met_++);
    through_.put(key, std::as_bytes(std::span(&mine, 1)));
    through_.fence();
    for (int r = 0; rank() == 0 && r < size(); ++r) mine &= word(through_.get(r, key));
    return word(swap(std::as_bytes(std::span(&mine, 1)), 0));
  }

 private:
  static std::uint32_t word(const std::vector<std::byte>& bytes) noexcept {
    std::uint32_t value = 0;
    std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }

  Bootstrap& through_;
  int met_ = 0;
};

}  // namespace tobi::transports
