#include "libcore/task/steal_word.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <limits>

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
constexpr std::uint8_t rung = 1;

std::atomic_ref<std::uint64_t> atomic(std::uint64_t& word) noexcept { return std::atomic_ref<std::uint64_t>(word); }

}  // namespace

steal_word::steal_word(arch::hot_state& hot, std::uintptr_t* slot_memory, fabric& net, steal_window& window,
                       record_source& records, std::uintptr_t stack_high, std::size_t stack_bytes,
                       bool thieves) noexcept
    : hot_(hot),
      slots_(hot, slot_memory),
      net_(net),
      window_(window),
      records_(records),
      stack_high_(stack_high),
      stack_bytes_(stack_bytes),
      word_here_(net.here(&window.word)),
      split_(slots_.first()),
      slow_from_(no_address),
      thieves_(thieves) {
  clear_window(window_);
  hot_.doorbell = &window_.doorbell;
}

std::uint64_t steal_word::load_word() const noexcept {
  // Acquire: after a claim was seen here, what the thief did before it (its acknowledgements) is seen too.
  return atomic(window_.word).load(std::memory_order_acquire);
}

bool steal_word::change_word(std::uint64_t seen, window_word wanted) noexcept {
  return net_.compare_swap(word_here_, seen, wanted.pack()) == seen;
}

bool steal_word::acknowledged(std::uint64_t index) const noexcept {
  // Acquire: the thief's reads of the frames and of the slot lie before what the owner does to them next.
  return atomic(window_.ack[index % ring]).load(std::memory_order_acquire) == ((index + 1) & index_mask);
}

void steal_word::reset(std::uintptr_t base, std::uint64_t die_record) noexcept {
  slots_.clear(base);
  split_ = slots_.first();
  slow_from_ = no_address;
  newest_record_ = die_record;
  draw_line();
  if (!thieves_) return;
  eager_ = eager_forks;
  ring_own(bell::begins, rung);
  lower_bell();
}

// The owner's bell, byte by byte: a thief's put of another byte must not be lost.
void steal_word::ring_own(bell which, std::uint8_t value) noexcept {
  auto* bells = reinterpret_cast<std::uint8_t*>(&window_.doorbell);
  std::atomic_ref<std::uint8_t>(bells[static_cast<int>(which)]).store(value, std::memory_order_relaxed);
}

// Before anything is shown: a ring that comes while we publish is seen at the next fork.
void steal_word::lower_bell() noexcept {
  ring_own(bell::publish, 0);
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
  const auto* bells = reinterpret_cast<std::uint8_t*>(&window_.doorbell);
  const std::atomic_ref asked(const_cast<std::uint8_t&>(bells[static_cast<int>(bell::publish)]));
  if (asked.load(std::memory_order_relaxed) != 0) {
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
  if (who == server::attendant && bottom() <= split_) {
    // The bell stays up, so that the next fork answers it; until then nobody needs to call.
    std::atomic_ref(window_.attendant).store(static_cast<std::uint32_t>(attending::idle), std::memory_order_relaxed);
    return;
  }
  lower_bell();
  const std::uint64_t wanted = who == server::attendant || eager_ != 0 ? attendant_shows : owner_shows;
  const std::uint64_t shown = window_word::unpack(load_word()).size();
  const std::uint64_t room = wanted > shown ? wanted - shown : 0;
  std::uintptr_t* const until = who == server::attendant
                                    ? hold_back(room)
                                    : split_ + std::min(room, static_cast<std::uint64_t>(hot_.bottom - split_));
  while (split_ < until && publish_one()) {
  }
  draw_line();
}

bool steal_word::publish_one() noexcept {
  std::uint64_t seen = load_word();
  window_word w = window_word::unpack(seen);
  const std::uint64_t index = w.split;
  // I3: the slot's former entry, index - ring, may still be on its way to its thief. Then the thief rings again.
  const std::uint64_t former = (index - ring) & index_mask;
  if (!acknowledged(former)) return false;

  auto* frame = reinterpret_cast<arch::saved_frame*>(*split_);
  std::uint64_t made = 0;  // a child that nobody joins completes nowhere
  if (frame->handle != nullptr) {
    made = records_.make_record();
    if (made == 0) return false;  // out of registered heap: the work stays here, and the program goes on
  }
  frame->record = made;
  frame->die_record = newest_record_;
  frame->finish = records_.finish_at(*split_);
  const window_entry entry{index, entry_kind::in_place, split_[-1] - *split_, stack_high_ - *split_};
  window_slot& shown = window_.slot[index % ring];
  atomic(shown.ticket).store(records_.release_ticket(), std::memory_order_relaxed);
  atomic(shown.entry).store(entry.pack(), std::memory_order_relaxed);

  // I2: the compare-and-swap releases all of the above. It fails only when a thief moved top meanwhile.
  while (!change_word(seen, w.published())) {
    seen = load_word();
    w = window_word::unpack(seen);
  }
  newest_record_ = made;
  ++split_;
  ++counters_.published;
  if (tracing != nullptr) tracing->published(entry.bytes);
  return true;
}

bool steal_word::take_back(std::uintptr_t sp) noexcept {
  slow_from_ = no_address;
  if (hot_.bottom > split_) {  // it is private: the line was there for another reason, or is gone
    --hot_.bottom;
    draw_line();
    return true;
  }
  for (;;) {
    const std::uint64_t seen = load_word();
    const window_word w = window_word::unpack(seen);
    if (w.size() == 0) return false;
    if (change_word(seen, w.reclaimed())) break;
  }
  const auto* frame = reinterpret_cast<const arch::saved_frame*>(sp);
  if (frame->record != 0) records_.drop_record(frame->record);
  newest_record_ = frame->die_record;
  --split_;
  hot_.bottom = split_;
  draw_line();
  ++counters_.taken_back;
  return true;
}

bool steal_word::quiet() const noexcept {
  // Everything that was shown is taken when this is asked, so top == split and the last `ring` indices tell.
  const window_word w = window_word::unpack(load_word());
  for (std::uint64_t back = 1; back <= ring; ++back) {
    if (!acknowledged((w.top - back) & index_mask)) return false;
  }
  return true;
}

std::uint64_t steal_word::claimed() noexcept { return window_word::unpack(load_word()).top; }

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
  }
  const op raise{op_kind::put,
                 false,
                 net_.heap(victim),
                 word_here_.offset() + offsetof(steal_window, doorbell),
                 const_cast<std::uint8_t*>(&rung),
                 1,
                 0,
                 0};
  net_.post(victim, {&raise, 1});
}

// The bell was rung before, and nothing has come of it: calls the victim's attendant, if that is of this host and
// sleeps. True: it was called, and has had a moment.
bool steal_word::insist(int victim) {
  std::byte* there = net_.mapped(victim);
  if (there == nullptr) return false;
  auto* window = reinterpret_cast<steal_window*>(there + word_here_.offset());
  const std::atomic_ref attendant(window->attendant);
  auto seen = static_cast<std::uint32_t>(attending::asleep);
  if (attendant.load(std::memory_order_relaxed) != seen) return false;
  if (arch::now_ns() - atomic(window->rung_ns).load(std::memory_order_relaxed) < patience_ns) return false;
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
  if (lists || window_word::unpack(now(window->word)).size() != 0) return sight::work;
  return now(window->busy) != 0 ? sight::busy : sight::nothing;
}

steal_result steal_word::steal(int victim, stolen& got) { return attempt(victim, got, false); }

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
    if ((line_.doorbell & 0xff) == 0) {
      ring_bell(victim);
    } else if (!insisted && insist(victim)) {
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
