// SPDX-License-Identifier: Apache-2.0
// The steal word's other side: what a thief does at its victim's windows.
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <iterator>

#include "arch/clock.hpp"
#include "libcore/deque/call_attendant.hpp"
#include "libcore/deque/ready.hpp"
#include "libcore/deque/steal_word.hpp"

namespace tobi::deque {

using transports::op;

namespace {

// A ring that an owner that forks has not served by then will not be served soon.
constexpr std::uint64_t patience_ns = 20'000;
// Then its attendant needs a core for a moment, perhaps this one.
constexpr timespec moment{0, 20'000};

}  // namespace

// SHOWN: so many lists were there.
trace::steal_result steal_word::take_context(int victim, std::size_t shown, trace::stolen& got) {
  const std::size_t index = choice_.of(line_.ready, shown, net_.rank());
  const std::uint64_t at = word_here_.offset() + offsetof(steal_window, ready) + index * sizeof(std::uint64_t);
  if (!claim_list(net_, {victim, at}, line_.ready[index], got)) return trace::steal_result::lost_race;
  // There may be more of them than there are words. The owner shows them while the next thief still has one to take.
  if (shown <= 2 && line_.busy != 0 && !line_.bells.rung(bell::publish)) ring_bell(victim);
  return trace::steal_result::context;
}

// Before the bell: a thread that finds it rung finds since when. A thread of another host cannot be called; its
// attendant looks.
void steal_word::ring_bell(int victim) {
  if (std::byte* there = net_.mapped(victim); there != nullptr) {
    auto* window = reinterpret_cast<steal_window*>(there + word_here_.offset());
    atomic(window->rung_ns).store(arch::now_ns(), std::memory_order_relaxed);
    if (near_apart_) {
      window->bells.ring(bell::publish_near);
      return;
    }
  }
  const op raise = op::put(net_.heap(victim), word_here_.offset() + offsetof(steal_window, bells), &rung_value, 1);
  net_.post(victim, {&raise, 1});
}

// The bell was rung before, and nothing has come of it: calls the victim's attendant, if that is of this host and
// sleeps. True: it was called, and has had a moment.
bool steal_word::insist(int victim, bool at_once) {
  std::byte* there = net_.mapped(victim);
  if (there == nullptr) return false;
  auto* window = reinterpret_cast<steal_window*>(there + word_here_.offset());
  const auto state = std::atomic_ref(window->attendant).load(std::memory_order_relaxed);
  if (state != static_cast<std::uint32_t>(attending::asleep)) return false;
  if (!at_once && arch::now_ns() - atomic(window->rung_ns).load(std::memory_order_relaxed) < patience_ns) return false;
  if (!call_attendant(*window)) return false;
  nanosleep(&moment, nullptr);
  return true;
}

sight steal_word::glance(int victim) {
  steal_window* window = &window_;
  if (victim != net_.rank()) window = reinterpret_cast<steal_window*>(net_.mapped(victim) + word_here_.offset());
  const auto now = [](std::uint64_t& word) { return atomic(word).load(std::memory_order_relaxed); };
  const bool lists = std::any_of(std::begin(window->ready), std::end(window->ready),
                                 [&](std::uint64_t& word) { return now(word) != 0; });
  if (near_entries(*window) != 0) return sight::near_work;
  if (lists) return far_.by_cpu ? sight::work : sight::far_work;
  if (window_word::unpack(now(window->word)).size() != 0) return near_apart_ ? sight::far_work : sight::work;
  if (now(window->busy) == 0) return sight::nothing;
  const bool bare =
      std::atomic_ref(window->attendant).load(std::memory_order_relaxed) == static_cast<std::uint32_t>(attending::idle);
  return bare ? sight::leaf : sight::busy;
}

trace::steal_result steal_word::steal(int victim, trace::stolen& got) {
  std::byte* const there = near_apart_ ? net_.mapped(victim) : nullptr;
  if (there == nullptr) return attempt(victim, got, false);
  return attempt_near(*reinterpret_cast<steal_window*>(there + word_here_.offset()), victim, got, false);
}

// No operation is posted: not one of what the owner and its neighbours do to their window is the NIC's.
trace::steal_result steal_word::attempt_near(steal_window& window, int victim, trace::stolen& got, bool insisted) {
  const std::uint64_t mark = arch::cycles();
  const auto now = [](std::uint64_t& word) { return atomic(word).load(std::memory_order_relaxed); };
  std::transform(std::begin(window.ready), std::end(window.ready), std::begin(line_.ready), now);
  line_.busy = now(window.busy);
  got.of_part = (line_.busy & runs_part) != 0;
  line_.bells = window.bells.now();
  if (const std::size_t shown = lists_in(line_.ready); shown != 0) return take_context(victim, shown, got);
  if (near_entries(window) != 0) return claim_near(window, victim, got, mark);
  const bool for_others = window_word::unpack(now(window.word)).size() != 0;
  if (line_.busy == 0) return for_others ? attempt(victim, got, true) : trace::steal_result::empty;
  const bool rung_before = window.bells.rung(bell::publish_near);
  if (!rung_before) ring_bell(victim);
  if (!insisted && (rung_before || got.insists) && insist(victim, got.insists)) {
    got.trips_before = net_.round_trips();
    return attempt_near(window, victim, got, true);
  }
  if (!rung_before) return trace::steal_result::empty;
  const bool unanswered = arch::now_ns() - now(window.rung_ns) >= patience_ns;
  return for_others && unanswered ? attempt(victim, got, true) : trace::steal_result::empty;
}

trace::steal_result steal_word::claim_near(steal_window& window, int victim, trace::stolen& got, std::uint64_t mark) {
  // Acquire, here and by the claim: the entry and the frames, which stay as they are until the acknowledgement (I2).
  std::uint64_t seen = atomic(window.near.word).load(std::memory_order_acquire);
  const window_word w = window_word::unpack(seen);
  if (w.size() == 0) return trace::steal_result::lost_race;
  mark = got.spent(steal_phase::empty_check, mark);
  if (!atomic(window.near.word).compare_exchange_strong(seen, w.claimed().pack(), std::memory_order_acq_rel)) {
    return trace::steal_result::lost_race;
  }
  window_slot& slot = window.near.slot[w.top % ring];
  const window_entry entry = window_entry::unpack(atomic(slot.entry).load(std::memory_order_relaxed));
  got.ticket = atomic(slot.ticket).load(std::memory_order_relaxed);
  got.sp = stack_high_ - entry.offset;
  got.base = got.sp + entry.bytes;
  std::memcpy(reinterpret_cast<void*>(got.sp), net_.mapped_stack(victim) + (stack_bytes_ - entry.offset), entry.bytes);
  mark = got.spent(steal_phase::steal, mark);
  // Release: the copy, before the owner may write there again.
  atomic(window.near.ack[w.top % ring]).store((w.top + 1) & index_mask, std::memory_order_release);
  if (w.size() == 1) ring_bell(victim);
  got.spent(steal_phase::unlock, mark);
  return trace::steal_result::taken;
}

trace::steal_result steal_word::attempt(int victim, trace::stolen& got, bool insisted) {
  const transports::region_id heap = net_.heap(victim);
  const std::uint64_t at = word_here_.offset();  // the window has the same offset in every worker's heap region
  std::uint64_t mark = arch::cycles();
  const op look = op::get(heap, at, &line_, window_line_bytes);
  net_.post(victim, {&look, 1});
  net_.complete(victim);
  got.of_part = (line_.busy & runs_part) != 0;
  if (got.no_parts && got.of_part) return trace::steal_result::empty;

  // First what its owner has put aside: the frames of its forks it can run itself at no cost.
  if (const std::size_t shown = lists_in(line_.ready); shown != 0) return take_context(victim, shown, got);
  if (window_word::unpack(line_.word).size() != 0) return claim(victim, far_places, line_.word, line_.slot, got, mark);
  if (line_.busy == 0) return trace::steal_result::empty;
  // What a victim on another node shows to its neighbours can be claimed from here too, where the fabric's atomics
  // exclude those of the CPU. Else it is for its owner to move.
  if ((line_.busy & runs_task_apart) != 0 && far_.by_cpu && net_.mapped(victim) == nullptr) {
    const op further = op::get(heap, at + offsetof(steal_window, near), &line_.near, sizeof line_.near);
    net_.post(victim, {&further, 1});
    net_.complete(victim);
    if (window_word::unpack(line_.near.word).size() != 0) {
      return claim(victim, near_places, line_.near.word, line_.near.slot, got, mark);
    }
  }
  const bool rung_before = line_.bells.rung(bell::publish);
  if (!rung_before) ring_bell(victim);
  if (!insisted && (rung_before || got.insists) && insist(victim, got.insists)) {
    got.trips_before = net_.round_trips();
    return attempt(victim, got, true);
  }
  return trace::steal_result::empty;
}

// Takes the oldest entry of one of the victim's windows, of which WORD and SLOTS were read.
trace::steal_result steal_word::claim(int victim, const places& in, std::uint64_t word,
                                      const window_slot (&slots)[ring], trace::stolen& got, std::uint64_t mark) {
  const transports::region_id heap = net_.heap(victim);
  const std::uint64_t at = word_here_.offset();
  const window_word w = window_word::unpack(word);
  const std::uint64_t guess = slots[w.top % ring].entry;
  window_entry entry = window_entry::unpack(guess);
  if (!entry.fits(w.top, stack_bytes_)) return trace::steal_result::lost_race;

  const auto frames_of = [&](const window_entry& e) {
    return op::get(net_.stack(victim), stack_bytes_ - e.offset, reinterpret_cast<void*>(stack_high_ - e.offset),
                   e.bytes);
  };
  mark = got.spent(steal_phase::empty_check, mark);
  const op claim[] = {
      op::cas(heap, at + in.word, word, w.claimed().pack(), &found_).guarding(),
      op::get(heap, at + in.slot + w.top % ring * sizeof(window_slot), &slot_now_, sizeof slot_now_),
      frames_of(entry),
  };
  // Once the claim has been won neither the slot nor the frames change, until the acknowledgement: they need no order.
  net_.post_behind(victim, claim);
  net_.complete(victim);
  if (found_ != word) return trace::steal_result::lost_race;
  if (slot_now_.entry != guess) [[unlikely]] {
    // The line gave us W from after, and the entry from before, the owner took this index back and published it anew.
    entry = window_entry::unpack(slot_now_.entry);
    const op again = frames_of(entry);
    net_.post(victim, {&again, 1});
    net_.complete(victim);
  }

  mark = got.spent(steal_phase::steal, mark);
  ack_ = (w.top + 1) & index_mask;
  const op acknowledge = op::put(heap, at + in.ack + w.top % ring * 8, &ack_, 8);
  net_.post(victim, {&acknowledge, 1});
  // Ask for the next entry now, so that the next thief need not wait for it. That one lies in another slot, so it does
  // not matter which of the two arrives first.
  if (w.size() == 1) ring_bell(victim);
  const std::uintptr_t sp = stack_high_ - entry.offset;
  got.spent(steal_phase::unlock, mark);
  got.sp = sp;
  got.base = sp + entry.bytes;
  got.ticket = slot_now_.ticket;
  return trace::steal_result::taken;
}

}  // namespace tobi::deque
