// SPDX-License-Identifier: Apache-2.0
// TOBI_DEBUG_MIGRATE: which closures hold pointers to what a task must not touch. A fork notes them and says nothing: a
// word that looks like such a pointer may be an integer, and to read a local of main, which each process has, is right.
// When an address is touched that is protected, the report asks here whose closure led there.
//
// Kept by the thread that runs tasks, in memory that the other workers of its node map: a task may have come from them.
// The fault handler reads all of these, and allocates nothing. What another process is just writing it may read torn:
// that is a wrong name in a report, at worst, and types are followed by a process of their own (job/debug_info.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "tobi/detail/fork.hpp"

namespace tobi::tasks {

/// A closure that was forked here holds WORD, an address, at byte AT.
struct held_pointer {
  std::uintptr_t word = 0;
  const detail::task_type* type = nullptr;
  std::uint32_t at = 0;
};

class closure_watch {
 public:
  /// A run begins. Besides the region of tasks, [FROM, TO) is looked for: main's stack.
  void begin_run(std::uintptr_t from, std::uintptr_t to) noexcept {
    main_ = {from, to};
    used_ = next_ = 0;
  }
  void watch_region(std::uintptr_t from, std::uintptr_t to) noexcept { region_ = {from, to}; }

  /// A fork with the closure's four WORDS, as tobi_fork is called.
  void forked(const std::uint64_t* words, const detail::task_type& type) noexcept {
    const bool in_memory = type.closure_bytes != 0;
    const void* closure = in_memory ? reinterpret_cast<const void*>(words[0]) : words;
    const std::uint32_t bytes = in_memory ? type.closure_bytes : type.register_bytes;
    for (std::uint32_t at = 0; at + sizeof(std::uintptr_t) <= bytes; at += sizeof(std::uintptr_t)) {
      std::uintptr_t word = 0;
      std::memcpy(&word, static_cast<const std::byte*>(closure) + at, sizeof word);
      if (main_.holds(word) || region_.holds(word)) note({word, &type, at});
    }
  }

  /// The pointer nearest to ADDRESS, at or before it by less than NEAR bytes; of equal ones the latest. Its type is
  /// null where there is none.
  [[nodiscard]] held_pointer nearest(std::uintptr_t address, std::uintptr_t near) const noexcept {
    const range& within = main_.holds(address) ? main_ : region_;
    held_pointer best;
    for (std::size_t i = 0; i < used_; ++i) {
      const held_pointer& p = kept_[(next_ + kept_.size() - 1 - i) % kept_.size()];
      if (!within.holds(p.word) || address - p.word >= near) continue;
      near = address - p.word;
      best = p;
    }
    return best;
  }

 private:
  struct range {
    std::uintptr_t from = 0;
    std::uintptr_t to = 0;
    [[nodiscard]] bool holds(std::uintptr_t address) const noexcept { return address - from < to - from; }
  };

  // A loop forks the same closure again and again, so what has been noted last is not noted twice.
  void note(const held_pointer& p) noexcept {
    for (std::size_t i = 0; i < used_; ++i) {
      const held_pointer& q = kept_[i];
      if (q.word == p.word && q.type == p.type && q.at == p.at) return;
    }
    kept_[next_] = p;
    next_ = (next_ + 1) % kept_.size();
    if (used_ < kept_.size()) ++used_;
  }

  range main_;
  range region_;
  std::array<held_pointer, 128> kept_;
  std::size_t used_ = 0;
  std::size_t next_ = 0;
};

}  // namespace tobi::tasks
