// SPDX-License-Identifier: Apache-2.0
// The baseline deque: Cilk's THE protocol over one-sided operations, as in the uni-address paper (figures 4 to 6, table
// 3).
//
// Every fork makes a record and pushes an entry to registered memory, every return pops it with a full fence, and a
// thief takes a lock, moves the head, looks at the tail again, copies and unlocks: an empty check and five dependent
// round trips more. It is here to be measured against. It shares the default's fork path and asks for every fork and
// return through it, which costs it a few calls that a fork path of its own would not have.
#pragma once

#include "libcore/deque/deque.hpp"
#include "libcore/deque/steal_word.hpp"
#include "libcore/deque/window.hpp"
#include "libcore/net/fabric.hpp"

namespace tobi::deque {

// Invariants, where the owner is in none of its slow paths:
//   T1  head is at most one beyond tail: a thief has the lock then, and undoes its claim. Only such a thief lowers it.
//   T2  what is there to be taken is the owner's, and none of it among the entries that thieves do not see (`kept_`).
//   T3  a slot of head .. tail-1 says which entry it holds, and where its frames begin.
//
/// What thieves of the THE deque see. head .. tail-1 are there to be taken; indices grow, slots are modulo `entries`.
struct the_area {
  static constexpr std::uint64_t entries = 1u << 16;
  // 0: free. Taken and released by compare-and-swap alone, by the owner too. The paper takes it by fetch-and-add and
  // releases it by a store: on a fabric whose atomics are atomic only among themselves, a store that falls into
  // somebody's attempt to take the lock is overwritten with the sum, and the lock is stuck.
  std::uint64_t lock;
  std::uint64_t head;
  std::uint64_t tail;
  std::uint64_t ready[ready_words];  // each a list of suspended tasks that can run, or 0: see ready.hpp
  window_slot slot[entries];
};

class the_deque final : public deque {
 public:
  the_deque(arch::hot_state& hot, std::uintptr_t* slot_memory, net::fabric& net, steal_window& window, the_area& area,
            record_source& records, std::uintptr_t stack_high, std::size_t stack_bytes) noexcept;

  [[nodiscard]] std::string_view name() const noexcept override { return "the"; }
  [[nodiscard]] counters counts() const noexcept override { return counters_; }
  void reset(std::uintptr_t base, std::uint64_t die_record) noexcept override;
  void forked() noexcept override;
  void serve(server) noexcept override {}
  void return_slowly(std::uintptr_t) noexcept override {}
  bool take_back(std::uintptr_t sp) noexcept override;
  bool pop(std::uintptr_t sp) noexcept override { return take_back(sp); }
  void push_again() noexcept override;
  [[nodiscard]] std::size_t unseen() const noexcept override { return kept_; }
  [[nodiscard]] std::size_t depth() const noexcept override { return slots_.depth(); }
  void put_back(std::size_t depth, std::span<const std::uintptr_t> entries) noexcept override {
    slots_.put_back(depth, entries);
    kept_ = entries.size();
  }
  [[nodiscard]] bool at_base() const noexcept override { return slots_.empty(); }
  [[nodiscard]] std::uintptr_t task_base() const noexcept override { return slots_.top_sp(); }
  [[nodiscard]] std::uint64_t die_record() const noexcept override { return newest_record_; }
  [[nodiscard]] bool quiet() const noexcept override;
  [[nodiscard]] std::uint64_t claimed() noexcept override;
  [[nodiscard]] std::span<std::uint64_t, ready_words> shown_lists() noexcept override { return area_.ready; }
  [[nodiscard]] steal_phase copying() const noexcept override { return steal_phase::stack_transfer; }
  trace::steal_result steal(int victim, trace::stolen& got) override;
  [[nodiscard]] sight glance(int victim) override;
  /// T1 to T3, of the youngest entries. Called by the owner.
  [[nodiscard]] bool is_valid() const noexcept;

 private:
  bool pop_tail() noexcept;
  void lock_own() noexcept;

  arch::hot_state& hot_;
  slots slots_;
  net::fabric& net_;
  net::location window_here_;
  the_area& area_;
  record_source& records_;
  std::uintptr_t stack_high_;
  std::size_t stack_bytes_;
  net::location area_here_;
  std::uint64_t newest_record_ = 0;
  std::uint64_t kept_ = 0;  // the youngest entries, which thieves do not see: record_source::keeps_entries()
  counters counters_;
  // Thief's buffers.
  std::uint64_t seen_[3 + ready_words]{};  // lock, head, tail, the lists that are ready
  list_choice choice_;
  std::uint64_t found_ = 0;
  std::uint64_t head_ = 0;
  window_slot slot_{};
  std::uint64_t busy_ = 0;
  std::uint64_t released_ = 0;  // what the unwaited release found
};

}  // namespace tobi::deque
