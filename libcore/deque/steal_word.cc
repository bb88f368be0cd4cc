// SPDX-License-Identifier: Apache-2.0
#include "libcore/deque/steal_word.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <limits>
#include <utility>

#include "arch/heavy_fence.hpp"
#include "libcore/base/invariants.hpp"
#include "libcore/trace/trace.hpp"

namespace tobi::deque {

namespace {

// How many entries are shown when a thief asks. The oldest ones are the largest; more in the window means fewer rings
// of the bell, and more to take back when nobody comes. The owner, which meets the next ring within a fork, shows what
// serves one thief and has the next one's work ready; the attendant may not come by again soon.
constexpr std::uint64_t owner_shows = 2;
constexpr std::uint64_t attendant_shows = ring;
// A task that has just begun shows what it forks first: the thief that stole it was not the only idle worker.
constexpr unsigned eager_forks = 4;

// One entry for each doubling of the nodes: the oldest is half of a balanced tree. More would leave too little for the
// root's own node.
constexpr std::uint64_t far_shares(std::size_t nodes) noexcept {
  return std::min<std::uint64_t>(static_cast<std::uint64_t>(std::bit_width(nodes - 1)), eager_forks - 1);
}

constexpr std::uintptr_t no_address = std::numeric_limits<std::uintptr_t>::max();

}  // namespace

steal_word::steal_word(arch::hot_state& hot, std::uintptr_t* slot_memory, net::fabric& net, steal_window& window,
                       record_source& records, std::uintptr_t stack_high, std::size_t stack_bytes, bool thieves,
                       std::size_t nodes) noexcept
    : hot_(hot),
      slots_(hot, slot_memory),
      net_(net),
      window_(window),
      records_(records),
      stack_high_(stack_high),
      stack_bytes_(stack_bytes),
      word_here_(net.here(&window.word)),
      near_apart_(nodes > 1),
      root_far_first_(far_shares(nodes)),
      far_{&window.word, window.slot, window.ack, bell::publish, net.host_atomics()},
      near_{&window.near.word, window.near.slot, window.near.ack, bell::publish_near, true},
      split_(slots_.first()),
      slow_from_(no_address),
      thieves_(thieves) {
  clear_window(window_);
  hot_.doorbell = window_.bells.word();
}

std::uint64_t steal_word::load_word(const face& in) const noexcept {
  // Acquire: after a claim was seen here, what the thief did before it (its acknowledgements) is seen too.
  return atomic(*in.word).load(std::memory_order_acquire);
}

std::uint64_t steal_word::shown(const face& in) const noexcept { return window_word::unpack(load_word(in)).size(); }

// Where it fails SEEN is what the word was. It is not loaded again: a load might still find the old one where the
// device has changed the word, for a thief that does not know yet that it has won.
bool steal_word::change_word(const face& in, std::uint64_t& seen, window_word wanted) noexcept {
  if (in.by_cpu) {
    // Acquire where it fails too: SEEN is then what load_word() would have returned.
    return atomic(*in.word).compare_exchange_strong(seen, wanted.pack(), std::memory_order_acq_rel,
                                                    std::memory_order_acquire);
  }
  const std::uint64_t found = net_.compare_swap(net_.here(in.word), seen, wanted.pack());
  return std::exchange(seen, found) == found;
}

bool steal_word::acknowledged(const face& in, std::uint64_t index) const noexcept {
  // Acquire: the thief's reads of the frames and of the slot lie before what the owner does to them next.
  return atomic(in.ack[index % ring]).load(std::memory_order_acquire) == ((index + 1) & index_mask);
}

void steal_word::reset(std::uintptr_t base, std::uint64_t die_record) noexcept {
  slots_.clear(base);
  split_ = slots_.first();
  slow_from_ = no_address;
  newest_record_ = die_record;
  draw_line();
  if (!thieves_) return;
  eager_ = eager_forks;
  window_.bells.ring(bell::begins);
  lower_bell(bell::publish);
  if (near_apart_) lower_bell(bell::publish_near);
}

// Before anything is shown: a ring that comes while we publish is seen at the next fork.
void steal_word::lower_bell(bell which) noexcept {
  window_.bells.lower(which);
  const std::atomic_ref attendant(window_.attendant);
  if (attendant.load(std::memory_order_relaxed) == static_cast<std::uint32_t>(attending::idle)) {
    attendant.store(static_cast<std::uint32_t>(attending::asleep), std::memory_order_relaxed);
  }
}

// Frames from here up are slow to return to (I5).
void steal_word::draw_line() noexcept {
  std::atomic_ref(hot_.split_sp).store(std::min(split_[-1], slow_from_), std::memory_order_relaxed);
}

void steal_word::return_slowly(std::uintptr_t sp) noexcept {
  slow_from_ = sp;
  draw_line();
}

// The bell may ring for other reasons, at every fork even: only a thief's ring, and the begin of a task, are reasons to
// show work.
void steal_word::forked() noexcept {
  if (asked(window_)) {
    serve(server::owner);
  } else if (eager_ != 0) {
    serve(server::owner);
    if (--eager_ == 0) window_.bells.lower(bell::begins);
  }
}

std::uintptr_t* steal_word::bottom() const noexcept {
  // Acquire: the slots below it, where stores are seen in order.
  return std::atomic_ref(hot_.bottom).load(std::memory_order_acquire);
}

// The attendant's: which entries, of the oldest ROOM private ones, it may show: all before the answer.
//
// The owner's return stores `bottom` and then loads split_sp; this stores split_sp and then loads `bottom`, and the
// heavy fence between the two stands for both sides'. An entry below `bottom` as it is read last, with a frame at or
// above the line, cannot be popped any more: a return to it that compared before the fence would have lowered `bottom`
// first, and one that compares later finds the line. Frames below the line may have come and gone, and their slots mean
// nothing. Where stores are not seen in order a fence more lies between `bottom` and the slots below it, and one behind
// the slots: what is held may have been pushed since, and its frame is read next, by a thief too. Held, it stays as it
// is.
std::uintptr_t* steal_word::hold_back(std::uint64_t room) noexcept {
  const auto slot_now = [](std::uintptr_t& slot) { return std::atomic_ref(slot).load(std::memory_order_relaxed); };
  std::uintptr_t* until = bottom();
  if (until <= split_ || room == 0) return split_;
  if constexpr (!arch::stores_in_order) arch::heavy_fence();
  if (static_cast<std::uint64_t>(until - split_) > room) until = split_ + room;
  const std::uintptr_t line = slot_now(until[-1]);
  std::atomic_ref(hot_.split_sp).store(std::min(line, slow_from_), std::memory_order_relaxed);
  arch::heavy_fence();
  until = std::min(until, bottom());
  if constexpr (!arch::stores_in_order) arch::heavy_fence();
  std::uintptr_t* held = split_;
  while (held < until && slot_now(*held) >= line) ++held;
  if constexpr (!arch::stores_in_order) {
    if (held != split_) arch::heavy_fence();
  }
  return held;
}

void steal_word::serve(server who) noexcept {
  const bool far_asks = !near_apart_ || window_.bells.rung(bell::publish);
  const bool has_private = bottom() > split_;
  if (!has_private && near_apart_ && far_asks && move_far()) return;
  if (who == server::attendant && !has_private) {
    // The bell stays up, so that the next fork serves it. Until then no thief needs to call. What the near window still
    // has may be moved for a far thief.
    if (!near_apart_ || shown(near_) == 0) {
      std::atomic_ref(window_.attendant).store(static_cast<std::uint32_t>(attending::idle), std::memory_order_relaxed);
    }
    return;
  }
  // What a task shows as it begins is for its own node, whose word is cheap to change. But the root's node would have
  // divided all of the run before another one has found out that there is a run: then each far thief had to come for
  // one leaf. What the root forks first is for the others, where it is divided again.
  const bool near_asks = near_apart_ && (!far_asks || eager_ != 0 || window_.bells.rung(bell::publish_near));
  const auto room_in = [&](const face& in, bool eager) {
    const std::uint64_t wanted = who == server::attendant || eager ? attendant_shows : owner_shows;
    const std::uint64_t has = shown(in);
    return wanted > has ? wanted - has : 0;
  };
  if (far_asks) lower_bell(bell::publish);
  // A near thief whose ring stays unanswered for long takes what is shown to far ones.
  if (near_asks && (has_private || shown(near_) != 0)) lower_bell(bell::publish_near);
  const std::uint64_t of_root = eager_ != 0 ? far_first_ : 0;
  std::uint64_t far_room = std::max(far_asks ? room_in(far_, eager_ != 0 && !near_apart_) : 0, of_root);
  std::uint64_t near_room = near_asks ? room_in(near_, eager_ != 0) : 0;
  const std::uint64_t room = far_room + near_room;
  std::uintptr_t* until = who == server::attendant
                              ? hold_back(room)
                              : split_ + std::min(room, static_cast<std::uint64_t>(hot_.bottom - split_));
  // Behind hold_back(): an entry that was pushed under an exception, and is held back, is not popped before this visit
  // ends, and until it is popped the exception is there to be seen.
  if (records_.keeps_entries()) [[unlikely]] {
    until = split_;
  }
  // Far thieves first, whose way is longer: they get the largest.
  for (bool far = true; split_ < until && far_room + near_room != 0; far = !far) {
    std::uint64_t& left = far ? far_room : near_room;
    if (left == 0) continue;
    left = publish_one(far ? far_ : near_) ? left - 1 : 0;
    if (far && far_first_ != 0) --far_first_;
  }
  draw_line();
  base::expect_valid(*this);
}

// I3: the next slot's former entry, index - ring, may still be on its way to its thief. Then the thief rings again.
bool steal_word::has_room(const face& in) const noexcept {
  return acknowledged(in, (window_word::unpack(load_word(in)).split - ring) & index_mask);
}

// The frame of ENTRY knows its record already.
void steal_word::show(face& in, std::uintptr_t* entry) noexcept {
  std::uint64_t seen = load_word(in);
  window_word w = window_word::unpack(seen);
  const std::uint64_t index = w.split;
  const window_entry says{index, entry_kind::in_place, entry[-1] - *entry, stack_high_ - *entry};
  window_slot& slot = in.slot[index % ring];
  atomic(slot.ticket).store(records_.release_ticket(), std::memory_order_relaxed);
  atomic(slot.entry).store(says.pack(), std::memory_order_relaxed);
  // I2: the compare-and-swap releases all of the above. It fails only when a thief moved top meanwhile.
  while (!change_word(in, seen, w.published())) w = window_word::unpack(seen);
  in.entry[index % ring] = entry;
  ++counters_.published;
  if (trace::tracing != nullptr) trace::tracing->published(says.bytes);
}

bool steal_word::publish_one(face& in) noexcept {
  if (!has_room(in)) return false;
  auto* frame = reinterpret_cast<arch::saved_frame*>(*split_);
  std::uint64_t made = 0;  // a child that nobody joins completes nowhere
  if (frame->handle != nullptr) {
    made = records_.make_record();
    if (made == 0) return false;  // out of registered heap: the work stays here, and the program goes on
  }
  frame->record = made;
  frame->die_record = newest_record_;
  frame->finish = records_.finish_at(*split_);
  show(in, split_);
  newest_record_ = made;
  ++split_;
  return true;
}

// For a far thief, where nothing private is left: the older half of what near ones have not taken. Not while the far
// window has something, which may be younger (I6). False: nothing was moved.
bool steal_word::move_far() noexcept {
  if (shown(far_) != 0 || !has_room(far_)) return false;
  for (std::uint64_t seen = load_word(near_);;) {
    const window_word w = window_word::unpack(seen);
    if (w.size() == 0) return false;
    if (!change_word(near_, seen, {w.tag + 1, w.top, w.top})) continue;
    lower_bell(bell::publish);
    std::array<std::uintptr_t*, ring> back{};
    for (std::uint64_t i = 0; i < w.size(); ++i) back[i] = near_.entry[(w.top + i) % ring];
    counters_.taken_back += w.size();
    for (std::uint64_t i = 0; i < w.size(); ++i) show(2 * i < w.size() && has_room(far_) ? far_ : near_, back[i]);
    return true;
  }
}

bool steal_word::take_back(std::uintptr_t sp) noexcept {
  slow_from_ = no_address;
  if (hot_.bottom > split_) {  // it is private: the line was there for another reason, or is gone
    --hot_.bottom;
    draw_line();
    return true;
  }
  const auto is_back = [this](const face& in) {
    for (std::uint64_t seen = load_word(in);;) {
      const window_word w = window_word::unpack(seen);
      if (w.size() == 0 || in.entry[(w.split - 1) % ring] != split_ - 1) return false;
      if (change_word(in, seen, w.reclaimed())) return true;
    }
  };
  if (!is_back(far_) && !(near_apart_ && is_back(near_))) return false;
  const auto* frame = reinterpret_cast<const arch::saved_frame*>(sp);
  if (frame->record != 0) records_.drop_record(frame->record);
  pop_shown(split_ - 1);
  base::expect_valid(*this);
  return true;
}

void steal_word::put_back(std::size_t depth, std::span<const std::uintptr_t> entries) noexcept {
  slots_.put_back(depth, entries);
  split_ = slots_.first();
  draw_line();
  base::expect_valid(*this);
}

// Its record stays: the child completes to it, elsewhere.
std::uintptr_t steal_word::take_older() noexcept {
  if (!near_apart_) return 0;
  const auto youngest = [](const face& in, std::uint64_t seen) {
    const window_word w = window_word::unpack(seen);
    return w.size() == 0 ? nullptr : in.entry[(w.split - 1) % ring];
  };
  std::uint64_t far_seen = load_word(far_);
  std::uint64_t near_seen = load_word(near_);
  for (;;) {
    std::uintptr_t* const of_far = youngest(far_, far_seen);
    std::uintptr_t* const of_near = youngest(near_, near_seen);
    if (of_far == nullptr && of_near == nullptr) return 0;
    const bool far = of_near == nullptr || (of_far != nullptr && of_far > of_near);
    std::uint64_t& seen = far ? far_seen : near_seen;
    if (!change_word(far ? far_ : near_, seen, window_word::unpack(seen).reclaimed())) continue;
    slow_from_ = no_address;
    pop_shown(far ? of_far : of_near);
    base::expect_valid(*this);
    return *hot_.bottom;
  }
}

// The running task is that of ENTRY now, which thieves do not see any more; all below it are gone.
void steal_word::pop_shown(std::uintptr_t* entry) noexcept {
  newest_record_ = reinterpret_cast<const arch::saved_frame*>(*entry)->die_record;
  split_ = entry;
  hot_.bottom = entry;
  draw_line();
  ++counters_.taken_back;
}

bool steal_word::quiet() const noexcept {
  const auto is_quiet = [this](const face& in) {
    // The last `ring` indices that were taken tell. A slot whose entry is still shown says what it said before that.
    const std::uint64_t top = window_word::unpack(load_word(in)).top;
    for (std::uint64_t back = 1; back <= ring; ++back) {
      if (!acknowledged(in, (top - back) & index_mask)) return false;
    }
    return true;
  };
  return is_quiet(far_) && (!near_apart_ || is_quiet(near_));
}

bool steal_word::is_valid(const face& in) const noexcept {
  const window_word w = window_word::unpack(load_word(in));
  if (!base::holds("I1: at most `ring` entries are shown", w.size() <= ring)) return false;
  const std::uintptr_t* below = nullptr;
  for (std::uint64_t i = 0; i < w.size(); ++i) {
    const std::uint64_t index = (w.top + i) & index_mask;
    const std::uintptr_t* const entry = in.entry[index % ring];
    if (!base::holds("I6: what is shown later is younger, and all of it older than what is private",
                     entry > below && entry < split_)) {
      return false;
    }
    below = entry;
    const window_entry says = window_entry::unpack(atomic(in.slot[index % ring].entry).load(std::memory_order_relaxed));
    if (!base::holds("I2: a slot says which entry it holds, and where its frames begin",
                     says.fits(index, stack_bytes_) && says.offset == stack_high_ - *entry)) {
      return false;
    }
  }
  return true;
}

bool steal_word::is_valid() const noexcept {
  // The owner lowers `bottom` before it compares with the line: an attendant may see it one too low.
  return base::holds("the private entries lie behind the others", bottom() + 1 >= split_ && split_ >= slots_.first()) &&
         base::holds(
             "I5: the line is not above the oldest private frame's parent",
             std::atomic_ref(hot_.split_sp).load(std::memory_order_relaxed) <= std::min(split_[-1], slow_from_)) &&
         is_valid(far_) && (!near_apart_ || is_valid(near_));
}

std::uint64_t steal_word::claimed() noexcept {
  return window_word::unpack(load_word(far_)).top + window_word::unpack(load_word(near_)).top;
}

}  // namespace tobi::deque
