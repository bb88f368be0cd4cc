// SPDX-License-Identifier: Apache-2.0
// lane: sleeps, 5 s
// Checkouts that are held, in whole jobs: noted in place where the memory is used as it stands, and by the cache where
// it is not. Programs hold both, more than have room in place, and end them in any order.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>

#include "arch/context.hpp"
#include "global_places.hpp"
#include "libcore/base/rng.hpp"
#include "libcore/pgas/memory.hpp"

namespace {

using tobi::global_span;

constexpr std::size_t chunks = 24, chunk = 512;  // 4 KiB each: a block, and half of them of the other node
constexpr std::size_t at_once = 40;

// What a task holds, and what it has written.
struct holder {
  struct held {
    std::size_t which;
    std::size_t length;  // from the chunk's begin on; a reader may have less than all
    tobi::access how;
  };
  global_span<long> a;
  std::array<held, at_once> all;
  std::size_t count = 0;
  std::array<long, chunks> expected{};  // of each element of a chunk
  std::array<int, chunks> readers{};    // -1: one that writes

  [[nodiscard]] long* at(std::size_t which) const { return a.data().raw() + which * chunk; }
  [[nodiscard]] bool is_right(const held& h) const {
    const long* const p = at(h.which);
    const long value = expected[h.which];
    return p[0] == value && p[h.length / 3] == value && p[h.length - 1] == value;
  }
  // False: it does not read what was written.
  bool open(const held& h, bool wait) {
    const auto [which, length, how] = h;
    if (count == at_once || readers[which] == -1 || (how != tobi::access::read && readers[which] != 0)) return true;
    if (wait) {
      tobi::checkout_raw(at(which), length * sizeof(long), how);
    } else {
      tobi::global_calls::checkout_nb(at(which), length * sizeof(long), static_cast<std::uint32_t>(how));
      tobi::global_calls::wait();
    }
    readers[which] = how == tobi::access::read ? readers[which] + 1 : -1;
    all[count++] = h;
    if (how != tobi::access::write && !is_right(h)) return false;
    if (how == tobi::access::read) return true;
    ++expected[which];
    for (std::size_t i = 0; i < chunk; ++i) at(which)[i] = expected[which];
    return true;
  }
  bool close(std::size_t i) {
    const held ends = all[i];
    if (!is_right(ends)) return false;
    tobi::checkin_raw(at(ends.which), ends.length * sizeof(long), ends.how);
    readers[ends.which] = ends.how == tobi::access::read ? readers[ends.which] - 1 : 0;
    all[i] = all[--count];
    return true;
  }
};

// Whether each fork is refused exactly where something is HELD. Another bell may ring, too: a fork is refused by chance.
bool rings_if(bool held) { return (tobi_hot.doorbell == &tobi::pgas::held_rings) == held; }

// 0: it is right.
int random_program(global_span<long> a, global_span<long> counter, std::uint64_t seed) {
  tobi::base::rng any(seed);
  holder h{a, {}};
  long added = 0;
  for (std::size_t which = 0; which < chunks; ++which) {
    if (!h.open({which, chunk, tobi::access::write}, true) || !h.close(0)) return 2;
  }
  for (int round = 0; round < 40; ++round) {
    const std::uint64_t most = 1 + any.uniform(at_once);
    for (int step = 0; step < 60; ++step) {
      if (h.count < most && any.uniform(5) < 3) {
        const std::size_t which = any.uniform(chunks);
        const bool reads = any.uniform(4) != 0;
        const std::size_t length = reads && any.uniform(2) == 0 ? chunk / 2 : chunk;
        const auto writing = any.uniform(2) == 0 ? tobi::access::write : tobi::access::read_write;
        if (!h.open({which, length, reads ? tobi::access::read : writing}, any.uniform(2) == 0)) return 3;
      } else if (h.count != 0) {
        if (!h.close(any.uniform(3) == 0 ? any.uniform(h.count) : h.count - 1)) return 4;
      }
      if (!rings_if(h.count != 0)) return 8;
      if (any.uniform(10) == 0) {  // while it waits to be sent, checkouts are none in place
        const long one = 1;
        tobi::accumulate(counter.data() + static_cast<std::ptrdiff_t>(any.uniform(counter.size())), &one, 1);
        ++added;
      }
    }
    while (h.count != 0) {
      if (!h.close(any.uniform(h.count))) return 5;
    }
    // Nothing is held: a fork is no mistake, and its child finds what was written.
    const std::size_t which = any.uniform(chunks);
    auto child = tobi::spawn([=] { return tobi::load(&a[which * chunk + 7]); });
    if (child.join() != h.expected[which]) return 6;
  }
  long all = 0;
  for (const long x : tobi::checkout(counter, tobi::mode::read)) all += x;
  return all == added ? 0 : 7;
}

TEST(held_checkouts, end_in_any_order) {
  in_each(small_caches(), [](tobi::runtime&) {
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      const auto a = tobi::allocate_all<long>(chunks * chunk, tobi::block());
      const auto counter = tobi::allocate_all<long>(16, tobi::block());
      const int wrong = tobi::run([=] {
        for (std::size_t i = 0; i < counter.size(); ++i) tobi::store(&counter[i], 0L);
        return random_program(a, counter, seed);
      });
      if (wrong != 0) return wrong;
      tobi::free_all(counter);
      tobi::free_all(a);
    }
    return 0;
  });
}

TEST(held_checkouts, are_counted) {
  in_each({{"alone", 1, {}}}, [](tobi::runtime& rt) {
    const auto a = tobi::allocate_all<long>(1000);
    rt.reset_stats();
    tobi::run([=] {
      for (std::size_t i = 0; i < 100; ++i) tobi::store(&a[i], 1L);
      const auto both = tobi::checkout(a, tobi::mode::read);
      const auto part = tobi::checkout_nb(a.first(10), tobi::mode::read);
      const auto none = tobi::checkout(a.first(0), tobi::mode::read);
      return both[0] + part[0] + static_cast<long>(none.size());
    });
    return rt.stats().global.checkouts == 102 && rt.stats().global.hits >= 101 ? 0 : 1;
  });
}

// Each of these alone, and more than have room in place.
TEST(held_checkouts, make_forks_mistakes_until_the_last_has_ended) {
  for (const std::size_t so_many : {1, 2, 16, 17, 40}) {
    SCOPED_TRACE(so_many);
    const outcome o = in_place({"alone", 1, {}}, [=](tobi::runtime&) {
      const auto a = tobi::allocate_all<char>(1 << 16);
      tobi::run([=] {
        char* const at = a.data().raw();
        tobi::store(a.data(), 'x');
        for (std::size_t i = 0; i < so_many; ++i) tobi::checkout_raw(at + i, 1, tobi::access::read);
        for (std::size_t i = 1; i < so_many; ++i) tobi::checkin_raw(at + i, 1, tobi::access::read);
        auto child = tobi::spawn([] { return 1; });
        return child.join();
      });
      return 0;
    });
    EXPECT_EQ(o.status, 1);
    EXPECT_NE(o.said.find("a checkout of 1 bytes is held across a fork"), std::string::npos) << o.said;
  }
}

// As those are that the cache notes.
TEST(held_checkouts, are_met_by_updates_gets_and_puts) {
  const auto refused = [](const char* words, auto use) {
    SCOPED_TRACE(words);
    const outcome o = in_place({"alone", 1, {}}, [=](tobi::runtime&) {
      const auto a = tobi::allocate_all<long>(1000);
      tobi::run([=] {
        tobi::store(&a[0], 1L);  // so that what follows is noted in place
        const auto held = tobi::checkout(a.first(10), tobi::mode::write);
        if (tobi_hot.doorbell != &tobi::pgas::held_rings || tobi::pgas::in_place::none()) return;
        use(a);
      });
      return 0;
    });
    EXPECT_NE(o.status, 0);
    EXPECT_NE(o.said.find(words), std::string::npos) << o.said;
  };
  using array = global_span<long>;
  refused("overlaps a checkout of 80 bytes that this task holds", [](array a) { tobi::fetch_add(&a[9], 1); });
  refused("tobi::get of 16 bytes overlaps a checkout of 80 bytes", [](array a) {
    std::array<long, 2> two{};
    tobi::get(a.subspan(9, 2), two);
  });
  refused("tobi::put of 16 bytes overlaps a checkout of 80 bytes", [](array a) {
    const std::array<long, 2> two{};
    tobi::put(two, a.subspan(9, 2));
  });
  const outcome o = in_place({"alone", 1, {}}, [](tobi::runtime&) {
    const auto a = tobi::allocate_all<long>(1000);
    return tobi::run([=] {
      tobi::fill(a, 1L);
      const auto held = tobi::checkout(a.first(10), tobi::mode::read);
      std::array<long, 2> two{};
      tobi::get(a.subspan(9, 2), two);  // both read
      tobi::fetch_add(&a[10], 1);       // behind it
      return two[0] + two[1] == 2 ? 0 : 1;
    });
  });
  EXPECT_EQ(o.status, 0) << o.said;
}

TEST(held_checkouts, are_matched_by_all_that_they_are) {
  const auto checked_in = [](const char* words, std::size_t bytes, tobi::access how) {
    SCOPED_TRACE(words);
    const outcome o = in_place({"alone", 1, {}}, [=](tobi::runtime&) {
      const auto a = tobi::allocate_all<char>(1 << 16);
      char* const at = a.data().raw();
      tobi::store(a.data(), 'x');
      tobi::checkout_raw(at, 8, tobi::access::read);
      tobi::checkout_raw(at, 9, tobi::access::write);
      tobi::checkin_raw(at, 8, tobi::access::read);
      tobi::checkin_raw(at, bytes, how);
      return 0;
    });
    EXPECT_EQ(o.status, 1);
    EXPECT_NE(o.said.find("matches no checkout: what is held there is 9 bytes"), std::string::npos) << o.said;
  };
  checked_in("another use", 9, tobi::access::read);
  checked_in("fewer bytes", 8, tobi::access::write);
  checked_in("one twice", 8, tobi::access::read);
}

}  // namespace
