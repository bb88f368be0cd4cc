// Much at once, notices, and the end of a peer.
#include <unistd.h>

#include <atomic>
#include <cstring>

#include "arch/clock.hpp"
#include "tests/conformance/rules.hpp"

namespace tobi::conformance {

namespace {

using transports::op;

constexpr std::uint64_t most = 5000;

// Posts without waiting. `again` must mean that nothing was posted: each value arrives once, none is lost.
std::string nothing_is_lost_when_the_queue_is_full(stage& s) {
  const std::uint64_t many = s.rounds(most);
  for (std::uint64_t i = 0; i < many; ++i) s.word(8 * i) = 0;
  s.fence();
  for (std::uint64_t i = 0; i < many; ++i) {
    const std::uint64_t value = i + 1;  // within inline_max: its buffer is ours again at once
    const op one = s.put(s.next(), 8 * i, &value, 8);
    status got = status::again;
    for (std::uint64_t tries = 0; (got = s.fabric.post(s.next(), {&one, 1})) == status::again; ++tries) {
      s.wait_a_turn();
      if (tries == 50'000'000) return "it answers again for ever";
    }
    if (got != status::ok) return "put failed";
  }
  while (s.fabric.flush(s.next()) == status::again) s.wait_a_turn();
  s.fence();
  for (std::uint64_t i = 0; i < many; ++i) {
    if (s.word(8 * i) != i + 1) return "put " + std::to_string(i) + " of " + std::to_string(many) + " did not arrive";
  }
  s.fence();
  return "";
}

std::string additions_without_waiting_are_all_made(stage& s) {
  if (!s.fabric.caps().fetch_add) return "skip: fetch_add is not claimed";
  const std::uint64_t many = s.rounds(most);
  s.word(0) = 0;
  s.fence();
  std::vector<std::uint64_t> found(many);
  for (std::uint64_t i = 0; i < many; ++i) {
    const op one = s.add(0, 0, 1, &found[i]);
    status got = status::again;
    while ((got = s.fabric.post(0, {&one, 1})) == status::again) s.wait_a_turn();
    if (got != status::ok) return "fetch_add failed";
  }
  while (s.fabric.flush(0) == status::again) s.wait_a_turn();
  s.fence();
  if (s.rank() == 0 && s.word(0) != many * static_cast<std::uint64_t>(s.size()))
    return "additions were lost or made twice";
  s.fence();
  return "";
}

// Each notice comes once, in order, from whom it came; and what was put before it is there.
std::string notices_arrive_once_and_in_order(stage& s) {
  if (!s.fabric.caps().put_notify) return "skip: put_notify is not claimed";
  const std::uint64_t turns = s.rounds(2000);
  constexpr std::uint64_t slots = 64;
  s.fence();
  const int from = (s.rank() + s.size() - 1) % s.size();
  std::uint64_t sent = 0;
  std::uint64_t seen = 0;
  std::string bad;
  const std::uint64_t begin = arch::now_ns();
  while (sent < turns || seen < turns) {
    if (sent < turns &&
        sent < seen + slots / 2) {  // its sender keeps pace, so a slot is not written before it was read
      const std::uint64_t value = sent * 3 + 1;
      const status got = s.fabric.put_notify(s.next(), s.put(s.next(), sent % slots * 8, &value, 8), sent & 0xffff);
      if (got == status::ok) ++sent;
      if (got != status::ok && got != status::again) return "put_notify is answered " + std::string(to_string(got));
    }
    if (const status f = s.fabric.flush(s.next()); f != status::ok && f != status::again) return "flush failed";
    transports::notice n;
    if (s.fabric.poll_notice(n) == status::ok) {
      if (n.rank != from) bad = "a notice names rank " + std::to_string(n.rank) + " as its sender";
      if (n.data != (seen & 0xffff)) bad = "notice " + std::to_string(seen) + " carries " + std::to_string(n.data);
      const std::uint64_t there = std::atomic_ref(s.word(seen % slots * 8)).load(std::memory_order_acquire);
      if (s.fabric.caps().notify_ordered && there != seen * 3 + 1) bad = "a notice came before its put";
      ++seen;
    }
    if (arch::now_ns() - begin > 60'000'000'000) return "notices are missing: " + std::to_string(seen) + " came";
  }
  s.fence();
  transports::notice n;
  if (s.fabric.poll_notice(n) != status::again) bad = "a notice came twice";
  s.fence();
  return bad;
}

constexpr rule rules[] = {
    {"back-pressure-puts", nothing_is_lost_when_the_queue_is_full},
    {"back-pressure-atomics", additions_without_waiting_are_all_made},
    {"notices", notices_arrive_once_and_in_order},
};

}  // namespace

std::span<const rule> flow_rules() { return rules; }

std::string a_dead_peer_is_reported(stage& s) {
  const int dead = s.size() - 1;
  if (!s.fabric.caps().peer_errors) return "skip: peer_errors is not claimed";
  if (s.size() < 2) return "skip: it takes two ranks";
  const std::uint64_t begin = arch::now_ns();
  std::uint64_t value = 0;
  const op look = s.get(dead, 0, &value, 8);
  while (arch::now_ns() - begin < 20'000'000'000) {
    status got = s.fabric.post(dead, {&look, 1});
    if (got == status::ok || got == status::again) got = s.fabric.flush(dead);
    if (got == status::peer_lost) return "";
    if (got != status::ok && got != status::again) return "it is answered " + std::string(to_string(got));
    usleep(1000);
  }
  return "after 20 seconds its memory can still be read, or nothing is said";
}

}  // namespace tobi::conformance
