#include "libcore/task/steal_word.hpp"

#include <atomic>

#include "libcore/task/trace.hpp"

namespace tobi::tasks {

using transports::op;
using transports::op_kind;

namespace {

// How many entries the owner shows when asked. The oldest ones are the largest; more in the window means fewer rings of
// the bell, and more to take back when nobody comes. Two serves one thief and has the next one's work ready.
constexpr std::uint64_t publish_target = 2;
static_assert(publish_target <= ring);

constexpr std::uint8_t rung = 1;

std::atomic_ref<std::uint64_t> atomic(std::uint64_t& word) noexcept { return std::atomic_ref<std::uint64_t>(word); }

}  // namespace

steal_word::steal_word(arch::hot_state& hot, std::uintptr_t* slot_memory, fabric& net, steal_window& window,
                       record_source& records, std::uintptr_t stack_high, std::size_t stack_bytes) noexcept
    : hot_(hot),
      slots_(hot, slot_memory),
      net_(net),
      window_(window),
      records_(records),
      stack_high_(stack_high),
      stack_bytes_(stack_bytes),
      word_here_(net.here(&window.word)),
      split_(slots_.first()) {
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
  hot_.split_sp = base;
  newest_record_ = die_record;
}

// The bell may ring for other reasons, at every fork even: only a thief's ring is a reason to show work.
void steal_word::forked() noexcept {
  const auto* bells = reinterpret_cast<std::uint8_t*>(&window_.doorbell);
  const std::atomic_ref asked(const_cast<std::uint8_t&>(bells[static_cast<int>(bell::publish)]));
  if (asked.load(std::memory_order_relaxed) != 0) serve();
}

void steal_word::serve() noexcept {
  // Lower the bell first: a ring that comes while we publish is seen at the next fork.
  auto* bells = reinterpret_cast<std::uint8_t*>(&window_.doorbell);
  std::atomic_ref<std::uint8_t>(bells[static_cast<int>(bell::publish)]).store(0, std::memory_order_relaxed);
  while (window_word::unpack(load_word()).size() < publish_target && split_ < hot_.bottom) {
    if (!publish_one()) return;
  }
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
  hot_.split_sp = *split_;
  ++split_;
  ++counters_.published;
  if (tracing != nullptr) tracing->published(entry.bytes);
  return true;
}

bool steal_word::take_back(std::uintptr_t sp) noexcept {
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
  hot_.split_sp = split_[-1];
  ++counters_.taken_back;
  return true;
}

bool steal_word::pop(std::uintptr_t sp) noexcept {
  if (sp >= hot_.split_sp) return take_back(sp);
  --hot_.bottom;
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

// Not waited for.
void steal_word::ring_at(int victim) {
  const std::uint64_t at = word_here_.offset() + offsetof(steal_window, doorbell);
  const op ring_bell{op_kind::put, false, net_.heap(victim), at, const_cast<std::uint8_t*>(&rung), 1, 0, 0};
  net_.post(victim, {&ring_bell, 1});
}

// SHOWN: so many lists were there.
steal_result steal_word::take_context(int victim, std::size_t shown, stolen& got) {
  const std::size_t index = choice_.of(line_.ready, shown, net_.rank());
  const std::uint64_t at = word_here_.offset() + offsetof(steal_window, ready) + index * sizeof(std::uint64_t);
  if (!claim_list(net_, {victim, at}, line_.ready[index], got)) return steal_result::lost_race;
  // There may be more of them than there are words. The owner shows them while the next thief still has one to take.
  if (line_.busy != 0 && shown <= 2) ring_at(victim);
  return steal_result::context;
}

steal_result steal_word::steal(int victim, stolen& got) {
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
    if (line_.busy != 0 && (line_.doorbell & 0xff) == 0) ring_at(victim);
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
  const op after[] = {
      {op_kind::put, false, heap, at + offsetof(steal_window, ack) + w.top % ring * 8, &ack_, 8, 0, 0},
      {op_kind::put, false, heap, at + offsetof(steal_window, doorbell), const_cast<std::uint8_t*>(&rung), 1, 0, 0},
  };
  // Ask for the next entry now, so that the next thief need not wait for it. That one lies in another slot, so it does
  // not matter which of the two arrives first.
  net_.post_apart(victim, {after, w.size() == 1 ? 2u : 1u});
  const std::uintptr_t sp = stack_high_ - entry.offset;
  got.spent(steal_phase::unlock, mark);
  got.sp = sp;
  got.base = sp + entry.bytes;
  got.ticket = slot_now_.ticket;
  return steal_result::taken;
}

}  // namespace tobi::tasks
