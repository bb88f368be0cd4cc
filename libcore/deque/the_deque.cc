// SPDX-License-Identifier: Apache-2.0
#include "libcore/deque/the_deque.hpp"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <string>

#include "libcore/base/invariants.hpp"
#include "libcore/base/log.hpp"

namespace tobi::deque {

using transports::op;

namespace {

op get_op(transports::region_id region, std::uint64_t at, void* to, std::uint64_t bytes) noexcept {
  return op::get(region, at, to, bytes);
}
op put_op(transports::region_id region, std::uint64_t at, std::uint64_t& from) noexcept {
  return op::put(region, at, &from, sizeof from);
}

}  // namespace

the_deque::the_deque(arch::hot_state& hot, std::uintptr_t* slot_memory, net::fabric& net, steal_window& window,
                     the_area& area, record_source& records, std::uintptr_t stack_high,
                     std::size_t stack_bytes) noexcept
    : hot_(hot),
      slots_(hot, slot_memory),
      net_(net),
      window_here_(net.here(&window)),
      area_(area),
      records_(records),
      stack_high_(stack_high),
      stack_bytes_(stack_bytes),
      area_here_(net.here(&area)) {
  clear_window(window);
  // Every fork is to be seen; reset() does the same for every return.
  window.bells.ring(bell::sticky);
  hot_.doorbell = window.bells.word();
}

void the_deque::reset(std::uintptr_t base, std::uint64_t die_record) noexcept {
  slots_.clear(base);
  hot_.split_sp = 0;
  newest_record_ = die_record;
  kept_ = 0;
}

void the_deque::forked() noexcept {
  if (kept_ != 0 || records_.keeps_entries()) [[unlikely]] {
    ++kept_;
    return;
  }
  const std::uintptr_t sp = hot_.bottom[-1];
  auto* frame = reinterpret_cast<arch::saved_frame*>(sp);
  frame->record = 0;
  if (frame->handle != nullptr) {
    frame->record = records_.make_record();
    if (frame->record == 0)
      base::fatal("the registered heap is full: no room for a join record; raise TOBI_HEAP_SIZE.");
  }
  frame->die_record = newest_record_;
  frame->finish = records_.finish_at(sp);
  newest_record_ = frame->record;
  const std::uint64_t tail = area_.tail;
  // A thief that is about to undo its claim may have put the head beyond the tail: the difference is signed.
  if (static_cast<std::int64_t>(tail - atomic(area_.head).load(std::memory_order_relaxed)) >=
      static_cast<std::int64_t>(the_area::entries)) {
    base::fatal("more than " + std::to_string(the_area::entries) +
                " forks are nested on one worker, which the THE deque cannot hold; use TOBI_DEQUE=steal_word.");
  }
  const window_entry entry{tail, entry_kind::in_place, hot_.bottom[-2] - sp, stack_high_ - sp};
  window_slot& shown = area_.slot[tail % the_area::entries];
  shown.ticket = records_.release_ticket();
  atomic(shown.entry).store(entry.pack(), std::memory_order_relaxed);
  // Release: the entry, its ticket and its frame are there before the tail says so.
  atomic(area_.tail).store(tail + 1, std::memory_order_release);
  ++counters_.published;
  base::expect_valid(*this);
}

void the_deque::lock_own() noexcept {
  // The thief's release of the lock may be an operation that only our own progress executes.
  for (unsigned spins = 0; net_.compare_swap(area_here_, 0, 1) != 0;) net_.wait(spins);
}

// THE, the owner's pop: lower the tail, then look at the head; only a conflict needs the lock.
bool the_deque::pop_tail() noexcept {
  const std::uint64_t tail = area_.tail - 1;
  atomic(area_.tail).store(tail, std::memory_order_relaxed);
  // Dekker: our store of the tail before our load of the head, as the thief's put of the head before its get of the
  // tail.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (static_cast<std::int64_t>(tail - atomic(area_.head).load(std::memory_order_acquire)) >= 0) return true;
  atomic(area_.tail).store(tail + 1, std::memory_order_relaxed);
  lock_own();
  const bool mine = static_cast<std::int64_t>(tail - atomic(area_.head).load(std::memory_order_acquire)) >= 0;
  if (mine) atomic(area_.tail).store(tail, std::memory_order_relaxed);
  net_.compare_swap(area_here_, 1, 0);
  return mine;
}

bool the_deque::take_back(std::uintptr_t sp) noexcept {
  if (kept_ != 0) [[unlikely]] {
    --kept_;
    --hot_.bottom;
    return true;
  }
  if (!pop_tail()) return false;
  const auto* frame = reinterpret_cast<const arch::saved_frame*>(sp);
  if (frame->record != 0) records_.drop_record(frame->record);
  newest_record_ = frame->die_record;
  --hot_.bottom;
  ++counters_.taken_back;
  base::expect_valid(*this);
  return true;
}

void the_deque::push_again() noexcept {
  ++hot_.bottom;
  forked();
}

bool the_deque::is_valid() const noexcept {
  constexpr std::int64_t looked_at = 8;
  const std::uint64_t tail = area_.tail;
  const auto shown = static_cast<std::int64_t>(tail - atomic(area_.head).load(std::memory_order_acquire));
  if (!base::holds("T1: the head is at most one beyond the tail", shown >= -1)) return false;
  const std::int64_t own = hot_.bottom - slots_.first() - static_cast<std::int64_t>(kept_);
  if (!base::holds("T2: what thieves may take is the owner's", shown <= std::max<std::int64_t>(own, 0))) return false;
  for (std::int64_t i = 1; i <= std::min(shown, looked_at); ++i) {
    const std::uint64_t index = tail - static_cast<std::uint64_t>(i);
    const std::uintptr_t sp = hot_.bottom[-i - static_cast<std::int64_t>(kept_)];
    const window_entry says =
        window_entry::unpack(atomic(area_.slot[index % the_area::entries].entry).load(std::memory_order_relaxed));
    if (!base::holds("T3: a slot says which entry it holds, and where its frames begin",
                     says.fits(index, stack_bytes_) && says.offset == stack_high_ - sp)) {
      return false;
    }
  }
  return true;
}

bool the_deque::quiet() const noexcept {
  // A thief holds the lock until it has copied. Acquire: its reads lie before what we do to the frames.
  return atomic(area_.lock).load(std::memory_order_acquire) == 0;
}

// Under the lock: a thief that finds nothing has the head one too far until it has undone that.
std::uint64_t the_deque::claimed() noexcept {
  lock_own();
  const std::uint64_t head = atomic(area_.head).load(std::memory_order_acquire);
  net_.compare_swap(area_here_, 1, 0);
  return head;
}

// Figure 6 and table 3: empty check, lock, steal (two reads and a write), stack transfer, unlock.
trace::steal_result the_deque::steal(int victim, trace::stolen& got) {
  const transports::region_id heap = net_.heap(victim);
  const std::uint64_t at = area_here_.offset();
  const std::uint64_t lock_at = at + offsetof(the_area, lock);
  const std::uint64_t head_at = at + offsetof(the_area, head);
  const auto round_trip = [&](std::span<const op> ops) {
    net_.post(victim, ops);
    net_.complete(victim);
  };
  const op unlock = op::cas(heap, lock_at, 1, 0, &released_);

  std::uint64_t mark = arch::cycles();
  // The paper's thief reads no such word: what is taken where it does not matter is not known to be of a part.
  if (got.no_parts) {
    const op ask = get_op(heap, window_here_.offset() + offsetof(steal_window, busy), &busy_, sizeof busy_);
    round_trip({&ask, 1});
    got.of_part = (busy_ & runs_part) != 0;
    if (got.of_part) return trace::steal_result::empty;
  }
  const op look = get_op(heap, at, seen_, sizeof seen_);
  round_trip({&look, 1});
  const std::span<const std::uint64_t, ready_words> ready(&seen_[3], ready_words);
  if (const std::size_t shown = lists_in(ready); shown != 0) {
    const std::size_t index = choice_.of(ready, shown, net_.rank());
    const net::location word{victim, at + offsetof(the_area, ready) + index * sizeof(std::uint64_t)};
    return claim_list(net_, word, ready[index], got) ? trace::steal_result::context : trace::steal_result::lost_race;
  }
  if (static_cast<std::int64_t>(seen_[2] - seen_[1]) <= 0) return trace::steal_result::empty;
  if (seen_[0] != 0) return trace::steal_result::lost_race;

  mark = got.spent(steal_phase::empty_check, mark);
  const op lock = op::cas(heap, lock_at, 0, 1, &found_);
  round_trip({&lock, 1});
  if (found_ != 0) return trace::steal_result::lost_race;
  mark = got.spent(steal_phase::lock, mark);

  round_trip({&look, 1});
  head_ = seen_[1] + 1;
  const op claim[] = {put_op(heap, head_at, head_), get_op(heap, at + offsetof(the_area, tail), &seen_[2], 8)};
  round_trip(claim);
  if (static_cast<std::int64_t>(seen_[2] - head_) < 0) {
    head_ = seen_[1];
    const op undo[] = {put_op(heap, head_at, head_), unlock};
    round_trip(undo);
    return trace::steal_result::lost_race;
  }

  const std::uint64_t slot = seen_[1] % the_area::entries;
  const op fetch = get_op(heap, at + offsetof(the_area, slot) + slot * sizeof(window_slot), &slot_, sizeof slot_);
  round_trip({&fetch, 1});
  const window_entry entry = window_entry::unpack(slot_.entry);
  const std::uintptr_t sp = stack_high_ - entry.offset;
  mark = got.spent(steal_phase::steal, mark);
  const op copy = get_op(net_.stack(victim), stack_bytes_ - entry.offset, reinterpret_cast<void*>(sp), entry.bytes);
  round_trip({&copy, 1});
  mark = got.spent(steal_phase::stack_transfer, mark);
  net_.post(victim, {&unlock, 1});
  got.spent(steal_phase::unlock, mark);
  got.sp = sp;
  got.base = sp + entry.bytes;
  got.ticket = slot_.ticket;
  return trace::steal_result::taken;
}

sight the_deque::glance(int victim) {
  std::byte* there =
      victim == net_.rank() ? reinterpret_cast<std::byte*>(&area_) - area_here_.offset() : net_.mapped(victim);
  const auto now = [](std::uint64_t& word) { return atomic(word).load(std::memory_order_relaxed); };
  auto* area = reinterpret_cast<the_area*>(there + area_here_.offset());
  const bool lists =
      std::any_of(std::begin(area->ready), std::end(area->ready), [&](std::uint64_t& word) { return now(word) != 0; });
  if (lists || static_cast<std::int64_t>(now(area->tail) - now(area->head)) > 0) return sight::work;
  auto* window = reinterpret_cast<steal_window*>(there + window_here_.offset());
  return now(window->busy) != 0 ? sight::busy : sight::nothing;
}

}  // namespace tobi::deque
