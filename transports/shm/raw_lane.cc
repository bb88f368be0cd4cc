// SPDX-License-Identifier: Apache-2.0
// shm without the transport: the peer's memory file mapped, then memcpy and the processor's own atomics. No quicker way
// is known, so the best loops are the same.
#include <sys/mman.h>

#include <atomic>
#include <cstring>

#include "arch/cpu.hpp"
#include "tools/perf/lane.hpp"

namespace tobi_perf {

namespace {

class raw_shm_lane final : public lane {
 public:
  raw_shm_lane(const scene& s, calls by, std::byte* peer) : s_(s), by_(by), peer_(peer) {}
  ~raw_shm_lane() override { munmap(peer_, s_.where.total); }

  std::string describe() const override {
    return by_ == calls::best
               ? "the same once more: no quicker way is known"
               : "memcpy and the processor's atomics on the mapped memory; small ones overlap in the processor";
  }
  std::string unable(const work& w) const override {
    if (w.what == step::fresh && w.bytes < 8) return "fresh bytes are at least 8";
    if (w.what == step::wake) return no_raw_loop;
    return w.what == step::notify ? "a memory has no notices" : "";
  }
  void start(const work& w) override {
    ping_ = 0;
    asked_ = 0;
    *s_.word_at(layout::ask) = 0;
    // Else the number that a round of one left here would be taken for the first answer.
    if (w.what == step::fresh) *s_.word_at(layout::data) = 0;
    set_last_byte(s_.at(s_.where.data), w.bytes, 0);
  }
  bool initiate(const work& w, std::uint64_t count) override;
  void respond(const work& w, const stop_flag& stop) override;

 private:
  void copies(std::byte* to, const std::byte* from, const work& w, std::uint64_t count) noexcept;
  void swaps(std::uint64_t count, std::uint64_t bytes) noexcept;
  bool pings(std::uint64_t bytes, std::uint64_t count) noexcept;
  void asks(std::uint64_t bytes, std::uint64_t count) noexcept;
  void answer_asks(std::uint64_t bytes, const stop_flag& stop) noexcept;

  const scene& s_;
  calls by_;
  std::byte* peer_;
  std::uint8_t ping_ = 0;
  std::uint64_t asked_ = 0;
};

// The compiler must not know that the copies are all the same, or it would make one of them.
void hide() noexcept { asm volatile("" ::: "memory"); }

void raw_shm_lane::copies(std::byte* to, const std::byte* from, const work& w, std::uint64_t count) noexcept {
  const std::uint64_t places = is_window(w.what) ? layout::places(w.bytes) : 1;
  const std::uint64_t stride = layout::stride(w.bytes);
  const auto each = [&](auto copy) {
    std::uint64_t place = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
      copy(to + place * stride, from + place * stride);
      hide();
      if (++place == places) place = 0;
    }
  };
  if (w.bytes != 8) return each([&](std::byte* t, const std::byte* f) { std::memcpy(t, f, w.bytes); });
  // A word that its owner may be writing: one access.
  each([](std::byte* t, const std::byte* f) {
    auto* const from_word = const_cast<std::uint64_t*>(reinterpret_cast<const std::uint64_t*>(f));
    const std::uint64_t value = std::atomic_ref(*from_word).load(std::memory_order_acquire);
    std::atomic_ref(*reinterpret_cast<std::uint64_t*>(t)).store(value, std::memory_order_release);
  });
}

void raw_shm_lane::swaps(std::uint64_t count, std::uint64_t bytes) noexcept {
  const std::atomic_ref word(*reinterpret_cast<std::uint64_t*>(peer_ + layout::word));
  std::uint64_t* const result = s_.word_at(layout::result);
  std::uint64_t found = word.load(std::memory_order_relaxed);
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint64_t old = found;
    word.compare_exchange_strong(old, found + 1, std::memory_order_acq_rel, std::memory_order_acquire);
    found = old == found ? found + 1 : old;
    result[0] = old;
    if (bytes != 0) {
      result[1] = word.load(std::memory_order_acquire);
      std::memcpy(s_.at(s_.where.local), peer_ + layout::data, bytes);
    }
    hide();
  }
}

bool raw_shm_lane::pings(std::uint64_t bytes, std::uint64_t count) noexcept {
  std::byte* const from = s_.at(s_.where.local);
  for (std::uint64_t i = 0; i < count; ++i) {
    ping_ = after(ping_);
    set_last_byte(from, bytes, ping_);
    std::memcpy(peer_ + layout::data, from, bytes);
    hide();
    patience p(s_.limit_ns);
    while (last_byte(s_.at(layout::data), bytes) != ping_) {
      tobi::arch::pause();
      if (p.over()) return false;
    }
  }
  return true;
}

void raw_shm_lane::asks(std::uint64_t bytes, std::uint64_t count) noexcept {
  const std::atomic_ref ask(*reinterpret_cast<std::uint64_t*>(peer_ + layout::ask));
  const std::atomic_ref first(*reinterpret_cast<std::uint64_t*>(peer_ + layout::data));
  for (std::uint64_t i = 0; i < count; ++i) {
    ask.store(++asked_, std::memory_order_release);
    while (first.load(std::memory_order_acquire) != asked_) {
      tobi::arch::pause();
    }
    std::memcpy(s_.at(s_.where.local), peer_ + layout::data, bytes);
    hide();
  }
}

void raw_shm_lane::answer_asks(std::uint64_t bytes, const stop_flag& stop) noexcept {
  const std::atomic_ref ask(*s_.word_at(layout::ask));
  for (std::uint64_t next = 1;; ++next) {
    while (ask.load(std::memory_order_acquire) != next) {
      tobi::arch::pause();
      if (stop.load(std::memory_order_relaxed) != 0) return;
    }
    write_lines(s_.at(layout::data), bytes, next);
  }
}

bool raw_shm_lane::initiate(const work& w, std::uint64_t count) {
  std::byte* const there = peer_ + layout::data;
  std::byte* const here = s_.at(s_.where.local);
  switch (w.what) {
    case step::get:
    case step::get_window:
      copies(here, there, w, count);
      return true;
    case step::put:
    case step::put_window:
      copies(there, here, w, count);
      return true;
    case step::fetch_add: {
      const std::atomic_ref word(*reinterpret_cast<std::uint64_t*>(peer_ + layout::word));
      for (std::uint64_t i = 0; i < count; ++i) {
        *s_.word_at(layout::result) = word.fetch_add(1, std::memory_order_acq_rel);
        hide();
      }
      return true;
    }
    case step::compare_swap:
      swaps(count, 0);
      return true;
    case step::chain:
      swaps(count, w.bytes);
      return true;
    case step::ping_pong:
      return pings(w.bytes, count);
    case step::fresh:
      asks(w.bytes, count);
      return true;
    case step::notify:
    case step::wake:
      break;
  }
  return false;
}

void raw_shm_lane::respond(const work& w, const stop_flag& stop) {
  if (w.what == step::fresh) return answer_asks(w.bytes, stop);
  if (w.what != step::ping_pong) {
    while (stop.load(std::memory_order_relaxed) == 0) tobi::arch::pause();
    return;
  }
  std::byte* const from = s_.at(s_.where.local);
  for (std::uint8_t ping = 1;; ping = after(ping)) {
    while (last_byte(s_.at(layout::data), w.bytes) != ping) {
      tobi::arch::pause();
      if (stop.load(std::memory_order_relaxed) != 0) return;
    }
    set_last_byte(from, w.bytes, ping);
    std::memcpy(peer_ + layout::data, from, w.bytes);
    hide();
  }
}

std::unique_ptr<lane> make(const scene& s, calls by, std::string& why_not) {
  void* at = mmap(nullptr, s.where.total, PROT_READ | PROT_WRITE, MAP_SHARED, s.peer_fd, 0);
  if (s.exchange(std::string(name_of(by)) + " shm", at != MAP_FAILED) && at != MAP_FAILED) {
    return std::make_unique<raw_shm_lane>(s, by, static_cast<std::byte*>(at));
  }
  if (at != MAP_FAILED) munmap(at, s.where.total);
  why_not = "the memory of the peer cannot be mapped";
  return nullptr;
}
const raw_loop here("shm", make);

}  // namespace

}  // namespace tobi_perf
