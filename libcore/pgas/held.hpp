// SPDX-License-Identifier: Apache-2.0
// The checkouts that this worker holds, so that a checkin that matches none is noticed. They mostly nest, so the newest
// is looked at first. Those of memory that is used as it stands are noted by the header itself, in place
// (tobi::detail::plain_memory). They are apart: the attendant looks at what is held of the cache while its worker
// computes, and while the header notes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tobi/detail/global.hpp"

namespace tobi::pgas {

/// `update`: no checkout, but what a watch is shown of an update (updates.hpp). `get` and `put`: no checkouts, but held
/// likewise, until they are waited for.
enum class access : std::uint32_t { read = 0, write = 1, read_write = 2, update = 3, get = 4, put = 5 };

struct checkout_key {
  std::uintptr_t at;
  std::size_t bytes;
  access how;
  friend bool operator==(const checkout_key&, const checkout_key&) = default;
};

class held_checkouts {
 public:
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  /// Whether one more fits; otherwise grow() first.
  [[nodiscard]] bool has_room() const noexcept { return count_ != limit_; }
  void grow() { room_.resize(limit_ *= 2); }
  void add(const checkout_key& k) noexcept { room_[count_++] = k; }
  /// False: no such one is held.
  [[nodiscard]] bool remove(const checkout_key& k) noexcept {
    // Compared where it lies: to copy what was stored a moment ago, and in other pieces, stalls.
    if (count_ != 0 && room_[count_ - 1] == k) [[likely]] {
      --count_;
      return true;
    }
    return remove_older(k);
  }
  /// The oldest for which IS_IT(key) is true.
  template <class F>
  [[nodiscard]] std::optional<checkout_key> find(F is_it) const {
    const auto found = std::find_if(all().begin(), all().end(), is_it);
    return found == all().end() ? std::nullopt : std::optional(*found);
  }
  [[nodiscard]] std::span<const checkout_key> all() const noexcept { return std::span(room_).first(count_); }
  [[nodiscard]] const checkout_key& newest() const noexcept { return room_[count_ - 1]; }

 private:
  [[gnu::noinline]] bool remove_older(const checkout_key& k) noexcept {
    for (std::size_t i = count_; i-- > 0;) {
      if (room_[i] != k) continue;
      room_[i] = room_[--count_];
      return true;
    }
    return false;
  }

  std::size_t limit_ = 64;
  std::vector<checkout_key> room_ = std::vector<checkout_key>(limit_);
  std::size_t count_ = 0;
};

/// Those in place. The worker's thread alone calls these.
namespace in_place {

[[nodiscard]] inline bool none() noexcept { return detail::tobi_plain_memory.holds == 0; }
[[nodiscard]] inline checkout_key key_of(const detail::held_range& r) noexcept {
  return {r.at, r.bytes, static_cast<access>(r.how)};
}
/// The newest for which IS_IT(key) is true.
template <class F>
[[nodiscard]] std::optional<checkout_key> find(F is_it) {
  const detail::plain_memory& all = detail::tobi_plain_memory;
  for (std::uint32_t i = all.holds; i-- > 0;) {
    if (const checkout_key k = key_of(all.held[i]); is_it(k)) return k;
  }
  return std::nullopt;
}
/// False: no such one is held in place.
[[nodiscard]] inline bool remove(const checkout_key& k) noexcept {
  detail::plain_memory& all = detail::tobi_plain_memory;
  for (std::uint32_t i = all.holds; i-- > 0;) {
    if (key_of(all.held[i]) != k) continue;
    all.held[i] = all.held[--all.holds];
    return true;
  }
  return false;
}

}  // namespace in_place

}  // namespace tobi::pgas
