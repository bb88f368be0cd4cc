// SPDX-License-Identifier: Apache-2.0
// Puts and gets: integrity, order in a chain, completion, passivity.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>

#include "arch/clock.hpp"
#include "tools/conform/rules.hpp"

namespace tobi::conformance {

namespace {

using transports::op;

std::byte pattern(std::size_t i, int seed) {
  return static_cast<std::byte>((i * 131 + static_cast<std::size_t>(seed) * 17 + 5) & 0xff);
}

constexpr std::size_t sizes[] = {1, 2, 3, 7, 8, 9, 15, 16, 64, 255, 256, 257, 264, 4095, 4096, 65537, 1u << 20};
constexpr std::size_t offsets[] = {0, 1, 3, 8, 4093};

std::string put_moves_exactly_its_bytes(stage& s) {
  if (s.done(s.next(), s.put(s.next(), 8, s.local(), 0)) != status::ok) return "a put of 0 bytes failed";
  std::vector<std::byte> source(sizes[std::size(sizes) - 1] + 8);
  for (const std::size_t n : sizes) {
    if (n > s.fabric.caps().put_max) break;
    for (const std::size_t at : offsets) {
      std::memset(s.local(), 0xee, at + n + 16);
      s.fence();
      for (std::size_t i = 0; i < n; ++i) source[i] = pattern(i, s.rank());
      if (s.done(s.next(), s.put(s.next(), at + 8, source.data(), n)) != status::ok) return "put failed";
      s.fence();
      const int from = (s.rank() + s.size() - 1) % s.size();
      for (std::size_t i = 0; i < n; ++i) {
        if (*s.local(at + 8 + i) != pattern(i, from))
          return "byte " + std::to_string(i) + " of " + std::to_string(n) + " is wrong";
      }
      if (*s.local(at + 7) != std::byte{0xee} || *s.local(at + 8 + n) != std::byte{0xee})
        return "a byte next to the put has changed";
      s.fence();
    }
  }
  return "";
}

std::string get_moves_exactly_its_bytes(stage& s) {
  if (s.done(s.next(), s.get(s.next(), 8, s.local(), 0)) != status::ok) return "a get of 0 bytes failed";
  std::vector<std::byte> target(sizes[std::size(sizes) - 1] + 16);
  for (const std::size_t n : sizes) {
    if (n > s.fabric.caps().put_max) break;
    for (const std::size_t at : offsets) {
      for (std::size_t i = 0; i < n; ++i) *s.local(at + i) = pattern(i, s.rank());
      s.fence();
      std::memset(target.data(), 0xee, n + 16);
      if (s.done(s.next(), s.get(s.next(), at, target.data() + 8, n)) != status::ok) return "get failed";
      for (std::size_t i = 0; i < n; ++i) {
        if (target[8 + i] != pattern(i, s.next()))
          return "byte " + std::to_string(i) + " of " + std::to_string(n) + " is wrong";
      }
      if (target[7] != std::byte{0xee} || target[8 + n] != std::byte{0xee}) return "a byte next to the get has changed";
      s.fence();
    }
  }
  return "";
}

// A writer raises two words, second after first, in one chain; a reader that sees the second must see the first as
// high.
std::string a_chain_takes_effect_in_order(stage& s) {
  if (!s.fabric.caps().chains()) return "skip: chains are not claimed";
  const std::uint64_t rounds = s.rounds(20000);
  s.word(0) = s.word(4096) = 0;
  s.fence();
  std::string& bad = s.seen;
  if (s.rank() == 0) {
    for (std::uint64_t i = 1; i <= rounds; ++i) {
      const op both[] = {s.put(s.next(), 0, &i, 8), s.put(s.next(), 4096, &i, 8)};
      if (s.done(s.next(), both) != status::ok) return "put failed";
    }
  } else if (s.rank() == 1 || s.size() == 1) {
    for (std::uint64_t second = 0; second < rounds;) {
      s.wait_a_turn();
      second = std::atomic_ref(s.word(4096)).load(std::memory_order_acquire);
      if (std::atomic_ref(s.word(0)).load(std::memory_order_acquire) < second)
        bad = "the second put was seen before the first";
    }
  }
  s.fence();
  return bad;
}

// Store buffering: each of two ranks puts its own word, then gets the other's, in one chain. Both reading the old value
// means that a get has overtaken a put.
std::string a_get_does_not_overtake_a_put_of_its_chain(stage& s) {
  if (!s.fabric.caps().chains()) return "skip: chains are not claimed";
  if (s.size() < 2) return "skip: it takes two ranks";
  // Rank 0 says when it is enough: a machine that others share may be a hundred times slower a moment later.
  constexpr std::uint64_t enough = ~std::uint64_t{0};
  constexpr std::uint64_t seconds_ns = 5'000'000'000;
  const std::uint64_t rounds = s.turns(3000);
  s.word(128) = s.word(192) = 0;
  s.fence();
  const std::uint64_t begin = arch::now_ns();
  std::string& bad = s.seen;
  for (std::uint64_t i = 1; i <= rounds; ++i) {
    std::uint64_t seen = 0;
    const std::uint64_t one = 1;
    if (s.rank() == 0 && arch::now_ns() - begin > seconds_ns) {
      std::atomic_ref(s.word(128)).store(enough, std::memory_order_release);
      break;
    }
    if (s.rank() == 0) {
      std::atomic_ref(s.word(0)).store(0);
      std::atomic_ref(s.word(64)).store(0);
      std::atomic_ref(s.word(128)).store(i, std::memory_order_release);  // go
    } else if (s.rank() == 1) {
      std::uint64_t go = 0;
      while (go != i && go != enough) {
        if (s.done(0, s.get(0, 128, &go, 8)) != status::ok) return "get failed";
      }
      if (go == enough) break;
    }
    if (s.rank() < 2) {
      const std::uint64_t mine = s.rank() == 0 ? 0 : 64;
      const op both[] = {s.put(0, mine, &one, 8), s.get(0, 64 - mine, &seen, 8)};
      if (s.done(0, both) != status::ok) return "chain failed";
    }
    // The round is a part of the answer: the one before may be written again over what would mark the word as read.
    const std::uint64_t answer = 2 * i + seen;
    if (s.rank() == 1 && s.done(0, s.put(0, 192, &answer, 8)) != status::ok) return "put failed";
    if (s.rank() == 0) {
      std::uint64_t theirs = 0;
      while ((theirs = std::atomic_ref(s.word(192)).load(std::memory_order_acquire)) / 2 != i) s.wait_a_turn();
      if (seen == 0 && theirs % 2 == 0) bad = "both gets overtook the puts before them";
    }
  }
  s.fence();
  return bad;
}

// A chain's get reads what the operations before it have written: the same word, by the same rank, so nothing else can
// be the reason.
std::string a_get_reads_what_its_chain_has_written(stage& s) {
  if (!s.fabric.caps().chains()) return "skip: chains are not claimed";
  const std::uint64_t rounds = s.rounds(2000);
  s.word(0) = s.word(8) = 0;
  s.fence();
  for (std::uint64_t i = 1; i <= rounds; ++i) {
    std::uint64_t seen = 0;
    const op both[] = {s.put(s.next(), 0, &i, 8), s.get(s.next(), 0, &seen, 8)};
    if (s.done(s.next(), both) != status::ok) return "chain failed";
    if (seen != i) return "a get has read what was there before the put of its chain";
    if (!s.fabric.caps().fetch_add) continue;
    std::uint64_t old = 0;
    const op claim[] = {s.add(s.next(), 8, 1, &old), s.get(s.next(), 8, &seen, 8)};
    if (s.done(s.next(), claim) != status::ok) return "chain failed";
    if (seen != i) return "a get has read what was there before the fetch_add of its chain";
  }
  s.fence();
  return "";
}

// The owner's CPU stores next to a word that a peer puts: none of either is lost. A device that writes whole lines, or
// a CPU that writes an old one back, would lose some.
std::string a_put_and_stores_next_to_it_all_remain(stage& s) {
  const std::uint64_t rounds = s.rounds(2000);
  s.word(0) = s.word(8) = 0;
  s.fence();
  const std::atomic_ref mine(s.word(8));
  std::uint64_t stored = 0;
  std::string& bad = s.seen;
  for (std::uint64_t i = 1; i <= rounds; ++i) {
    std::uint64_t back = 0;
    const op one = s.put(s.next(), 0, &i, 8);
    if (s.posted(s.next(), {&one, 1}) != status::ok) return "put failed";
    status got = status::again;
    while (got == status::again) {
      if (mine.load(std::memory_order_relaxed) != stored) bad = "a store was lost next to a peer's put";
      mine.store(++stored, std::memory_order_relaxed);
      got = s.fabric.flush(s.next());
      s.wait_a_turn();
    }
    if (got != status::ok || s.done(s.next(), s.get(s.next(), 0, &back, 8)) != status::ok) return "put failed";
    if (back != i) bad = "a put was lost next to stores of its target's CPU";
  }
  s.fence();
  return bad;
}

// The owner's CPU writes a value, and then the word that says so; a reader gets the word and the value, far from each
// other, in one chain. Where that is not promised it is looked at all the same: what a device does is worth knowing.
std::string a_get_reads_behind_the_get_before_it(stage& s) {
  if (!s.fabric.caps().chains()) {
    return s.fabric.caps().ordered_gets ? "ordered_gets is claimed without chains" : "skip: chains are not claimed";
  }
  if (s.size() < 2) return "skip: it takes two ranks";
  constexpr std::size_t word = 0;
  constexpr std::size_t value = 1u << 20;  // another page: its address is translated apart
  constexpr std::size_t end = 64;
  s.word(word) = s.word(value) = s.word(end) = 0;
  s.fence();
  std::uint64_t too_early = 0;
  std::uint64_t chains = 0;
  if (s.rank() == 0) {
    for (std::uint64_t i = 1; std::atomic_ref(s.word(end)).load(std::memory_order_acquire) == 0; ++i) {
      std::atomic_ref(s.word(value)).store(i, std::memory_order_relaxed);
      std::atomic_ref(s.word(word)).store(i, std::memory_order_release);
      if (i % 64 == 0) s.wait_a_turn();
    }
  } else if (s.rank() == 1) {
    const std::uint64_t rounds = s.rounds(20000);
    for (; chains < rounds; ++chains) {
      std::uint64_t says = 0;
      std::uint64_t is = 0;
      const op both[] = {s.get(0, word, &says, 8), s.get(0, value, &is, 8)};
      if (s.done(0, both) != status::ok) return "chain failed";
      if (is < says) ++too_early;
    }
    const std::uint64_t told[] = {1, too_early, chains};
    const op all[] = {s.put(0, end + 8, &told[1], 16), s.put(0, end, &told[0], 8)};
    if (s.done(0, all) != status::ok) return "put failed";
  }
  s.fence();
  if (s.rank() == 0) {
    too_early = s.word(end + 8);
    chains = s.word(end + 16);
  }
  if (s.fabric.caps().ordered_gets) {
    return too_early == 0 ? "" : "the second get of " + std::to_string(too_early) + " chains read before the first";
  }
  return "skip: ordered_gets is not claimed; in " + std::to_string(too_early) + " of " + std::to_string(chains) +
         " chains the second get has read before the first";
}

// Buffers of a registered region may be used by the fabric in place.
std::string registered_buffers_work_too(stage& s) {
  const std::size_t n = std::min<std::size_t>(100'000, s.fabric.caps().put_max);
  constexpr std::size_t from = 1u << 20;
  constexpr std::size_t to = 2u << 20;
  constexpr std::size_t back = 3u << 20;
  for (std::size_t i = 0; i < n; ++i) *s.local(from + i) = pattern(i, s.rank());
  s.fence();
  if (s.done(s.next(), s.put(s.next(), to, s.local(from), n)) != status::ok) return "put failed";
  if (s.done(s.next(), s.get(s.next(), to, s.local(back), n)) != status::ok) return "get failed";
  s.fence();
  if (std::memcmp(s.local(from), s.local(back), n) != 0) return "what was put did not come back";
  for (std::size_t i = 0; i < n; ++i) {
    if (*s.local(to + i) != pattern(i, (s.rank() + s.size() - 1) % s.size())) return "a byte is wrong";
  }
  s.fence();
  return "";
}

// The words of one put change while a reader looks: each word it sees must be one that was written, not a mixture.
std::string aligned_words_do_not_tear(stage& s) {
  const std::uint64_t rounds = s.rounds(20000);
  std::memset(s.local(), 0, 256);
  s.fence();
  std::string& bad = s.seen;
  if (s.rank() == 0) {
    std::uint64_t block[32];
    for (std::uint64_t i = 1; i <= rounds; ++i) {
      for (auto& w : block) w = (i & 0xff) * 0x0101010101010101u;
      if (s.done(s.next(), s.put(s.next(), 0, block, sizeof block)) != status::ok) return "put failed";
    }
    const std::uint64_t last = 1;
    if (s.done(s.next(), s.put(s.next(), 512, &last, 8)) != status::ok) return "put failed";
  } else if (s.rank() == 1) {
    std::uint64_t block[32];
    while (std::atomic_ref(s.word(512)).load(std::memory_order_acquire) == 0) {
      if (s.done(1, s.get(1, 0, block, sizeof block)) != status::ok) return "get failed";
      for (const std::uint64_t w : block) {
        if (w != (w & 0xff) * 0x0101010101010101u) bad = "a word was seen half written";
      }
    }
  }
  s.fence();
  s.word(512) = 0;
  s.fence();
  return bad;
}

// Dekker: rank 0 puts X, waits until that is complete, and gets Y; rank 1 stores Y and loads X by its CPU. Not both may
// miss what the other has written. Rank 1 notes what it saw of X behind each value of Y.
// A word has its last value when it is seen: the target may mark it as read at once, long before the initiator knows
// that the put is complete. Then it looks at its mark until all is complete.
std::string a_word_is_written_once(stage& s) {
  if (s.size() < 2) return "skip: this takes two ranks";
  constexpr std::size_t word_at = 192;
  constexpr std::size_t ended_at = 256;
  const std::uint64_t rounds = s.turns(20000);
  std::string& bad = s.seen;
  s.word(word_at) = s.word(ended_at) = 0;
  s.fence();
  for (std::uint64_t i = 1; i <= rounds; ++i) {
    if (s.rank() == 0) {
      if (s.done(1, s.put(1, word_at, &i, 8)) != status::ok) return "put failed";
      if (s.done(1, s.put(1, ended_at, &i, 8)) != status::ok) return "put failed";
    } else if (s.rank() == 1) {
      const std::atomic_ref word(s.word(word_at));
      const std::atomic_ref ended(s.word(ended_at));
      // As closely as can be: a device's second store may follow the first one at once.
      const unsigned looks = s.fabric.caps().passive_rma ? 4096 : 1;
      for (unsigned n = 1; word.load(std::memory_order_acquire) == 0; ++n) {
        if (n % looks == 0) s.wait_a_turn({nullptr, 0});
      }
      word.store(0, std::memory_order_release);
      while (ended.load(std::memory_order_acquire) != i) {
        if (word.load(std::memory_order_relaxed) != 0) bad = "a word was written again when it had been seen";
        s.wait_a_turn({nullptr, 0});
      }
      if (word.load(std::memory_order_relaxed) != 0) bad = "a word was written again when it had been seen";
      word.store(0, std::memory_order_release);
    }
    s.fence();
  }
  return bad;
}

std::string a_complete_put_is_seen(stage& s) {
  if (s.size() < 2) return "skip: this takes two ranks";
  constexpr std::size_t x_at = 0;
  constexpr std::size_t y_at = 4096;
  constexpr std::size_t got_at = 64u << 10;
  constexpr std::size_t noted_at = 1u << 20;
  constexpr std::uint64_t most = (stage::bytes - noted_at) / 8;
  constexpr std::uint64_t each = 2000;
  const std::uint64_t batches =
      std::max<std::uint64_t>(1, std::min<std::uint64_t>(s.rounds(40 * each) / each, s.turns(40)));
  const std::uint64_t puts = std::min(each, s.rounds(each));
  std::string& bad = s.seen;
  for (std::uint64_t batch = 0; batch < batches; ++batch) {
    s.word(x_at) = s.word(y_at) = 0;
    s.fence();
    if (s.rank() == 0) {
      auto* got = &s.word(got_at);
      for (std::uint64_t i = 1; i <= puts && bad.empty(); ++i) {
        if (s.done(1, s.put(1, x_at, &i, 8)) != status::ok) bad = "put failed";
        if (s.done(1, s.get(1, y_at, &got[i - 1], 8)) != status::ok) bad = "get failed";
      }
      for (std::uint64_t sent = 0, n = 0; sent < puts * 8 && bad.empty(); sent += n) {
        n = std::min(puts * 8 - sent, s.fabric.caps().put_max);
        if (s.done(1, s.put(1, got_at + sent, s.local(got_at + sent), n)) != status::ok) bad = "put failed";
      }
    } else if (s.rank() == 1) {
      const std::atomic_ref x(s.word(x_at));
      const std::atomic_ref y(s.word(y_at));
      auto* noted = &s.word(noted_at);
      for (std::uint64_t seen = 0, i = 1; seen < puts && i < most; ++i) {
        y.store(i, std::memory_order_relaxed);
        std::atomic_thread_fence(std::memory_order_seq_cst);
        noted[i] = seen = x.load(std::memory_order_relaxed);
        if (!s.fabric.caps().passive_rma) s.fabric.progress();
      }
    }
    s.fence();
    for (std::uint64_t i = 1; s.rank() == 1 && bad.empty() && i <= puts; ++i) {
      const std::uint64_t next = (&s.word(got_at))[i - 1] + 1;
      if (next <= s.word(y_at) && (&s.word(noted_at))[next] < i) bad = "a put that was complete was not seen";
    }
    s.fence();
  }
  return bad;
}

// The target sleeps and never polls. What is claimed to be passive completes all the same.
std::string the_target_need_not_poll(stage& s) {
  s.word(0) = 0;
  if (!s.fabric.caps().passive_rma) {
    if (s.size() < 2) return "skip: passive_rma is not claimed";
    std::uint64_t back = 0;
    return "skip: passive_rma is not claimed; " + std::to_string(s.done_while_asleep(s.get(1, 0, &back, 8))) + " of " +
           std::to_string(stage::naps) + " gets were complete while the target slept";
  }
  s.fall_asleep();
  std::string& bad = s.seen;
  if (s.rank() == 0) {
    const std::uint64_t value = 42;
    std::uint64_t back = 0;
    s.or_say("passive_rma is claimed, and nothing is complete while the target sleeps", [&] {
      if (s.done(s.next(), s.put(s.next(), 0, &value, 8)) != status::ok) bad = "put failed";
      if (s.done(s.next(), s.get(s.next(), 0, &back, 8)) != status::ok || back != 42) {
        bad = "the value did not come back";
      }
    });
  }
  s.wake_up();
  return bad;
}

std::string a_mapped_region_is_the_region(stage& s) {
  std::byte* there = s.fabric.map(s.region(s.next()));
  if (!s.fabric.caps().maps_peers)
    return there == nullptr ? "" : "map() returns a pointer although maps_peers is not claimed";
  if (there == nullptr) return "map() returns null although maps_peers is claimed";
  const auto mine = static_cast<std::uint64_t>(s.rank()) + 1000;
  s.word(64) = mine;
  s.fence();
  std::uint64_t got = 0;
  if (s.done(s.next(), s.get(s.next(), 64, &got, 8)) != status::ok) return "get failed";
  std::uint64_t mapped = 0;
  std::memcpy(&mapped, there + 64, sizeof mapped);
  s.fence();
  return mapped == got && got == static_cast<std::uint64_t>(s.next()) + 1000
             ? ""
             : "the mapped word is not the one that get() sees";
}

std::string a_put_within_inline_max_releases_its_buffer(stage& s) {
  const std::size_t n = std::min<std::size_t>(s.fabric.caps().inline_max, 4096);
  if (n < 64) return "inline_max is " + std::to_string(n) + ", and 64 is the least";
  s.fence();
  // Each to a place of its own: chains that were posted apart are not ordered.
  constexpr std::size_t rounds = 100;
  for (std::size_t round = 0; round < rounds; ++round) {
    std::vector<std::byte> buffer(n, static_cast<std::byte>(round));
    const op one = s.put(s.next(), round * n, buffer.data(), n);
    while (s.fabric.post(s.next(), {&one, 1}) == status::again) s.wait_a_turn();
    std::fill(buffer.begin(), buffer.end(), std::byte{0xff});
  }
  while (s.fabric.flush(s.next()) == status::again) s.wait_a_turn();
  s.fence();
  std::string& bad = s.seen;
  for (std::size_t i = 0; i < rounds * n; ++i) {
    if (*s.local(i) != static_cast<std::byte>(i / n)) bad = "the buffer was read after post() returned";
  }
  s.fence();
  return bad;
}

// What was posted unordered is complete at flush all the same, each operation of it once.
std::string unordered_operations_are_all_executed(stage& s) {
  const std::size_t most = std::min<std::size_t>(s.fabric.caps().chain_max, 16);
  const std::uint64_t rounds = s.rounds(200);
  constexpr std::size_t written = 4096;
  std::uint64_t values[16];
  std::uint64_t seen[16];
  std::string& bad = s.seen;
  for (std::size_t i = 0; i < most; ++i) s.word(8 * i) = 1000 + i;
  s.fence();
  for (std::uint64_t round = 1; round <= rounds && bad.empty(); ++round) {
    op ops[16];
    for (std::size_t i = 0; i < most; ++i) {
      values[i] = round * 16 + i;
      seen[i] = 0;
      ops[i] = i % 2 == 0 ? s.get(s.next(), 8 * i, &seen[i], 8) : s.put(s.next(), written + 8 * i, &values[i], 8);
    }
    status got = status::again;
    while ((got = s.fabric.post_unordered(s.next(), {ops, most})) == status::again) s.wait_a_turn();
    if (got == status::ok) {
      while ((got = s.fabric.flush(s.next())) == status::again) s.wait_a_turn();
    }
    if (got != status::ok) bad = "posting unordered returns " + std::string(to_string(got));
    for (std::size_t i = 0; i < most && bad.empty(); ++i) {
      std::uint64_t there = seen[i];
      if (i % 2 != 0 && s.done(s.next(), s.get(s.next(), written + 8 * i, &there, 8)) != status::ok) bad = "get failed";
      if (there != (i % 2 == 0 ? 1000 + i : values[i])) bad = "operation " + std::to_string(i) + " was not executed";
    }
  }
  s.fence();
  return bad;
}

constexpr rule rules[] = {
    {"put-integrity", put_moves_exactly_its_bytes},
    {"get-integrity", get_moves_exactly_its_bytes},
    {"registered-buffers", registered_buffers_work_too},
    {"chain-order-of-puts", a_chain_takes_effect_in_order},
    {"chain-order-put-then-get", a_get_does_not_overtake_a_put_of_its_chain},
    {"chain-order-of-one-word", a_get_reads_what_its_chain_has_written},
    {"chain-order-of-gets", a_get_reads_behind_the_get_before_it},
    {"unordered", unordered_operations_are_all_executed},
    {"stores-next-to-puts", a_put_and_stores_next_to_it_all_remain},
    {"words-do-not-tear", aligned_words_do_not_tear},
    {"word-written-once", a_word_is_written_once},
    {"complete-put-is-seen", a_complete_put_is_seen},
    {"passive-rma", the_target_need_not_poll},
    {"direct-map", a_mapped_region_is_the_region},
    {"inline-put", a_put_within_inline_max_releases_its_buffer},
};

}  // namespace

std::span<const rule> data_rules() { return rules; }

}  // namespace tobi::conformance
