// The checkouts that this worker holds, so that a checkin that matches none is noticed. They mostly nest, so the newest
// is looked at first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tobi::pgas {

enum class access : std::uint32_t { read = 0, write = 1, read_write = 2 };

struct checkout_key {
  std::uintptr_t at;
  std::size_t bytes;
  access how;
  friend bool operator==(const checkout_key&, const checkout_key&) = default;
};

class held_checkouts {
 public:
  held_checkouts() { all_.reserve(64); }

  [[nodiscard]] bool empty() const noexcept { return all_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }
  void add(const checkout_key& k) { all_.push_back(k); }
  /// False: no such one is held.
  [[nodiscard]] bool remove(const checkout_key& k) noexcept {
    for (std::size_t i = all_.size(); i-- > 0;) {
      if (!(all_[i] == k)) continue;
      all_[i] = all_.back();
      all_.pop_back();
      return true;
    }
    return false;
  }
  /// One that begins at AT, for a message; null: there is none.
  [[nodiscard]] const checkout_key* at(std::uintptr_t at) const noexcept {
    for (const checkout_key& k : all_) {
      if (k.at == at) return &k;
    }
    return nullptr;
  }
  [[nodiscard]] const checkout_key& newest() const noexcept { return all_.back(); }

 private:
  std::vector<checkout_key> all_;
};

}  // namespace tobi::pgas
