// SPDX-License-Identifier: Apache-2.0
// What processes share of the emulated machine: a page per VCQ, by which it is found and woken, and between each two
// VCQs that speak a link of two rings. A ring has one writer and one reader, so a process that is killed in the middle
// stops nobody.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tests/emulators/utofu/options.hpp"

namespace emulated {

enum class packet_kind : std::uint8_t { put, get, armw, data, done };
enum class armw_kind : std::uint8_t { swap = 1, add, exclusive_or, and_, or_, compare };

/// Of a request: its first packet, or more of a put's data. Of a response: a get's data, or the end of a request.
struct packet {
  packet_kind kind;
  armw_kind op;
  std::uint8_t edata;
  std::uint8_t path;
  std::uint8_t width;   // of an ARMW: 4 or 8
  std::uint8_t first;   // the request begins
  std::uint16_t bytes;  // in data
  std::uint32_t flags;
  std::uint32_t request;  // the initiator's number of it
  std::uint32_t total;    // bytes of the put or get
  std::uint32_t offset;   // of data in them
  std::int32_t status;    // done: a code
  std::uint32_t unused;
  std::uint64_t at;     // the target's STADD
  std::uint64_t value;  // ARMW: the operand; done: what was found
  std::uint64_t expected;
  std::byte data[mtu];
};

struct ring {
  static constexpr std::uint64_t cells = 32;
  alignas(64) std::atomic<std::uint64_t> written;
  alignas(64) std::atomic<std::uint64_t> read;
  packet cell[cells];

  /// The cell to fill before push(), or null where the ring is full.
  [[nodiscard]] packet* room() noexcept {
    const std::uint64_t w = written.load(std::memory_order_relaxed);
    return w - read.load(std::memory_order_acquire) == cells ? nullptr : &cell[w % cells];
  }
  void push() noexcept { written.store(written.load(std::memory_order_relaxed) + 1, std::memory_order_release); }
  /// The oldest cell, until pop(), or null where the ring is empty.
  [[nodiscard]] packet* front() noexcept {
    const std::uint64_t r = read.load(std::memory_order_relaxed);
    return written.load(std::memory_order_acquire) == r ? nullptr : &cell[r % cells];
  }
  void pop() noexcept { read.store(read.load(std::memory_order_relaxed) + 1, std::memory_order_release); }
};

struct link_page {
  ring requests;
  ring responses;
};

struct vcq_page {
  static constexpr std::size_t callers_most = 1024;
  std::int32_t pid;
  std::uint64_t started;            // with pid: a process id may have been used again
  std::atomic<std::uint32_t> open;  // 0: it was freed
  std::atomic<std::uint32_t> bell;
  std::atomic<std::uint32_t> asleep;
  std::atomic<std::uint64_t> caller[callers_most];  // 1 + the VCQ id of each that has a link to here
};

}  // namespace emulated
