// SPDX-License-Identifier: Apache-2.0
// Back-pressure, completion, notices, and the end of a peer.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "arch/clock.hpp"
#include "tools/conform/rules.hpp"
#include "transports/nap.hpp"

namespace tobi::conformance {

namespace {

using transports::op;

// Posts far more than any queue holds, without a flush. Each addition must count once: `again` has had no effect.
std::string again_loses_and_doubles_nothing(stage& s) {
  const std::uint64_t posts = s.rounds(3000);
  const bool adds = s.fabric.caps().fetch_add;
  for (std::uint64_t i = 0; i <= posts; ++i) s.word(8 * i) = 0;
  s.fence();
  std::vector<std::uint64_t> old(posts);
  for (std::uint64_t i = 0; i < posts; ++i) {
    const std::uint64_t value = i + 1;
    const op one = adds && i % 2 == 1 ? s.add(s.next(), 8 * posts, 1, &old[i]) : s.put(s.next(), 8 * i, &value, 8);
    const status got = s.posted(s.next(), {&one, 1});
    if (got != status::ok) return "post returns " + std::string(to_string(got));
  }
  status got;
  while ((got = s.fabric.flush(s.next())) == status::again) s.wait_a_turn();
  if (got != status::ok) return "flush returns " + std::string(to_string(got));
  s.fence();
  std::string& bad = s.seen;
  for (std::uint64_t i = 0; i < posts; ++i) {
    if (!(adds && i % 2 == 1) && s.word(8 * i) != i + 1) bad = "put " + std::to_string(i) + " is not there";
  }
  if (adds && s.word(8 * posts) != posts / 2) bad = "additions were lost or came twice";
  s.fence();
  return bad;
}

std::string a_flush_completes_every_get(stage& s) {
  constexpr std::size_t gets = 40;
  const std::size_t bytes = std::min<std::size_t>(5000, s.fabric.caps().put_max);
  for (std::size_t i = 0; i < gets * bytes; ++i) *s.local(i) = static_cast<std::byte>(i * 7 + 3);
  s.fence();
  std::vector<std::byte> got(gets * bytes);
  std::string& bad = s.seen;
  for (int round = 0; round < 10; ++round) {
    std::memset(got.data(), 0, got.size());
    for (std::size_t g = 0; g < gets; ++g) {
      const op one = s.get(s.next(), g * bytes, got.data() + g * bytes, bytes);
      if (s.posted(s.next(), {&one, 1}) != status::ok) bad = "post failed";
    }
    while (s.fabric.flush(s.next()) == status::again) s.wait_a_turn();
    if (std::memcmp(got.data(), s.local(), got.size()) != 0) bad = "a get was not complete after flush";
  }
  s.fence();
  return bad;
}

// Rank 0 puts to rank 1, flushes, and then tells rank 2, which must find the value at rank 1.
std::string a_flushed_put_is_at_the_target(stage& s) {
  if (s.size() < 3) return "skip: it takes three ranks";
  const std::uint64_t rounds = s.turns(2000);
  s.word(0) = s.word(8) = s.word(16) = 0;
  s.fence();
  std::string& bad = s.seen;
  for (std::uint64_t i = 1; i <= rounds; ++i) {
    if (s.rank() == 0) {
      if (s.done(1, s.put(1, 0, &i, 8)) != status::ok) return "put failed";
      if (s.done(2, s.put(2, 8, &i, 8)) != status::ok) return "put failed";
      while (std::atomic_ref(s.word(16)).load(std::memory_order_acquire) < i) s.wait_a_turn();
    } else if (s.rank() == 2) {
      while (std::atomic_ref(s.word(8)).load(std::memory_order_acquire) < i) s.wait_a_turn();
      std::uint64_t seen = 0;
      if (s.done(1, s.get(1, 0, &seen, 8)) != status::ok) return "get failed";
      if (seen != i) bad = "a put that was flushed is not there for a third rank";
      if (s.done(0, s.put(0, 16, &i, 8)) != status::ok) return "put failed";
    }
  }
  s.fence();
  return bad;
}

// Rank 0 puts to a rank that leaves the fabric alone. Where a put completes by a poll of its target, flush() may not
// return ok meanwhile, and says `again`.
std::string a_flushed_put_is_there_for_a_sleeper(stage& s) {
  if (s.size() < 2) return "skip: it takes two ranks";
  constexpr std::uint64_t tries = 3;
  std::uint64_t complete = 0;
  std::string& bad = s.seen;
  for (std::uint64_t i = 1; i <= tries; ++i) {
    s.word(0) = 0;
    s.fall_asleep();
    status got = status::again;
    if (s.rank() == 0) got = s.done_soon(1, s.put(1, 0, &i, 8));
    if (got != status::ok && got != status::again) bad = "put returns " + std::string(to_string(got));
    s.meet(false, got == status::ok);  // still asleep
    complete += s.rank0_says ? 1u : 0u;
    if (s.rank() == 1 && s.rank0_says && std::atomic_ref(s.word(0)).load(std::memory_order_acquire) != i) {
      bad = "a put that was flushed was not in its target's memory before the target moved the fabric";
    }
    s.wake_up();
    while (s.rank() == 0 && s.fabric.flush(1) == status::again) s.wait_a_turn();
  }
  s.fence();
  if (!bad.empty() || complete == tries) return bad;
  return "skip: " + std::to_string(tries - complete) + " of " + std::to_string(tries) +
         " flushes have waited for a poll of their target";
}

std::string a_flush_of_nothing_is_ok(stage& s) {
  s.fence();
  for (int r = 0; r < s.size(); ++r) {
    if (s.posted(r, {}) != status::invalid) return "an empty chain is not refused";
    status got;
    while ((got = s.fabric.flush(r)) == status::again) s.wait_a_turn();
    if (got != status::ok) return "it returns " + std::string(to_string(got));
  }
  return s.fabric.flush(s.size()) == status::invalid ? "" : "a rank that does not exist is not refused";
}

// Each notice comes once, from the rank that gave it, and what it announces is there.
std::string a_notice_comes_once_and_after_its_put(stage& s) {
  if (!s.fabric.caps().put_notify) return "skip: put_notify is not claimed";
  const std::uint64_t notices = s.turns(500);
  const std::uint64_t data_mask =
      s.fabric.caps().msg_max >= 8 ? ~std::uint64_t{0} : (1ull << 8 * s.fabric.caps().msg_max) - 1;
  for (std::uint64_t i = 0; i < notices; ++i) s.word(8 * i) = 0;
  s.fence();
  const int from = (s.rank() + s.size() - 1) % s.size();
  std::vector<bool> seen(notices);
  std::string& bad = s.seen;
  std::uint64_t given = 0;
  const std::uint64_t begin = arch::now_ns();
  for (std::uint64_t got = 0; got < notices || given < notices;) {
    if (arch::now_ns() - begin > s.patience_ns / 2) return "only " + std::to_string(got) + " notices have come";
    if (given < notices) {
      const std::uint64_t value = given + 1;
      if (s.fabric.put_notify(s.next(), s.put(s.next(), 8 * given, &value, 8), given & data_mask) == status::ok)
        ++given;
    }
    transports::notice n;
    const status answer = s.fabric.poll_notice(n);
    if (answer == status::again) {
      s.wait_a_turn();
      continue;
    }
    if (answer != status::ok) return "poll_notice returns " + std::string(to_string(answer));
    ++got;
    if (n.rank != from) bad = "a notice names the wrong rank";
    if (data_mask < notices) continue;  // data that wraps cannot tell which put it was
    if (n.data >= notices || seen[n.data]) {
      bad = "a notice came twice or with other data";
    } else {
      seen[n.data] = true;
      if (std::atomic_ref(s.word(8 * n.data)).load(std::memory_order_acquire) != n.data + 1)
        bad = "a notice came before its put";
    }
  }
  while (s.fabric.flush(s.next()) == status::again) s.wait_a_turn();
  s.fence();
  transports::notice n;
  if (s.fabric.poll_notice(n) == status::ok) bad = "more notices came than were given";
  s.fence();
  return bad;
}

// One rank sleeps on its descriptor and polls only when that has woken it; what another one asks of it is done then.
std::string who_sleeps_on_the_descriptor_is_woken(stage& s) {
  if (!s.fabric.caps().has_wait_fd) return "skip: has_wait_fd is not claimed";
  if (s.size() < 2) return "skip: it takes two ranks";
  if (s.fabric.wait_fd() < 0) return "wait_fd is claimed, and there is no descriptor";
  if (s.fabric.caps().passive_rma) return "skip: puts and gets need nobody to be awake";
  const std::uint64_t rounds = s.rounds(200);
  s.word(0) = 0;
  s.fence();
  std::string& bad = s.seen;
  if (s.rank() == 0 && s.fabric.map(s.region(1)) == nullptr) {
    for (std::uint64_t i = 1; i <= rounds && bad.empty(); ++i) {
      std::uint64_t back = 0;
      if (s.fabric.caps().fetch_add && s.done(1, s.add(1, 8, 1, &back)) != status::ok) bad = "fetch_add failed";
      if (s.done(1, s.put(1, 0, &i, 8)) != status::ok) bad = "put failed";
      if (s.done(1, s.get(1, 0, &back, 8)) != status::ok || back != i) bad = "the value did not come back";
    }
  } else if (s.rank() == 1 && s.fabric.map(s.region(0)) == nullptr) {
    const std::atomic_ref last(s.word(0));
    while (bad.empty() && last.load(std::memory_order_acquire) != rounds) {
      s.fabric.progress();
      if (!s.fabric.may_sleep() || last.load(std::memory_order_acquire) == rounds) continue;
      if (!transports::nap_on(s.fabric.wait_fd(), s.patience_ns / 2)) bad = "an operation woke nobody";
    }
  }
  s.fence();
  return bad;
}

constexpr rule rules[] = {
    {"back-pressure", again_loses_and_doubles_nothing},
    {"flush-completes-gets", a_flush_completes_every_get},
    {"flush-is-at-the-target", a_flushed_put_is_at_the_target},
    {"flush-and-a-sleeper", a_flushed_put_is_there_for_a_sleeper},
    {"flush-of-nothing", a_flush_of_nothing_is_ok},
    {"notices", a_notice_comes_once_and_after_its_put},
    {"wait-fd-wakes", who_sleeps_on_the_descriptor_is_woken},
};

}  // namespace

std::span<const rule> flow_rules() { return rules; }

// The last rank ends. The others use it until they are told; after that they must still reach each other.
std::string a_dead_peer_is_reported(stage& s) {
  if (!s.fabric.caps().peer_errors) return "skip: peer_errors is not claimed";
  if (s.size() < 3) return "skip: it takes three ranks";
  const int victim = s.size() - 1;
  if (s.rank() == victim) _exit(0);  // without a word to the fabric
  const std::uint64_t begin = arch::now_ns();
  const auto late = [&] { return arch::now_ns() - begin > s.patience_ns / 2; };
  std::uint64_t value = 0;
  status got = status::ok;
  while ((got = s.done(victim, s.get(victim, 0, &value, 8))) == status::ok) {
    if (late()) return "the end of a peer was not reported";
    usleep(1000);
  }
  if (got != status::peer_lost) return "an operation on a dead peer returns " + std::string(to_string(got));
  const std::uint64_t told = 1;
  if (s.rank() != 0) {
    const auto mine = 8 * static_cast<std::uint64_t>(s.rank());
    if (s.done(0, s.put(0, mine, &told, 8)) != status::ok) return "the other peers cannot be reached any more";
    while (std::atomic_ref(s.word(0)).load(std::memory_order_acquire) == 0 && !late()) s.wait_a_turn();
    return late() ? "rank 0 was not heard any more" : "";
  }
  for (int r = 1; r < victim; ++r) {
    const std::atomic_ref mark(s.word(8 * static_cast<std::uint64_t>(r)));
    while (mark.load(std::memory_order_acquire) == 0 && !late()) s.wait_a_turn();
    if (late()) return "rank " + std::to_string(r) + " was not heard any more";
  }
  for (int r = 1; r < victim; ++r) {
    if (s.done(r, s.put(r, 0, &told, 8)) != status::ok) return "the other peers cannot be reached any more";
  }
  return "";
}

}  // namespace tobi::conformance
