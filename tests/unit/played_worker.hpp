// SPDX-License-Identifier: Apache-2.0
// A worker that a test of the deques plays: its memory, and its side of fork and return, as the assembly does it. Each
// frame carries a number and a payload, so that what is popped or stolen can be looked at.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "libcore/deque/deque.hpp"
#include "libcore/deque/the_deque.hpp"
#include "libcore/deque/window.hpp"
#include "libcore/net/fabric.hpp"
#include "libcore/task/door.hpp"
#include "transports/transport.hpp"

namespace played {

using namespace tobi;

inline constexpr std::size_t stack_bytes = 1u << 20;
inline constexpr std::size_t frame_words = 24;                            // 192 bytes
inline constexpr std::size_t first_word = sizeof(arch::saved_frame) / 8;  // behind what the deque writes

// One worker's memory: what would be its heap region, its stack, and the words of its fork path.
struct place {
  struct alignas(64) region {
    deque::steal_window window{};
    deque::the_area area{};
  };
  std::unique_ptr<region> heap = std::make_unique<region>();
  std::vector<std::uint64_t> stack = std::vector<std::uint64_t>(stack_bytes / 8 + 2);
  std::vector<std::uintptr_t> slots = std::vector<std::uintptr_t>(1 << 14);
  arch::hot_state hot{};

  [[nodiscard]] std::uintptr_t low() {
    return (reinterpret_cast<std::uintptr_t>(stack.data()) + 15) & ~std::uintptr_t{15};
  }
  [[nodiscard]] std::uintptr_t high() { return low() + stack_bytes; }
};

struct no_records final : deque::record_source {
  std::uint64_t make_record() noexcept override { return 16; }
  void drop_record(std::uint64_t) noexcept override {}
};

inline net::fabric fabric_of(transports::transport& t, place& p, int rank, std::size_t ranks) {
  net::peer_keys keys{};
  keys.stack.bytes[0] = std::byte{1};
  return {
      t, rank, static_cast<int>(ranks), reinterpret_cast<std::byte*>(p.heap.get()), sizeof(place::region), [keys](int) {
        return keys;
      }};
}

// What a frame says of itself, behind what the deque writes: a word with its number and how many words it has.
inline std::uint64_t number_of(const std::uint64_t* frame) { return frame[first_word] & 0xffffffff; }
inline std::size_t words_of(const std::uint64_t* frame) { return frame[first_word] >> 32; }
inline std::uint64_t payload(std::uint64_t number, std::size_t i) { return number * 0x9e3779b97f4a7c15u + i; }

/// BYTES were popped or stolen: one of so many ENTRIES.
inline bool is_whole(const std::uint64_t* frame, std::size_t bytes, std::size_t entries) {
  const std::uint64_t number = number_of(frame);
  bool whole = number < entries && words_of(frame) * 8 == bytes;
  for (std::size_t i = first_word + 1; whole && i < bytes / 8; ++i) whole = frame[i] == payload(number, i);
  return whole;
}

// What the assembly's plain stores are on x86-64, where no store overtakes another. ThreadSanitizer wants it said.
inline constexpr auto bottom_order = std::memory_order_release;

class inside {
 public:
  explicit inside(tasks::door& d) : door_(d), was_(d.step_in()) {}
  ~inside() { door_.step_out(was_); }
  inside(const inside&) = delete;
  inside& operator=(const inside&) = delete;

 private:
  tasks::door& door_;
  bool was_;
};

// The owner's side of fork and return, as the assembly does it.
class owner {
 public:
  owner(place& p, deque::deque& d, tasks::door& door, std::vector<std::atomic<int>>& seen)
      : place_(p), deque_(d), door_(door), seen_(seen) {
    deque_.reset(place_.high(), 0);
    sp_ = place_.high();
  }

  /// A frame of WORDS words, an even number.
  void fork(std::uint64_t number, std::size_t words = frame_words) {
    sp_ -= words * 8;
    auto* frame = reinterpret_cast<std::uint64_t*>(sp_);
    frame[0] = 8;  // a handle: not null
    frame[first_word] = number | std::uint64_t{words} << 32;
    for (std::size_t i = first_word + 1; i < words; ++i) frame[i] = payload(number, i);
    std::uintptr_t* const slot = place_.hot.bottom;
    std::atomic_ref(*slot).store(sp_, std::memory_order_relaxed);
    std::atomic_ref(place_.hot.bottom).store(slot + 1, bottom_order);
    auto* bell = const_cast<std::uint64_t*>(place_.hot.doorbell);
    if (std::atomic_ref(*bell).load(std::memory_order_relaxed) == 0) return;
    const inside now(door_);
    deque_.forked();
  }

  // The innermost child returns. False: its parent is gone, and an older one that is left goes on, or all are gone and
  // the region is empty.
  bool back() {
    std::uintptr_t* const slot = place_.hot.bottom - 1;
    std::atomic_ref(place_.hot.bottom).store(slot, bottom_order);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (sp_ >= std::atomic_ref(place_.hot.split_sp).load(std::memory_order_relaxed)) {
      std::atomic_ref(place_.hot.bottom).store(slot + 1, bottom_order);
      const inside now(door_);
      if (!deque_.take_back(sp_)) {
        const std::uintptr_t older = deque_.take_older();
        while (!deque_.quiet()) std::this_thread::yield();
        if (older != 0) {
          ++gone_on_;
          sp_ = older;
          popped();
          return false;
        }
        deque_.reset(place_.high(), 0);
        sp_ = place_.high();
        return false;
      }
    }
    popped();
    return true;
  }
  [[nodiscard]] bool empty() const { return sp_ == place_.high(); }
  [[nodiscard]] std::size_t depth() const { return (place_.high() - sp_) / (frame_words * 8); }
  /// How often an older entry was left when the youngest that was shown had been taken.
  [[nodiscard]] std::uint64_t gone_on() const { return gone_on_; }

 private:
  void popped() {
    const auto* frame = reinterpret_cast<const std::uint64_t*>(sp_);
    ASSERT_TRUE(is_whole(frame, words_of(frame) * 8, seen_.size()));
    seen_[number_of(frame)].fetch_add(1);
    sp_ += words_of(frame) * 8;
  }

  place& place_;
  deque::deque& deque_;
  tasks::door& door_;
  std::vector<std::atomic<int>>& seen_;
  std::uintptr_t sp_;
  std::uint64_t gone_on_ = 0;
};

}  // namespace played
