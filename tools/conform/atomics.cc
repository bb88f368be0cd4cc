// SPDX-License-Identifier: Apache-2.0
// Atomics: uniqueness, exactness, the claimed scope, guards.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "arch/cpu.hpp"
#include "tools/conform/rules.hpp"

namespace tobi::conformance {

namespace {

using transports::amo_scope;
using transports::op;

constexpr std::uint64_t most_rounds = 20000;

// All ranks add to one word of rank 0: no two may find the same value, and none may be lost.
std::string fetch_add_gives_each_value_once(stage& s) {
  std::uint64_t old = 0;
  if (!s.fabric.caps().fetch_add) {
    return s.done(s.next(), s.add(s.next(), 0, 1, &old)) == status::unsupported
               ? ""
               : "unclaimed, but does not return unsupported";
  }
  s.word(0) = 0;
  s.fence();
  std::string& bad = s.seen;
  std::uint64_t before = 0;
  const std::uint64_t rounds = s.rounds(most_rounds);
  for (std::uint64_t i = 0; i < rounds; ++i) {
    if (s.done(0, s.add(0, 0, 1, &old)) != status::ok) return "fetch_add failed";
    if (i > 0 && old <= before) bad = "a value came twice or went back";
    before = old;
  }
  s.fence();
  if (s.rank() == 0 && s.word(0) != rounds * static_cast<std::uint64_t>(s.size())) bad = "additions were lost";
  s.fence();
  return bad;
}

// Every rank notes the values that it found, and rank 0 reads all notes. A mark by fetch_add would not do: two ranks in
// step find the same value, and then each finds no mark.
std::string fetch_add_is_unique_among_ranks(stage& s) {
  if (!s.fabric.caps().fetch_add) return "skip: fetch_add is not claimed";
  constexpr std::uint64_t notes = 4096;
  const std::uint64_t each = s.rounds(2000);
  const auto ranks = static_cast<std::uint64_t>(s.size());
  s.word(0) = 0;
  s.fence();
  for (std::uint64_t i = 0; i < each; ++i) {
    if (s.done(0, s.add(0, 0, 1, &s.word(notes + 8 * i))) != status::ok) return "fetch_add failed";
  }
  s.fence();
  std::vector<bool> found(each * ranks);
  for (int r = 0; r < s.size() && s.rank() == 0; ++r) {
    std::vector<std::uint64_t> theirs(each);
    auto* to = reinterpret_cast<std::byte*>(theirs.data());
    for (std::uint64_t got = 0, n = 0; got < each * 8; got += n) {
      n = std::min(each * 8 - got, s.fabric.caps().put_max);
      if (s.done(r, s.get(r, notes + got, to + got, n)) != status::ok) s.seen = "get failed";
    }
    for (const std::uint64_t value : theirs) {
      if (value >= found.size()) {
        s.seen = "a rank found " + std::to_string(value) + ", which nobody has added up to";
      } else if (found[value]) {
        s.seen = "two ranks found the value " + std::to_string(value);
      } else {
        found[value] = true;
      }
    }
  }
  s.fence();
  return s.seen;
}

// Alone, before anybody waits for one: it swaps where the word is what was expected, and nowhere else, and brings what
// it has found.
std::string compare_swap_swaps_what_it_expects(stage& s) {
  if (!s.fabric.caps().compare_swap) return "skip: compare_swap is not claimed";
  s.word(0) = 5;
  s.fence();
  const auto swapped = [&](std::uint64_t expected, std::uint64_t desired, std::uint64_t found, std::uint64_t then) {
    std::uint64_t old = ~found;
    std::uint64_t now = 0;
    if (s.done(s.next(), s.swap(s.next(), 0, expected, desired, &old)) != status::ok ||
        s.done(s.next(), s.get(s.next(), 0, &now, 8)) != status::ok) {
      return std::string("compare_swap or get failed");
    }
    const std::string which =
        " of " + std::to_string(desired) + " for " + std::to_string(expected) + " where there is 5";
    if (old != found) return "the swap" + which + " has brought " + std::to_string(old);
    return now == then ? "" : "the swap" + which + " has left " + std::to_string(now);
  };
  std::string& bad = s.seen;
  bad = swapped(4, 6, 5, 5);
  if (bad.empty()) bad = swapped(6, 5, 5, 5);
  if (bad.empty()) bad = swapped(5, 6, 5, 6);
  s.fence();
  return bad;
}

// compare_swap as a lock around a plain get and put. The lock is given back by another one: a fabric may write a word
// back also where the comparison fails (Soft-RoCE's does), and a put to it may fall in between and be lost.
std::string compare_swap_excludes(stage& s) {
  std::uint64_t old = 0;
  if (!s.fabric.caps().compare_swap) {
    return s.done(s.next(), s.swap(s.next(), 0, 0, 1, &old)) == status::unsupported
               ? ""
               : "unclaimed, but does not return unsupported";
  }
  const std::uint64_t each = s.turns(2000);
  s.word(0) = s.word(64) = 0;
  s.fence();
  for (std::uint64_t i = 0; i < each; ++i) {
    for (;;) {
      if (s.done(0, s.swap(0, 0, 0, 1, &old)) != status::ok) return "compare_swap failed";
      if (old == 0) break;
      s.wait_a_turn();  // the holder of the lock may need a poll of this rank to give it back
    }
    std::uint64_t value = 0;
    if (s.done(0, s.get(0, 64, &value, 8)) != status::ok) return "get failed";
    ++value;
    if (s.done(0, s.put(0, 64, &value, 8)) != status::ok) return "put failed";
    if (s.done(0, s.swap(0, 0, 1, 0, &old)) != status::ok) return "compare_swap failed";
    if (old != 1) return "the lock was not held by its holder";
  }
  s.fence();
  const bool right = s.rank() != 0 || s.word(64) == each * static_cast<std::uint64_t>(s.size());
  s.fence();
  return right ? "" : "two ranks held the lock at once";
}

// The owner of a word adds to it by ADDS, `rounds` times, while the others add through the transport: they have begun
// before it does, and go on until it is through. Whether all additions are there in the end, on the owner.
template <class Adds>
std::string the_owner_adds_with_the_others(stage& s, Adds adds) {
  constexpr std::size_t through = 4096;
  constexpr std::size_t counts = 8192;
  const std::uint64_t rounds = s.rounds(most_rounds);
  s.word(0) = s.word(through) = 0;
  for (int r = 0; r < s.size(); ++r) s.word(counts + 8 * static_cast<std::size_t>(r)) = 0;
  s.fence();
  if (s.rank() == 0) {
    const std::atomic_ref word(s.word(0));
    while (s.size() > 1 && word.load(std::memory_order_relaxed) == 0) s.wait_a_turn();
    for (std::uint64_t i = 0; i < rounds; ++i) adds(i);
    const std::uint64_t yes = 1;
    for (int r = 1; r < s.size(); ++r) {
      if (s.done(r, s.put(r, through, &yes, 8)) != status::ok) return "put failed";
    }
    s.word(counts) = rounds;
  } else {
    const std::atomic_ref told(s.word(through));
    std::uint64_t mine = 0;
    do {
      std::uint64_t old = 0;
      if (s.done(0, s.add(0, 0, 1, &old)) != status::ok) return "fetch_add failed";
      ++mine;
    } while (told.load(std::memory_order_relaxed) == 0);
    const std::size_t at = counts + 8 * static_cast<std::size_t>(s.rank());
    if (s.done(0, s.put(0, at, &mine, 8)) != status::ok) return "put failed";
  }
  s.fence();
  std::uint64_t all = 0;
  for (int r = 0; r < s.size(); ++r) all += s.word(counts + 8 * static_cast<std::size_t>(r));
  const bool right = s.rank() != 0 || s.word(0) == all;
  s.fence();
  return right ? "" : "additions of the owner or of a peer were lost";
}

std::string the_owner_s_cpu_may_take_part(stage& s) {
  const auto& caps = s.fabric.caps();
  if ((caps.scope != amo_scope::none) != (caps.fetch_add || caps.compare_swap))
    return "a scope, and no atomics, or none";
  if (caps.scope != amo_scope::host || !caps.fetch_add) return "skip: scope host is not claimed";
  return the_owner_adds_with_the_others(
      s, [&](std::uint64_t) { std::atomic_ref(s.word(0)).fetch_add(1, std::memory_order_relaxed); });
}

// The owner adds by a load and a store, with a pause between, and calls its transport behind them. A transport that
// executes an addition of another rank meanwhile loses one of the two. Where the others share its core, they have it in
// some of the pauses.
std::string the_owner_s_calls_execute_atomics(stage& s) {
  const auto& caps = s.fabric.caps();
  if (!caps.amo_in_calls || !caps.fetch_add) return "skip: amo_in_calls is not claimed";
  return the_owner_adds_with_the_others(s, [&](std::uint64_t i) {
    constexpr int pauses = 20;
    constexpr std::uint64_t rounds_per_yield = 64;
    volatile std::uint64_t& word = s.word(0);
    const std::uint64_t was = word;
    for (int p = 0; p < pauses; ++p) arch::pause();
    if (i % rounds_per_yield == 0) std::this_thread::yield();
    word = was + 1;
    s.fabric.progress();
  });
}

// Each rank adds to, and swaps, a word of its own through the fabric. Once that is complete its CPU must find it: an
// owner looks at such words by loads, in every scope.
std::string the_owner_s_cpu_sees_what_is_complete(stage& s) {
  if (!s.fabric.caps().fetch_add || !s.fabric.caps().compare_swap) return "skip: atomics are not claimed";
  const std::uint64_t rounds = s.rounds(most_rounds);
  s.word(0) = 0;
  s.fence();
  const std::atomic_ref word(s.word(0));
  std::string& bad = s.seen;
  for (std::uint64_t i = 0; i < rounds && bad.empty(); ++i) {
    std::uint64_t old = 0;
    if (s.done(s.rank(), s.add(s.rank(), 0, 1, &old)) != status::ok) return "fetch_add failed";
    if (word.load(std::memory_order_acquire) != 2 * i + 1) bad = "a load of the CPU missed a completed fetch_add";
    if (old != 2 * i) bad = "a fetch_add returned another value than was there";
    if (s.done(s.rank(), s.swap(s.rank(), 0, 2 * i + 1, 2 * i + 2, &old)) != status::ok) return "compare_swap failed";
    if (word.load(std::memory_order_acquire) != 2 * i + 2) bad = "a load of the CPU missed a completed compare_swap";
  }
  s.fence();
  // The same of a peer's atomics: what has told that they are complete comes behind them.
  constexpr std::size_t told = 4096;
  s.word(0) = s.word(told) = 0;
  s.fence();
  const std::atomic_ref tells(s.word(told));
  const std::uint64_t turns = s.turns(2000);
  for (std::uint64_t i = 1; i <= turns; ++i) {
    std::uint64_t old = 0;
    if (s.done(s.next(), s.add(s.next(), 0, 1, &old)) != status::ok) return "fetch_add failed";
    if (s.done(s.next(), s.put(s.next(), told, &i, 8)) != status::ok) return "put failed";
    while (tells.load(std::memory_order_acquire) < i) s.wait_a_turn();
    if (word.load(std::memory_order_acquire) < i) bad = "a load of the CPU missed a peer's completed fetch_add";
  }
  s.fence();
  return bad;
}

// A claim and a read in one chain: the rank that wins the claim reads what was written before it.
std::string a_get_behind_a_compare_swap_is_after_it(stage& s) {
  if (!s.fabric.caps().compare_swap || !s.fabric.caps().chains())
    return "skip: chains with compare_swap are not claimed";
  if (s.size() < 2) return "skip: it takes two ranks";
  s.word(0) = s.word(64) = 0;
  s.fence();
  std::string& bad = s.seen;
  const std::uint64_t turns = s.turns(3000);
  if (s.rank() == 0) {
    for (std::uint64_t i = 1; i <= turns; ++i) {
      std::atomic_ref(s.word(64)).store(i, std::memory_order_relaxed);
      // Odd: there to be claimed. The word is the atomics' alone, where a CPU's store is not one of them.
      std::uint64_t old = 0;
      if (s.fabric.caps().scope == amo_scope::host) {
        std::atomic_ref(s.word(0)).store(2 * i + 1, std::memory_order_release);
      } else if (s.done(0, s.swap(0, 0, 2 * (i - 1), 2 * i + 1, &old)) != status::ok || old != 2 * (i - 1)) {
        return "the owner's compare_swap failed";
      }
      while (std::atomic_ref(s.word(0)).load(std::memory_order_acquire) != 2 * i) s.wait_a_turn();
    }
  } else if (s.rank() == 1) {
    for (std::uint64_t i = 1; i <= turns;) {
      std::uint64_t old = 0;
      std::uint64_t value = 0;
      const op both[] = {s.swap(0, 0, 2 * i + 1, 2 * i, &old), s.get(0, 64, &value, 8)};
      if (s.done(0, both) != status::ok) return "chain failed";
      if (old != 2 * i + 1) continue;
      if (value < i) bad = "the get behind a successful claim read an older value";
      ++i;
    }
  }
  s.fence();
  return bad;
}

// The steal word's protocol in small: an owner that shows indices, and peers that take them, all by compare-and-swap on
// one word {top:32, split:32}; each index must be taken once. The owner uses its CPU where the scope allows it.
std::string owner_and_thieves_share_a_word(stage& s) {
  if (!s.fabric.caps().compare_swap) return "skip: compare_swap is not claimed";
  if (s.size() < 2) return "skip: it takes two ranks";
  const std::uint64_t indices = s.turns(2000);
  constexpr std::uint64_t table = 4096;  // on rank 0: how often an index was taken
  const bool by_cpu = s.fabric.caps().scope == amo_scope::host;
  s.word(0) = 0;
  for (std::uint64_t i = 0; i < indices; ++i) s.word(table + 8 * i) = 0;
  s.fence();
  std::string& bad = s.seen;
  std::uint64_t seen = 0;
  std::uint64_t found = 0;
  const std::uint64_t one = 1;
  for (;;) {  // to the end, whatever is seen: the others take part
    if (s.rank() == 0) {
      seen = std::atomic_ref(s.word(0)).load(std::memory_order_acquire);
    } else if (s.done(0, s.get(0, 0, &seen, 8)) != status::ok) {
      return "get failed";
    }
    const std::uint64_t top = seen >> 32;
    const std::uint64_t split = seen & 0xffff'ffff;
    if (top == indices) break;
    if (s.rank() == 0) {
      if (split == indices || split - top >= 2) {
        s.wait_a_turn();
      } else if (by_cpu) {
        std::atomic_ref(s.word(0)).compare_exchange_strong(seen, seen + 1);
      } else if (s.done(0, s.swap(0, 0, seen, seen + 1, &found)) != status::ok) {
        return "the owner's compare_swap failed";
      }
    } else if (top != split) {
      if (s.done(0, s.swap(0, 0, seen, seen + (std::uint64_t{1} << 32), &found)) != status::ok)
        return "a thief's failed";
      if (found != seen) continue;
      std::uint64_t before = 0;
      if (s.done(0, s.get(0, table + 8 * top, &before, 8)) != status::ok) return "get failed";
      if (before != 0) bad = "index " + std::to_string(top) + " was taken twice";
      if (s.done(0, s.put(0, table + 8 * top, &one, 8)) != status::ok) return "put failed";
    }
  }
  s.fence();
  for (std::uint64_t i = 0; s.rank() == 0 && i < indices; ++i) {
    if (s.word(table + 8 * i) != 1) bad = "index " + std::to_string(i) + " was lost";
  }
  s.fence();
  return bad;
}

// A guard lets a transport stop behind a compare_swap that failed, and changes nothing else.
std::string a_guard_stops_only_what_it_guards(stage& s) {
  if (!s.fabric.caps().compare_swap || !s.fabric.caps().chains())
    return "skip: chains with compare_swap are not claimed";
  const std::uint64_t value = 77;
  for (int round = 0; round < 200; ++round) {
    for (std::size_t at = 0; at < 64; at += 8) s.word(at) = 5;
    s.fence();
    std::uint64_t old[3] = {};
    op won = s.swap(s.next(), 0, 5, 6, &old[0]);
    op lost = s.swap(s.next(), 16, 4, 6, &old[1]);
    op guarded = s.swap(s.next(), 32, 4, 6, &old[2]);
    won.guard = guarded.guard = true;
    const op behind_won[] = {won, s.put(s.next(), 8, &value, 8)};
    const op behind_lost[] = {lost, s.put(s.next(), 24, &value, 8)};
    const op behind_guard[] = {guarded, s.put(s.next(), 40, &value, 8)};
    for (const auto& chain : {behind_won, behind_lost, behind_guard}) {
      if (s.done(s.next(), std::span(chain, 2)) != status::ok) return "chain failed";
    }
    s.fence();
    std::string& bad = s.seen;
    if (old[0] != 5 || s.word(0) != 6) bad = "a compare_swap with a guard did not swap";
    if (s.word(8) != value) bad = "the operation behind a guard that held was not executed";
    if (old[1] != 5 || s.word(16) != 5) bad = "a compare_swap that failed has changed its word";
    if (s.word(24) != value) bad = "a compare_swap without a guard has stopped its chain";
    if (old[2] != 5 || s.word(32) != 5) bad = "a guard that failed returned a wrong value";
    if (s.word(40) != 5 && s.word(40) != value) bad = "the word behind a guard that failed is neither old nor new";
    s.fence();
    if (!bad.empty()) return bad;
  }
  return "";
}

std::string atomics_need_no_poll_of_the_target(stage& s) {
  s.word(0) = 7;
  if (!s.fabric.caps().passive_amo) {
    if (s.size() < 2 || !s.fabric.caps().fetch_add) return "skip: passive_amo is not claimed";
    std::uint64_t old = 0;
    return "skip: passive_amo is not claimed; " + std::to_string(s.done_while_asleep(s.add(1, 0, 1, &old))) + " of " +
           std::to_string(stage::naps) + " additions were complete while the target slept";
  }
  s.fall_asleep();
  std::string& bad = s.seen;
  if (s.rank() == 0) {
    std::uint64_t old = 0;
    s.or_say("passive_amo is claimed, and no addition is complete while the target sleeps", [&] {
      if (s.done(s.next(), s.add(s.next(), 0, 1, &old)) != status::ok || old != 7) bad = "fetch_add did not complete";
    });
  }
  s.wake_up();
  return bad;
}

constexpr rule rules[] = {
    {"fetch-add-exact", fetch_add_gives_each_value_once},
    {"fetch-add-unique", fetch_add_is_unique_among_ranks},
    {"compare-swap-exact", compare_swap_swaps_what_it_expects},
    {"compare-swap-excludes", compare_swap_excludes},
    {"amo-scope-host", the_owner_s_cpu_may_take_part},
    {"amo-in-calls", the_owner_s_calls_execute_atomics},
    {"amo-seen-by-the-cpu", the_owner_s_cpu_sees_what_is_complete},
    {"claim-then-get", a_get_behind_a_compare_swap_is_after_it},
    {"owner-and-thieves", owner_and_thieves_share_a_word},
    {"chain-guard", a_guard_stops_only_what_it_guards},
    {"passive-amo", atomics_need_no_poll_of_the_target},
};

}  // namespace

std::span<const rule> atomic_rules() { return rules; }

}  // namespace tobi::conformance
