#include "libcore/task/steal_word.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <iterator>
#include <limits>
#include <utility>

#include "arch/clock.hpp"
#include "arch/heavy_fence.hpp"
#include "libcore/task/trace.hpp"

namespace tobi::tasks {

using transports::op;
using transports::op_kind;

namespace {

// How many entries are shown when somebody asks. The oldest ones are the largest; more in the window means fewer rings
// of the bell, and more to take back when nobody comes. The owner, who meets the next ring within a fork, shows what
// serves one thief and has the next one's work ready; the attendant may not come by again soon.
constexpr std::uint64_t owner_shows = 2;
constexpr std::uint64_t attendant_shows = ring;
// A task that has just begun shows what it forks first: who stole it was not the only one that is idle.
constexpr unsigned eager_forks = 4;

// A ring that an owner who forks has not answered by then will not be answered soon.
constexpr std::uint64_t patience_ns = 20'000;
// Then its attendant needs a core for a moment, perhaps this one.
constexpr timespec moment{0, 20'000};

constexpr std::uintptr_t no_address = std::numeric_limits<std::uintptr_t>::max();
constexpr std::uint8_t rung_value = 1;

std::atomic_ref<std::uint64_t> atomic(std::uint64_t& word) noexcept { return std::atomic_ref<std::uint64_t>(word); }

}  // namespace

steal_word::steal_word(arch::hot_state& hot, std::uintptr_t* slot_memory, fabric& net, steal_window& window,
                       record_source& records, std::uintptr_t stack_high, std::size_t stack_bytes, bool thieves,
                       bool near_apart) noexcept
    : hot_(hot),
      slots_(hot, slot_memory),
      net_(net),
      window_(window),
      records_(records),
      stack_high_(stack_high),
      stack_bytes_(stack_bytes),
      word_here_(net.here(&window.word)),
      near_apart_(near_apart),
      far_{&window.word, window.slot, window.ack, bell::publish, net.host_atomics()},
      near_{&window.near.word, window.near.slot, window.near.ack, bell::publish_near, true},
      split_(slots_.first()),
      slow_from_(no_address),
      thieves_(thieves) {
  clear_window(window_);
  hot_.doorbell = &window_.doorbell;
}

std::uint64_t steal_word::load_word(const face& in) const noexcept {
  // Acquire: after a claim was seen here, what the thief did before it (its acknowledgements) is seen too.
  return atomic(*in.word).load(std::memory_order_acquire);
}

std::uint64_t steal_word::shown(const face& in) const noexcept { return window_word::unpack(load_word(in)).size(); }

bool steal_word::change_word(const face& in, std::uint64_t seen, window_word wanted) noexcept {
  if (in.by_cpu) return atomic(*in.word).compare_exchange_strong(seen, wanted.pack(), std::memory_order_acq_rel);
  return net_.compare_swap(net_.here(in.word), seen, wanted.pack()) == seen;
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
  ring_own(bell::begins, rung_value);
  lower_bell(bell::publish);
  if (near_apart_) lower_bell(bell::publish_near);
}

// The owner's bell, byte by byte: a thief's put of another byte must not be lost.
void steal_word::ring_own(bell which, std::uint8_t value) noexcept {
  auto* bells = reinterpret_cast<std::uint8_t*>(&window_.doorbell);
  std::atomic_ref<std::uint8_t>(bells[static_cast<int>(which)]).store(value, std::memory_order_relaxed);
}

bool steal_word::rung(bell which) const noexcept {
  auto* bells = reinterpret_cast<std::uint8_t*>(&window_.doorbell);
  return std::atomic_ref<std::uint8_t>(bells[static_cast<int>(which)]).load(std::memory_order_relaxed) != 0;
}

// Before anything is shown: a ring that comes while we publish is seen at the next fork.
void steal_word::lower_bell(bell which) noexcept {
  ring_own(which, 0);
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
    if (--eager_ == 0) ring_own(bell::begins, 0);
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
// nothing. Where stores are not seen in order a fence more lies between `bottom` and the slots below it.
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
  return held;
}

void steal_word::serve(server who) noexcept {
  const bool far_asks = !near_apart_ || rung(bell::publish);
  const bool has_private = bottom() > split_;
  if (!has_private && near_apart_ && far_asks && move_far()) return;
  if (who == server::attendant && !has_private) {
    // The bell stays up, so that the next fork answers it; until then nobody needs to call. What the near window still
    // has may be moved for a far thief.
    if (!near_apart_ || shown(near_) == 0) {
      std::atomic_ref(window_.attendant).store(static_cast<std::uint32_t>(attending::idle), std::memory_order_relaxed);
    }
    return;
  }
  // What a task shows as it begins is for its own node, whose word is cheap to change.
  const bool near_asks = near_apart_ && (!far_asks || eager_ != 0 || rung(bell::publish_near));
  const auto room_in = [&](const face& in, bool eager) {
    const std::uint64_t wanted = who == server::attendant || eager ? attendant_shows : owner_shows;
    const std::uint64_t has = shown(in);
    return wanted > has ? wanted - has : 0;
  };
  if (far_asks) lower_bell(bell::publish);
  // A near thief whose ring stays unanswered for long takes what is shown to far ones.
  if (near_asks && (has_private || shown(near_) != 0)) lower_bell(bell::publish_near);
  std::uint64_t far_room = far_asks ? room_in(far_, eager_ != 0 && !near_apart_) : 0;
  std::uint64_t near_room = near_asks ? room_in(near_, eager_ != 0) : 0;
  const std::uint64_t room = far_room + near_room;
  std::uintptr_t* const until = who == server::attendant
                                    ? hold_back(room)
                                    : split_ + std::min(room, static_cast<std::uint64_t>(hot_.bottom - split_));
  // Far thieves first, whose way is longer: they get the largest.
  for (bool far = true; split_ < until && far_room + near_room != 0; far = !far) {
    std::uint64_t& left = far ? far_room : near_room;
    if (left != 0) left = publish_one(far ? far_ : near_) ? left - 1 : 0;
  }
  draw_line();
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
  while (!change_word(in, seen, w.published())) {
    seen = load_word(in);
    w = window_word::unpack(seen);
  }
  in.entry[index % ring] = entry;
  ++counters_.published;
  if (tracing != nullptr) tracing->published(says.bytes);
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
  for (;;) {
    const std::uint64_t seen = load_word(near_);
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
    for (;;) {
      const std::uint64_t seen = load_word(in);
      const window_word w = window_word::unpack(seen);
      if (w.size() == 0 || in.entry[(w.split - 1) % ring] != split_ - 1) return false;
      if (change_word(in, seen, w.reclaimed())) return true;
    }
  };
  if (!is_back(far_) && !(near_apart_ && is_back(near_))) return false;
  const auto* frame = reinterpret_cast<const arch::saved_frame*>(sp);
  if (frame->record != 0) records_.drop_record(frame->record);
  pop_shown(split_ - 1);
  return true;
}

// Its record stays: the child completes to it, elsewhere.
std::uintptr_t steal_word::take_older() noexcept {
  if (!near_apart_) return 0;
  const auto youngest = [this](const face& in) {
    const std::uint64_t seen = load_word(in);
    const window_word w = window_word::unpack(seen);
    return std::pair(w.size() == 0 ? nullptr : in.entry[(w.split - 1) % ring], seen);
  };
  for (;;) {
    const auto [of_far, far_seen] = youngest(far_);
    const auto [of_near, near_seen] = youngest(near_);
    if (of_far == nullptr && of_near == nullptr) return 0;
    const bool far = of_near == nullptr || (of_far != nullptr && of_far > of_near);
    const std::uint64_t seen = far ? far_seen : near_seen;
    if (!change_word(far ? far_ : near_, seen, window_word::unpack(seen).reclaimed())) continue;
    slow_from_ = no_address;
    pop_shown(far ? of_far : of_near);
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

std::uint64_t steal_word::claimed() noexcept {
  return window_word::unpack(load_word(far_)).top + window_word::unpack(load_word(near_)).top;
}

// SHOWN: so many lists were there.
steal_result steal_word::take_context(int victim, std::size_t shown, stolen& got) {
  const std::size_t index = choice_.of(line_.ready, shown, net_.rank());
  const std::uint64_t at = word_here_.offset() + offsetof(steal_window, ready) + index * sizeof(std::uint64_t);
  if (!claim_list(net_, {victim, at}, line_.ready[index], got)) return steal_result::lost_race;
  // There may be more of them than there are words. The owner shows them while the next thief still has one to take.
  if (shown <= 2 && line_.busy != 0 && (line_.doorbell & 0xff) == 0) ring_bell(victim);
  return steal_result::context;
}

// Before the bell: whoever finds it rung finds since when. Of another host nobody can be called; its attendant looks.
void steal_word::ring_bell(int victim) {
  if (std::byte* there = net_.mapped(victim); there != nullptr) {
    auto* window = reinterpret_cast<steal_window*>(there + word_here_.offset());
    atomic(window->rung_ns).store(arch::now_ns(), std::memory_order_relaxed);
    if (near_apart_) {
      auto* bells = reinterpret_cast<std::uint8_t*>(&window->doorbell);
      std::atomic_ref(bells[static_cast<int>(bell::publish_near)]).store(rung_value, std::memory_order_relaxed);
      return;
    }
  }
  const op raise{op_kind::put,
                 false,
                 net_.heap(victim),
                 word_here_.offset() + offsetof(steal_window, doorbell),
                 const_cast<std::uint8_t*>(&rung_value),
                 1,
                 0,
                 0};
  net_.post(victim, {&raise, 1});
}

// The bell was rung before, and nothing has come of it: calls the victim's attendant, if that is of this host and
// sleeps. True: it was called, and has had a moment.
bool steal_word::insist(int victim, bool at_once) {
  std::byte* there = net_.mapped(victim);
  if (there == nullptr) return false;
  auto* window = reinterpret_cast<steal_window*>(there + word_here_.offset());
  const std::atomic_ref attendant(window->attendant);
  auto seen = static_cast<std::uint32_t>(attending::asleep);
  if (attendant.load(std::memory_order_relaxed) != seen) return false;
  if (!at_once && arch::now_ns() - atomic(window->rung_ns).load(std::memory_order_relaxed) < patience_ns) return false;
  if (!attendant.compare_exchange_strong(seen, static_cast<std::uint32_t>(attending::called))) return false;
  syscall(SYS_futex, &window->attendant, FUTEX_WAKE, 1, nullptr, nullptr, 0);
  nanosleep(&moment, nullptr);
  return true;
}

sight steal_word::glance(int victim) {
  auto* window = reinterpret_cast<steal_window*>(net_.mapped(victim) + word_here_.offset());
  const auto now = [](std::uint64_t& word) { return atomic(word).load(std::memory_order_relaxed); };
  const bool lists = std::any_of(std::begin(window->ready), std::end(window->ready),
                                 [&](std::uint64_t& word) { return now(word) != 0; });
  if (lists || window_word::unpack(now(window->word)).size() != 0 || near_entries(*window) != 0) return sight::work;
  if (now(window->busy) == 0) return sight::nothing;
  const bool bare =
      std::atomic_ref(window->attendant).load(std::memory_order_relaxed) == static_cast<std::uint32_t>(attending::idle);
  return bare ? sight::leaf : sight::busy;
}

steal_result steal_word::steal(int victim, stolen& got) {
  std::byte* const there = near_apart_ ? net_.mapped(victim) : nullptr;
  if (there == nullptr) return attempt(victim, got, false);
  return attempt_near(*reinterpret_cast<steal_window*>(there + word_here_.offset()), victim, got, false);
}

// No operation is posted: not one of what the owner and its neighbours do to their window is the NIC's.
steal_result steal_word::attempt_near(steal_window& window, int victim, stolen& got, bool insisted) {
  const std::uint64_t mark = arch::cycles();
  const auto now = [](std::uint64_t& word) { return atomic(word).load(std::memory_order_relaxed); };
  std::transform(std::begin(window.ready), std::end(window.ready), std::begin(line_.ready), now);
  line_.busy = now(window.busy);
  line_.doorbell = now(window.doorbell);
  if (const std::size_t shown = lists_in(line_.ready); shown != 0) return take_context(victim, shown, got);
  if (near_entries(window) != 0) return claim_near(window, victim, got, mark);
  const bool for_others = window_word::unpack(now(window.word)).size() != 0;
  if (line_.busy == 0) return for_others ? attempt(victim, got, true) : steal_result::empty;
  auto* bells = reinterpret_cast<std::uint8_t*>(&window.doorbell);
  const bool rung_before =
      std::atomic_ref(bells[static_cast<int>(bell::publish_near)]).load(std::memory_order_relaxed) != 0;
  if (!rung_before) ring_bell(victim);
  if (!insisted && (rung_before || got.insists) && insist(victim, got.insists)) {
    got.trips_before = net_.round_trips();
    return attempt_near(window, victim, got, true);
  }
  if (!rung_before) return steal_result::empty;
  const bool unanswered = arch::now_ns() - now(window.rung_ns) >= patience_ns;
  return for_others && unanswered ? attempt(victim, got, true) : steal_result::empty;
}

steal_result steal_word::claim_near(steal_window& window, int victim, stolen& got, std::uint64_t mark) {
  // Acquire, here and by the claim: the entry and the frames, which stay as they are until the acknowledgement (I2).
  std::uint64_t seen = atomic(window.near.word).load(std::memory_order_acquire);
  const window_word w = window_word::unpack(seen);
  if (w.size() == 0) return steal_result::lost_race;
  mark = got.spent(steal_phase::empty_check, mark);
  if (!atomic(window.near.word).compare_exchange_strong(seen, w.claimed().pack(), std::memory_order_acq_rel)) {
    return steal_result::lost_race;
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
  return steal_result::taken;
}

steal_result steal_word::attempt(int victim, stolen& got, bool insisted) {
  const transports::region_id heap = net_.heap(victim);
  const std::uint64_t at = word_here_.offset();  // the window has the same offset in every worker's heap region
  std::uint64_t mark = arch::cycles();
  const op look{op_kind::get, false, heap, at, &line_, window_line_bytes, 0, 0};
  net_.post(victim, {&look, 1});
  net_.complete(victim);

  // First what its owner has put aside: the frames of its forks it can run itself at no cost.
  if (const std::size_t shown = lists_in(line_.ready); shown != 0) return take_context(victim, shown, got);
  const window_word w = window_word::unpack(line_.word);
  if (w.size() == 0) {
    if (line_.busy == 0) return steal_result::empty;
    const bool rung_before = (line_.doorbell & 0xff) != 0;
    if (!rung_before) ring_bell(victim);
    if (!insisted && (rung_before || got.insists) && insist(victim, got.insists)) {
      got.trips_before = net_.round_trips();
      return attempt(victim, got, true);
    }
    return steal_result::empty;
  }
  window_entry entry = window_entry::unpack(line_.slot[w.top % ring].entry);
  if (!entry.fits(w.top, stack_bytes_)) return steal_result::lost_race;

  const auto frames_of = [&](const window_entry& e) {
    return op{op_kind::get,
              false,
              net_.stack(victim),
              stack_bytes_ - e.offset,
              reinterpret_cast<void*>(stack_high_ - e.offset),
              e.bytes,
              0,
              0};
  };
  mark = got.spent(steal_phase::empty_check, mark);
  const std::uint64_t guess = line_.slot[w.top % ring].entry;
  const op claim[] = {
      {op_kind::compare_swap, true, heap, at, &found_, 8, w.claimed().pack(), line_.word},
      {op_kind::get, false, heap, at + offsetof(steal_window, slot) + w.top % ring * sizeof(window_slot), &slot_now_,
       sizeof slot_now_, 0, 0},
      frames_of(entry),
  };
  // Once the claim has been won neither the slot nor the frames change, until the acknowledgement: they need no order.
  net_.post_behind(victim, claim);
  net_.complete(victim);
  if (found_ != line_.word) return steal_result::lost_race;
  if (slot_now_.entry != guess) [[unlikely]] {
    // The line gave us W from after, and the entry from before, the owner took this index back and published it anew.
    entry = window_entry::unpack(slot_now_.entry);
    const op again = frames_of(entry);
    net_.post(victim, {&again, 1});
    net_.complete(victim);
  }

  mark = got.spent(steal_phase::steal, mark);
  ack_ = (w.top + 1) & index_mask;
  const op acknowledge{op_kind::put, false, heap, at + offsetof(steal_window, ack) + w.top % ring * 8, &ack_, 8, 0, 0};
  net_.post(victim, {&acknowledge, 1});
  // Ask for the next entry now, so that the next thief need not wait for it. That one lies in another slot, so it does
  // not matter which of the two arrives first.
  if (w.size() == 1) ring_bell(victim);
  const std::uintptr_t sp = stack_high_ - entry.offset;
  got.spent(steal_phase::unlock, mark);
  got.sp = sp;
  got.base = sp + entry.bytes;
  got.ticket = slot_now_.ticket;
  return steal_result::taken;
}

}  // namespace tobi::tasks
