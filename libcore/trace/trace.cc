// SPDX-License-Identifier: Apache-2.0
#include "libcore/trace/trace.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

namespace tobi::trace {

event_ring::event_ring(std::size_t bytes)
    : capacity_(std::max<std::size_t>(1, bytes / sizeof(event))),
      events_(std::make_unique_for_overwrite<event[]>(capacity_)) {}

void tracer::add(event_kind kind, std::uint64_t begin, std::uint64_t end, int peer, std::uint64_t value) noexcept {
  if (!running_) return;  // the job's own barriers and exchanges are not of interest
  ++totals_.events[static_cast<std::size_t>(kind)];
  ring_.add({begin, end, kind, steal_result::taken, 0, peer, value, 1, {}});
}

void tracer::run_begins() noexcept {
  running_ = true;
  run_begin_ = state_begin_ = now();
}

void tracer::run_ends() noexcept {
  const std::uint64_t end = now();
  add(event_kind::idle, state_begin_, end);
  add(event_kind::run, run_begin_, end);
  running_ = false;
}

void tracer::task_begins() noexcept {
  const std::uint64_t begin = now();
  add(event_kind::idle, state_begin_, begin);
  state_begin_ = begin;
}

void tracer::task_ends() noexcept {
  const std::uint64_t end = now();
  add(event_kind::task, state_begin_, end);
  state_begin_ = end;
}

void tracer::steal_begins(std::uint64_t begin) noexcept {
  stealing_ = true;
  steal_begin_ = begin;
}

void tracer::steal_ends(int victim, steal_result result, std::uint64_t end, const stolen& got) noexcept {
  stealing_ = false;
  if (!running_) return;
  if (result == steal_result::taken || result == steal_result::context) {
    const bool whole = result == steal_result::context;
    const std::uint64_t bytes = whole ? 0 : got.base - got.sp;
    ++(whole ? totals_.contexts_stolen : totals_.steals_ok);
    totals_.stolen_bytes += bytes;
    ++totals_.events[static_cast<std::size_t>(event_kind::steal)];
    event e{steal_begin_, end, event_kind::steal, result, 0, victim, bytes, 1, {}};
    for (std::size_t i = 0; i < steal_phases; ++i) {
      // Four seconds are for ever, so saturation loses nothing.
      e.phase_ns[i] = static_cast<std::uint32_t>(std::min(arch::cycles_to_ns(got.cycles[i]), 4e9));
    }
    ring_.add(e);
    return;
  }
  ++(result == steal_result::empty ? totals_.steals_empty : totals_.steals_lost_race);
  event* last = ring_.newest();
  if (last != nullptr && last->kind == event_kind::steal && last->result == result && last->peer == victim &&
      last->count != std::numeric_limits<std::uint32_t>::max()) {
    last->end = end;
    last->value += end - steal_begin_;
    ++last->count;
    return;
  }
  ++totals_.events[static_cast<std::size_t>(event_kind::steal)];
  ring_.add({steal_begin_, end, event_kind::steal, result, 0, victim, end - steal_begin_, 1, {}});
}

void tracer::looked(int rank, std::uint64_t end) noexcept {
  if (rank >= 0) {
    steal_ends(rank, steal_result::empty, end, {});
  } else {
    stealing_ = false;
  }
}

void tracer::suspended(std::uint64_t saved, std::uint64_t begin) noexcept {
  add(event_kind::suspend, begin, now(), -1, saved);
}

void tracer::ready(std::uint64_t saved) noexcept {
  const std::uint64_t at = now();
  add(event_kind::ready, at, at, -1, saved);
}

void tracer::ready_since(std::uint64_t saved, std::uint64_t resumable) noexcept {
  const std::uint64_t at = now();
  add(event_kind::ready, std::min(resumable, at), at, -1, saved);
}

void tracer::resumed(std::uint64_t saved, int kept_by, std::uint64_t begin) noexcept {
  add(event_kind::resume, begin, now(), kept_by, saved);
}

void tracer::published(std::uint64_t bytes) noexcept {
  const std::uint64_t at = now();
  add(event_kind::publish, at, at, -1, bytes);
}

void tracer::waited(int peer, std::uint64_t begin) noexcept {
  if (!stealing_) add(event_kind::wait, begin, now(), peer);
}

void tracer::fetched(int home, std::uint64_t bytes, std::uint64_t pieces, std::uint64_t begin) noexcept {
  add(event_kind::fetch, begin, now(), home, bytes);
  constexpr std::uint64_t most = std::numeric_limits<std::uint32_t>::max();
  if (running_) ring_.newest()->count = static_cast<std::uint32_t>(std::min(pieces, most));
}

void tracer::wrote_back(std::uint64_t bytes, std::uint64_t begin) noexcept {
  add(event_kind::write_back, begin, now(), -1, bytes);
}

void tracer::awaited(int peer, std::uint64_t begin) noexcept { add(event_kind::await, begin, now(), peer); }

void tracer::updated(std::uint64_t numbers, std::uint64_t begin) noexcept {
  add(event_kind::update, begin, now(), -1, numbers);
}

void tracer::phase_begins(std::string_view name) noexcept {
  const std::uint64_t at = now();
  ++totals_.events[static_cast<std::size_t>(event_kind::phase)];
  event e{at, at, event_kind::phase, steal_result::taken, 0, -1, 0, 1, {}};
  std::memcpy(e.phase_ns.data(), name.data(), std::min(name.size(), longest_phase));
  ring_.add(e);
}

}  // namespace tobi::trace
