// SPDX-License-Identifier: Apache-2.0
// Operations executed by the initiator's own CPU, for transports whose peers' memory is mapped here.
//
// Small aligned transfers move whole 64-bit words by atomic accesses, because protocols read words that their owner is
// writing and rely on none of them tearing. Order within a chain: gets acquire and puts release word by word; a get or
// an atomic that follows a put must also not overtake it (rule 1 of the contract), which takes a full fence on x86-64
// and AArch64 alike.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "transports/transport.hpp"

namespace tobi::transports {

inline constexpr std::size_t word_bytes = sizeof(std::uint64_t);
inline constexpr std::size_t by_words_max = 256;  // above this nobody relies on single words, and memcpy is faster

/// Whether O stays within a region of BYTES and keeps the alignment of atomics. Written so that nothing can wrap
/// around.
inline bool in_range(const op& o, std::uint64_t bytes, std::uint64_t put_max) noexcept {
  const bool atomic = o.kind == op_kind::fetch_add || o.kind == op_kind::compare_swap;
  const std::uint64_t size = atomic ? word_bytes : o.bytes;
  if (o.local == nullptr || (!atomic && o.bytes > put_max)) return false;
  if (atomic && o.remote % word_bytes != 0) return false;
  return bytes != 0 && size <= bytes && o.remote <= bytes - size;
}

inline bool by_words(const void* a, const void* b, std::uint64_t bytes) noexcept {
  const auto mixed = reinterpret_cast<std::uintptr_t>(a) | reinterpret_cast<std::uintptr_t>(b) | bytes;
  return bytes <= by_words_max && mixed % word_bytes == 0;
}

inline void cpu_get(std::byte* remote, void* local, std::uint64_t bytes) noexcept {
  if (!by_words(remote, local, bytes)) {
    std::memcpy(local, remote, bytes);
    std::atomic_thread_fence(std::memory_order_acquire);
    return;
  }
  auto* from = reinterpret_cast<std::uint64_t*>(remote);
  auto* to = static_cast<std::uint64_t*>(local);
  for (std::uint64_t i = 0; i < bytes / word_bytes; ++i) {
    to[i] = std::atomic_ref(from[i]).load(std::memory_order_acquire);
  }
}

inline void cpu_put(std::byte* remote, const void* local, std::uint64_t bytes) noexcept {
  if (!by_words(remote, local, bytes)) {
    if (bytes == 1) {  // a bell: read by its owner at any time
      std::atomic_ref(*remote).store(*static_cast<const std::byte*>(local), std::memory_order_release);
      return;
    }
    std::atomic_thread_fence(std::memory_order_release);
    std::memcpy(remote, local, bytes);
    return;
  }
  auto* to = reinterpret_cast<std::uint64_t*>(remote);
  const auto* from = static_cast<const std::uint64_t*>(local);
  for (std::uint64_t i = 0; i < bytes / word_bytes; ++i) {
    std::atomic_ref(to[i]).store(from[i], std::memory_order_release);
  }
}

/// What a put has stored may wait in the store buffer of this CPU, while it goes on and loads something else. A put is
/// complete (rule 2 of the contract) behind this fence: what this worker reads then is not older than what it has put.
inline void complete_puts() noexcept { std::atomic_thread_fence(std::memory_order_seq_cst); }

/// Executes a checked chain in order. BASE_OF(region) is where the region is mapped. True: complete_puts() is due
/// before the caller says that the chain is complete.
template <class BaseOf>
[[nodiscard]] bool execute(std::span<const op> ops, BaseOf base_of) noexcept {
  bool after_put = false;
  for (const op& o : ops) {
    std::byte* remote = base_of(o.region) + o.remote;
    if (o.kind != op_kind::put && after_put) {
      complete_puts();
      after_put = false;
    }
    switch (o.kind) {
      case op_kind::put:
        cpu_put(remote, o.local, o.bytes);
        after_put = true;
        break;
      case op_kind::get:
        cpu_get(remote, o.local, o.bytes);
        break;
      case op_kind::fetch_add: {
        const std::atomic_ref word(*reinterpret_cast<std::uint64_t*>(remote));
        const std::uint64_t old = word.fetch_add(o.operand, std::memory_order_acq_rel);
        std::memcpy(o.local, &old, sizeof old);
        break;
      }
      case op_kind::compare_swap: {
        const std::atomic_ref word(*reinterpret_cast<std::uint64_t*>(remote));
        std::uint64_t old = o.expected;
        const bool won =
            word.compare_exchange_strong(old, o.operand, std::memory_order_acq_rel, std::memory_order_acquire);
        std::memcpy(o.local, &old, sizeof old);
        if (!won && o.guard) return false;
        break;
      }
    }
  }
  return after_put;
}

/// The same, where it is complete at once.
template <class BaseOf>
void execute_whole(std::span<const op> ops, BaseOf base_of) noexcept {
  if (execute(ops, base_of)) complete_puts();
}

}  // namespace tobi::transports
