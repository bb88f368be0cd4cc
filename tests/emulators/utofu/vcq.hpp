// SPDX-License-Identifier: Apache-2.0
// A VCQ of this process: its three queues and its registrations, which the program and the emulated device share; and
// the device, a thread per VCQ (nic.hpp).
#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "tests/emulators/utofu/machine.hpp"

namespace emulated {

/// Where a put's data is; `nothing`: utofu_nop.
enum class descriptor_body : std::uint8_t { memory, piggyback, nothing };

/// What utofu_prepare_*() makes: 64 bytes at most, a piggyback's data included.
struct descriptor {
  static constexpr std::uint16_t sound = 0x7f0f;
  std::uint16_t mark = 0;  // `sound`: prepare made it
  packet_kind kind = packet_kind::put;
  armw_kind op = armw_kind::swap;
  std::uint8_t edata = 0;
  std::uint8_t path = 0;
  std::uint8_t width = 0;
  descriptor_body body = descriptor_body::memory;
  std::uint32_t flags = 0;
  std::uint32_t bytes = 0;
  utofu::vcq_id to = 0;
  utofu::stadd remote = 0;
  union {
    utofu::stadd local = 0;
    struct {
      std::uint64_t value, expected;
    } operand;
    std::byte data[32];
  };
};
constexpr std::size_t descriptor_bytes = sizeof(descriptor);
static_assert(descriptor_bytes <= 64 && descriptor_bytes % 8 == 0);

class nic;

class vcq {
 public:
  vcq(utofu::vcq_id id, vcq_page* page, unsigned long flags);
  ~vcq();
  vcq(const vcq&) = delete;
  vcq& operator=(const vcq&) = delete;

  [[nodiscard]] utofu::vcq_id id() const noexcept { return id_; }
  [[nodiscard]] vcq_page& page() const noexcept { return *page_; }
  [[nodiscard]] std::uint64_t seed() const noexcept { return in_force().seed * 0x9e3779b97f4a7c15u ^ id_; }

  /// A call of the program begins and ends: two at a time are a breach unless the VCQ is THREAD_SAFE.
  class call {
   public:
    call(vcq& of, const char* name);
    ~call();
    call(const call&) = delete;
    call& operator=(const call&) = delete;

   private:
    vcq& of_;
  };

  // --- for the program
  int post(const descriptor* all, std::size_t count, void* cbdata);
  int poll_tcq(void** cbdata);
  int poll_mrq(utofu::mrq_notice* notice);
  [[nodiscard]] std::size_t unread_tcq();
  [[nodiscard]] std::size_t unread_mrq();
  /// STAG below the reserved ones, or -1 for any.
  int register_memory(void* at, std::size_t bytes, int stag, unsigned long flags, utofu::stadd* out);
  int deregister_memory(utofu::stadd at);
  [[nodiscard]] bool registered(utofu::stadd at, std::size_t bytes);

  // --- for the device
  struct posted {
    descriptor d;
    void* cbdata;
  };
  bool take_posted(posted& into);
  /// A request has left, or never will: CODE. Where nobody is told of that the TOQ's entry is free again.
  void left(const posted& p, int status);
  void notice(int status, const utofu::mrq_notice& n);
  /// Calls USE with the memory of [at, at + bytes) while it stays registered. False: it is not.
  template <class Use>
  bool with_memory(utofu::stadd at, std::size_t bytes, bool writes, Use use) {
    const std::lock_guard hold(regions_lock_);
    std::byte* memory = find(at, bytes, writes);
    if (memory != nullptr) use(memory);
    return memory != nullptr;
  }

 private:
  struct region {
    std::byte* base;
    std::size_t bytes;
    bool read_only;
  };
  struct tcq_entry {
    int status;
    void* cbdata;
  };
  struct mrq_entry {
    int status;
    utofu::mrq_notice notice;
  };
  [[nodiscard]] std::byte* find(utofu::stadd at, std::size_t bytes, bool writes) const noexcept;

  utofu::vcq_id id_;
  vcq_page* page_;
  bool thread_safe_;
  std::atomic<int> inside_{0};
  std::mutex queues_lock_;
  std::deque<posted> toq_;
  std::size_t toq_used_ = 0;  // entries that are not free: posted, and not polled from the TCQ
  std::deque<tcq_entry> tcq_;
  std::deque<mrq_entry> mrq_;
  std::atomic<std::size_t> tcq_count_{0};
  std::atomic<std::size_t> mrq_count_{0};
  std::mutex regions_lock_;
  std::map<std::uint64_t, region> regions_;  // by STAG
  std::uint64_t next_stag_;
  std::atomic<bool> stop_{false};
  std::unique_ptr<nic> nic_;
  std::thread device_;
};

// A STADD: the STAG, and 38 bits of offset that begin at the address modulo a line, so that alignment is the address's.
inline constexpr unsigned stag_at = 38;
inline constexpr unsigned reserved_stags = 256;

}  // namespace emulated
