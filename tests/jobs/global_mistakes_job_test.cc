// SPDX-License-Identifier: Apache-2.0
// Mistakes with global memory, in whole jobs: each ends the job with one sentence, which names the rank.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <string>

#include "array_tasks.hpp"
#include "global_places.hpp"

namespace {

using tobi::global_span;

const place far{"far",
                2,
                {{"TOBI_NODES", "2"},
                 {"TOBI_TRANSPORT", "sim"},
                 {"TOBI_BLOCK_SIZE", "4K"},
                 {"TOBI_SUB_BLOCK_SIZE", "256"},
                 {"TOBI_CACHE_SIZE", "64K"}}};

template <class Body>
void expect_error(const char* words, Body body) {
  SCOPED_TRACE(words);
  for (const place& p : {far, place{"shm", 2, {}}}) {
    const outcome o = in_place(p, [=](tobi::runtime& rt) {
      const auto a = tobi::allocate_all<char>(1 << 20, tobi::block());
      rt.barrier();
      if (rt.rank() == 0) body(a);
      rt.barrier();
      return 0;
    });
    EXPECT_EQ(o.status, 1);
    EXPECT_NE(o.said.find(words), std::string::npos) << o.said;
    EXPECT_NE(o.said.find("rank 0"), std::string::npos) << o.said;
  }
}

TEST(global_mistakes, are_one_sentence) {
  using tobi::access;
  expect_error("matches no checkout",
               [](global_span<char> a) { tobi::checkin_raw(a.data().raw() + 5, 8, access::read); });
  expect_error("matches no checkout: what is held there is 8 bytes", [](global_span<char> a) {
    tobi::checkout_raw(a.data().raw() + 5, 8, access::read);
    tobi::checkin_raw(a.data().raw() + 5, 8, access::write);
  });
  expect_error("names memory that is not global", [](global_span<char>) {
    char local = 0;
    tobi::checkout_raw(&local, 1, access::read);
  });
  expect_error("freed, or never allocated",
               [](global_span<char> a) { tobi::checkout_raw(a.end().raw() + (1 << 24), 1, access::read); });
  expect_error("not there: it was freed before", [](global_span<char>) {
    const auto p = tobi::allocate_global<long>(3);
    tobi::free_global(p, 3);
    tobi::free_global(p, 3);
  });
  expect_error("not there: it was freed before, or has another size",
               [](global_span<char>) { tobi::free_global(tobi::allocate_global<long>(3), 4); });
  expect_error("a prefetch of 1 bytes names memory that is not global", [](global_span<char>) {
    char local = 0;
    tobi::prefetch(tobi::global_ptr<char>(&local), 1);
  });
  expect_error("a prefetch of 1 bytes names memory that was freed",
               [](global_span<char> a) { tobi::prefetch(a.end() + (1 << 24), 1); });
  expect_error("no task has allocated", [](global_span<char> a) { tobi::free_global(&a[0], 1); });
  expect_error("held across a barrier", [](global_span<char> a) {
    tobi::checkout_raw(a.data().raw() + 5, 8, access::read);
    // The barrier behind the body.
  });
  expect_error("out of global memory",
               [](global_span<char>) { (void)tobi::allocate_global<char>(std::size_t{1} << 40); });
}

TEST(global_mistakes, more_than_the_cache_holds) {
  const outcome o = in_place(far, [](tobi::runtime& rt) {
    const auto a = tobi::allocate_all<char>(1 << 20, tobi::block());
    if (rt.rank() == 0) (void)tobi::checkout(a, tobi::mode::read).size();
    return 0;
  });
  EXPECT_EQ(o.status, 1);
  EXPECT_NE(o.said.find("more than the 16 of the cache (64K)"), std::string::npos) << o.said;
}

// Rank 1's objects of 3 and of 100 longs, freed by rank 0 as so many. On the other node a look at them is a round trip.
TEST(global_mistakes, a_free_elsewhere_of_another_size) {
  place looks = far;
  looks.env.emplace_back("TOBI_DEBUG_GLOBAL", "1");
  for (const place& p : {looks, place{"shm", 2, {}}}) {
    for (const auto& [made, freed] : {std::pair{3, 4}, {3, 100}, {100, 3}, {3, 3}, {100, 100}}) {
      const outcome o = in_place(p, [made = made, freed = freed](tobi::runtime& rt) {
        const auto mine = tobi::allocate_global<long>(static_cast<std::size_t>(made));
        const auto all = rt.all_gather(mine);
        if (rt.rank() == 0) tobi::free_global(all[1], static_cast<std::size_t>(freed));
        rt.barrier();
        return 0;
      });
      EXPECT_EQ(o.status, made == freed ? 0 : 1) << p.name << ": " << made << " as " << freed;
      EXPECT_EQ(o.said.find("or has another size") != std::string::npos, made != freed) << o.said;
    }
  }
}

// What is named with TOBI_DEBUG_GLOBAL: AGAIN does something with an object of longs, which OWNER has made, and which
// rank 0 has freed if FREED.
template <class Again>
void expect_named(const char* words, int owner, std::size_t longs, bool freed, Again again) {
  SCOPED_TRACE(words);
  place looks = far;
  looks.env.emplace_back("TOBI_DEBUG_GLOBAL", "1");
  for (const place& p : {looks, place{"shm", 2, {{"TOBI_DEBUG_GLOBAL", "1"}}}}) {
    const outcome o = in_place(p, [=](tobi::runtime& rt) {
      const auto mine = tobi::allocate_global<long>(longs);
      const auto all = rt.all_gather(mine);
      const auto object = all[static_cast<std::size_t>(owner)];
      if (rt.rank() == 0) {
        tobi::store(object, 5L);
        if (freed) tobi::free_global(object, longs);
        again(object);
      }
      rt.barrier();
      return 0;
    });
    EXPECT_EQ(o.status, *words == 0 ? 0 : 1) << p.name;
    EXPECT_NE(o.said.find(words), std::string::npos) << p.name << ": " << o.said;
    if (*words == 0) {
      EXPECT_EQ(o.said, "") << p.name;
    }
  }
}

TEST(global_mistakes, an_object_is_used_that_was_freed) {
  using object = tobi::global_ptr<long>;
  const char* const gone = "names an object of global memory that was freed, or never allocated.";
  for (const int owner : {0, 1}) {
    for (const std::size_t longs : {1, 3, 32}) {
      expect_named(gone, owner, longs, true, [](object x) { (void)tobi::load(x); });
      expect_named("", owner, longs, false, [](object x) { (void)tobi::load(x); });
    }
    expect_named(gone, owner, 3, true, [](object x) { tobi::store(x + 2, 1L); });
    expect_named(gone, owner, 3, true, [](object x) { (void)tobi::fetch_add(x, 1); });
    expect_named("tobi::get of 8 bytes", owner, 3, true, [](object x) {
      std::array<long, 1> out{};
      tobi::get(tobi::global_span<long>(x, 1), out);
    });
  }
  // One with a header: its owner alone knows.
  expect_named(gone, 0, 100, true, [](object x) { (void)tobi::load(x + 99); });
  expect_named("", 0, 100, false, [](object x) { (void)tobi::load(x + 99); });
  expect_named("", 1, 100, false, [](object x) { (void)tobi::load(x + 99); });
}

TEST(global_mistakes, a_checkout_goes_beyond_its_object) {
  using object = tobi::global_ptr<long>;
  for (const int owner : {0, 1}) {
    expect_named("a checkout of 24 bytes, at ", owner, 3, false,
                 [](object x) { (void)tobi::checkout(x + 1, 3, tobi::mode::read)[0]; });
    expect_named("it begins 8 bytes into one of 24.", owner, 3, false,
                 [](object x) { (void)tobi::checkout(x + 1, 3, tobi::mode::read)[0]; });
    expect_named("", owner, 3, false, [](object x) { (void)tobi::checkout(x, 3, tobi::mode::read_write)[2]; });
  }
  expect_named("it begins 0 bytes into one of 800.", 0, 100, false,
               [](object x) { (void)tobi::checkout(x, 101, tobi::mode::read)[0]; });
  expect_named("", 0, 100, false, [](object x) { (void)tobi::checkout(x, 100, tobi::mode::read_write)[99]; });
}

TEST(global_mistakes, too_many_checkouts_held) {
  const outcome o = in_place(far, [](tobi::runtime& rt) {
    const auto a = tobi::allocate_all<char>(1 << 20, tobi::block());
    if (rt.rank() == 0) {
      for (std::size_t i = (1 << 19); i < (1 << 20); i += 4096) {
        tobi::checkout_raw(a.data().raw() + i, 1, tobi::access::read_write);
      }
    }
    rt.barrier();
    return 0;
  });
  EXPECT_EQ(o.status, 1);
  EXPECT_NE(o.said.find("cache of 16 blocks is full of checkouts that are held (17 of them"), std::string::npos)
      << o.said;
}

TEST(global_mistakes, held_across_a_fork) {
  for (const place& p : {far, place{"alone", 1, {}}}) {
    const outcome o = in_place(p, [](tobi::runtime&) {
      const auto a = tobi::allocate_all<long>(100);
      tobi::run([=] {
        auto held = tobi::checkout(a, tobi::mode::read);
        auto child = tobi::spawn([] { return 1; });
        return child.join() + held[0];
      });
      return 0;
    });
    EXPECT_EQ(o.status, 1);
    EXPECT_NE(o.said.find("held across a fork"), std::string::npos) << o.said;
  }
}

// A join that must wait: its child is elsewhere.
TEST(global_mistakes, held_across_a_join) {
  for (const char* sched : {"continuation_greedy", "continuation_stalling", "child_full", "child_rtc", "adws"}) {
    const place p{"join", 2, {{"TOBI_SCHED", sched}}};
    const outcome o = in_place(p, [](tobi::runtime&) {
      const auto a = tobi::allocate_all<long>(100);
      tobi::run([=] {
        for (;;) {  // until a thief has come in time
          auto child = tobi::spawn([] {
            for (int k = 0; k < 20; ++k) {
              usleep(100);
              tobi::poll();
            }
            return 1;
          });
          auto held = tobi::checkout(a, tobi::mode::read);
          (void)child.join();
        }
        return 0;
      });
      return 0;
    });
    EXPECT_EQ(o.status, 1) << sched;
    EXPECT_NE(o.said.find("held across a join"), std::string::npos) << sched << ": " << o.said;
  }
}

[[gnu::noinline]] void writes_here(global_span<long> a) {
  auto out = tobi::checkout(a, tobi::mode::write);
  for (long& x : out) x = 1;
  usleep(20'000);
}

// Two tasks that nothing orders, each of which holds the same range for a while.
TEST(global_mistakes, overlapping_writes_are_reported_with_both_places) {
  for (const char* transport : {"shm", "sim"}) {
    const place p{"watch", 2, {{"TOBI_DEBUG_GLOBAL", "1"}, {"TOBI_TRANSPORT", transport}}};
    const outcome o = in_place(p, [](tobi::runtime& rt) {
      const auto a = tobi::allocate_all<long>(100);
      for (;;) {  // until the two are there at once
        rt.barrier();
        writes_here(a.subspan(static_cast<std::size_t>(rt.rank()) * 10, 20));
      }
      return 0;
    });
    EXPECT_EQ(o.status, 1);
    EXPECT_NE(o.said.find("a data race in global memory: one task writes 160 bytes on rank"), std::string::npos)
        << o.said;
    EXPECT_NE(o.said.find("while another writes 160 bytes on rank"), std::string::npos) << o.said;
  }
  // And none where tasks are ordered, or only read.
  const place p{"watch", 4, {{"TOBI_DEBUG_GLOBAL", "1"}, {"TOBI_NODES", "2"}, {"TOBI_TRANSPORT", "sim"}}};
  const outcome o = in_place(p, [](tobi::runtime&) {
    const auto a = tobi::allocate_all<long>(2000);
    return tobi::run([=] {
      fill(a, 0);
      add_one(a);
      return sum(a) + sum(a) == 2 * (2000L * 1999 / 2 + 2000) ? 0 : 3;
    });
  });
  EXPECT_EQ(o.status, 0);
  EXPECT_EQ(o.said, "");
}

TEST(global_mistakes, the_kernels_limit_of_mappings) {
  const place few{
      "few",
      2,
      {{"TOBI_BLOCK_SIZE", "4K"}, {"TOBI_CACHE_SIZE", "4K"}, {"TOBI_SUB_BLOCK_SIZE", "4K"}, {"TOBI_MAP_LIMIT", "24"}}};
  // A few blocks of this node may be mapped. One after the other, any number of them is visited.
  const outcome visits = in_place(few, [](tobi::runtime& rt) {
    const auto a = tobi::allocate_all<char>(1 << 20, tobi::block_cyclic(1));
    for (std::size_t i = static_cast<std::size_t>(rt.rank()); i < a.size(); i += 4096) tobi::store(&a[i], 'y');
    rt.barrier();
    for (std::size_t i = 0; i < a.size(); i += 4096) {
      for (std::size_t r = 0; r < 2; ++r) {
        if (tobi::load(&a[i + r]) != 'y') return 3;
      }
    }
    rt.barrier();
    return 0;
  });
  EXPECT_EQ(visits.status, 0);
  EXPECT_EQ(visits.said, "");
  const outcome holds = in_place(few, [](tobi::runtime& rt) {
    const auto a = tobi::allocate_all<char>(1 << 20, tobi::block_cyclic(1));
    if (rt.rank() == 0) (void)tobi::checkout(a, tobi::mode::read).size();
    rt.barrier();
    return 0;
  });
  EXPECT_EQ(holds.status, 1);
  EXPECT_NE(holds.said.find("limit of kernel mappings is reached"), std::string::npos) << holds.said;
}

}  // namespace
