// SPDX-License-Identifier: Apache-2.0
// lane: sleeps, 12 s
// Global memory in whole jobs: allocation, checkouts, fences, over memory that is mapped and memory that is fetched.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <string_view>
#include <vector>

#include "array_tasks.hpp"
#include "global_places.hpp"
#include "libcore/pgas/memory.hpp"

namespace {

using tobi::global_ptr;
using tobi::global_span;
using tobi::global_vector;

// What every body is tried on.
std::vector<place> places() {
  const std::pair<const char*, const char*> block{"TOBI_BLOCK_SIZE", "4K"}, sub{"TOBI_SUB_BLOCK_SIZE", "256"},
      cache{"TOBI_CACHE_SIZE", "64K"}, nodes{"TOBI_NODES", "2"}, sim{"TOBI_TRANSPORT", "sim"};
  std::vector<place> all = small_caches();
  all.push_back({"the", 2, {nodes, sim, block, sub, cache, {"TOBI_DEQUE", "the"}}});
  all.push_back({"manual", 2, {nodes, sim, block, sub, cache, {"TOBI_SIM", "manual"}}});
  all.push_back({"no chains", 2, {nodes, sim, block, sub, cache, {"TOBI_SIM", "nochain,depth1"}}});
  for (const char* sched : {"continuation_stalling", "child_full", "child_rtc", "adws"}) {
    all.push_back({sched, 2, {{"TOBI_SCHED", sched}}});
    all.push_back({sched, 4, {{"TOBI_SCHED", sched}, nodes, sim, block, sub, cache}});
  }
  return all;
}

template <class Body>
void everywhere(Body body) {
  in_each(places(), body);
}

TEST(global_memory, tasks_see_what_tasks_wrote) {
  everywhere([](tobi::runtime&) {
    constexpr std::size_t n = 40'000;
    for (const tobi::distribution how : {tobi::block(), tobi::block_cyclic(4096), tobi::block_cyclic(3 * 4096)}) {
      const auto a = tobi::allocate_all<long>(n, how);
      const long got = tobi::run([=] {
        fill(a, 0);
        add_one(a);
        return sum(a);
      });
      if (got != static_cast<long>(n) * (n - 1) / 2 + static_cast<long>(n)) return 3;
      // And outside of tasks, on every worker, what the tasks wrote.
      long own = 0;
      for (std::size_t i = 0; i < n; i += 97) own += tobi::load(&a[i]) - static_cast<long>(i) - 1;
      if (own != 0) return 4;
      tobi::free_all(a);
    }
    return 0;
  });
}

TEST(global_memory, workers_share_outside_of_tasks) {
  everywhere([](tobi::runtime& rt) {
    const auto a = tobi::allocate_all<int>(static_cast<std::size_t>(rt.size()) * 1000, tobi::block_cyclic(4096));
    const auto mine = a.subspan(static_cast<std::size_t>(rt.rank()) * 1000, 1000);
    for (int round = 0; round < 5; ++round) {
      for (int& x : tobi::checkout(mine, tobi::mode::write)) x = rt.rank() + round;
      rt.barrier();
      for (int r = 0; r < rt.size(); ++r) {
        for (const int x : tobi::checkout(a.subspan(static_cast<std::size_t>(r) * 1000, 1000), tobi::mode::read)) {
          if (x != r + round) return 3;
        }
      }
      rt.barrier();
    }
    return 0;
  });
}

// A list whose nodes are made by whoever runs the task, and freed by whoever runs the end.
struct node {
  long value;
  global_ptr<node> left, right;
};

global_ptr<node> build(long value, int depth) {
  if (depth == 0) return nullptr;
  auto left = tobi::spawn([=] { return build(2 * value, depth - 1); });
  const auto right = build(2 * value + 1, depth - 1);
  const global_ptr<node> mine = tobi::allocate_global<node>(1);
  const global_ptr<node> other = left.join();
  *tobi::checkout(mine, 1, tobi::mode::write) = {value, other, right};
  return mine;
}
long take_down(global_ptr<node> tree) {
  if (!tree) return 0;
  const node copy = tobi::load(tree);
  auto left = tobi::spawn([=] { return take_down(copy.left); });
  const long right = take_down(copy.right);
  tobi::free_global(tree, 1);
  return copy.value + left.join() + right;
}

TEST(global_memory, objects_are_made_and_freed_anywhere) {
  everywhere([](tobi::runtime&) {
    for (int i = 0; i < 3; ++i) {
      const long got = tobi::run([] { return take_down(build(1, 9)); });
      if (got != 511 * 512 / 2) return 3;
    }
    return 0;
  });
}

// What asyncs wrote, wherever they ran and whoever made them, is read behind their finish; what the body wrote, by
// them.
void scatter(global_span<long> a, long factor) {
  if (a.size() <= 60) {
    for (long& x : tobi::checkout(a, tobi::mode::read_write)) x *= factor;
    return;
  }
  const std::size_t part = a.size() / 3;
  tobi::async([=] { scatter(a.first(part), factor); });
  scatter(a.subspan(part), factor);
}

TEST(global_memory, a_finish_sees_what_its_asyncs_wrote) {
  everywhere([](tobi::runtime&) {
    constexpr std::size_t n = 10'000;
    const auto a = tobi::allocate_all<long>(n, tobi::block_cyclic(4096));
    const long got = tobi::run([=] {
      fill(a, 0);
      long total = 0;
      for (long round = 1; round <= 3; ++round) {
        tobi::finish([&] { scatter(a, round); });
        for (std::size_t i = 0; i < n; i += 100) {
          for (const long x : tobi::checkout(a.subspan(i, 100), tobi::mode::read)) total += x;
        }
      }
      return total;
    });
    return got == 9 * static_cast<long>(n) * (n - 1) / 2 ? 0 : 3;
  });
}

// A chain of futures, each of which reads what the one before wrote; several tasks join each.
TEST(global_memory, who_joins_a_future_sees_what_its_task_wrote) {
  everywhere([](tobi::runtime&) {
    constexpr std::size_t n = 600;
    const auto a = tobi::allocate_all<long>(n, tobi::block_cyclic(1));
    const long got = tobi::run([=] {
      tobi::future<long> before;
      long total = 0;
      for (std::size_t i = 0; i < n; ++i) {
        const auto next = tobi::spawn_future(
            [=] {
              const long was = i == 0 ? 0 : before.join() + tobi::load(&a[i - 1]);
              tobi::store(&a[i], was % 1'000'003);
              return static_cast<long>(i);
            },
            i + 1 < n && i % 7 != 0 ? 1 : 2);
        if (i % 7 == 0 || i + 1 == n) total += next.join() + tobi::load(&a[i]);
        if (i + 1 == n) (void)next.join();
        before = next;
      }
      return total;
    });
    long wanted = 0, was = 0;
    for (long i = 0; i < static_cast<long>(n); ++i) {
      was = i == 0 ? 0 : (i - 1 + was) % 1'000'003;
      if (i % 7 == 0 || i + 1 == static_cast<long>(n)) wanted += i + was;
    }
    return got == wanted ? 0 : 3;
  });
}

// A ticket names bytes that then go home without a release, since the cache is too small to keep them: who waits for it
// must not wait for ever.
TEST(global_memory, what_a_ticket_names_may_be_evicted) {
  const place small{"small",
                    2,
                    {{"TOBI_NODES", "2"},
                     {"TOBI_TRANSPORT", "sim"},
                     {"TOBI_BLOCK_SIZE", "4K"},
                     {"TOBI_SUB_BLOCK_SIZE", "256"},
                     {"TOBI_CACHE_SIZE", "64K"}}};
  struct words {
    std::atomic<std::uint64_t> ticket{0};
    std::atomic<bool> acquired{false};
  };
  auto* const shared =
      new (mmap(nullptr, sizeof(words), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) words;
  const outcome o = in_place(small, [shared](tobi::runtime& rt) {
    const auto a = tobi::allocate_all<char>(1 << 20, tobi::block());
    const auto far = a.subspan(1 << 19);  // of rank 1
    auto& memory = *tobi::pgas::current();
    if (rt.rank() == 1) {
      while (shared->ticket == 0) usleep(100);
      memory.acquire(shared->ticket, -1);
      shared->acquired = true;
      rt.barrier();
      return tobi::load(&far[0]) == 7 ? 0 : 3;
    }
    for (std::size_t i = 0; i < 16; ++i) tobi::store(&far[i * 4096], static_cast<char>(7));
    const std::uint64_t ticket = memory.release_lazily();
    if (ticket == 0) return 4;
    (void)tobi::load(&far[17 * 4096]);  // no block is clean: all go home
    if (memory.release_lazily() != 0) return 5;
    shared->ticket = ticket;
    while (!shared->acquired) {
      memory.serve();
      usleep(1000);
    }
    rt.barrier();
    return 0;
  });
  EXPECT_EQ(o.status, 0);
  EXPECT_EQ(o.said, "");
  munmap(shared, sizeof(words));
}

struct text {  // not trivially copyable, with memory of its own
  text() = default;
  explicit text(std::size_t n) : letters(n, 'x') {}
  text(text&&) noexcept = default;
  text& operator=(text&&) noexcept = default;
  global_vector<char> letters;
};

TEST(global_memory, vectors_of_vectors) {
  everywhere([](tobi::runtime&) {
    const long got = tobi::run([] {
      global_vector<global_vector<long>> rows(40);
      const auto all = rows.span();
      tobi::parallel_for(0, 40, 1, [=](int i) {
        global_vector<long> row;
        for (long k = 0; k < 30 + i; ++k) row.push_back(k);
        *tobi::checkout(&all[static_cast<std::size_t>(i)], 1, tobi::mode::read_write) = std::move(row);
      });
      long total = tobi::parallel_reduce(
          0, 40, 3, 0L,
          [=](int i) {
            const auto inner = tobi::checkout(&all[static_cast<std::size_t>(i)], 1, tobi::mode::read)->span();
            long s = 0;
            for (const long x : tobi::checkout(inner, tobi::mode::read)) s += x;
            return s;
          },
          [](long a, long b) { return a + b; });
      global_vector<text> texts(5, std::size_t{100});
      texts.push_back(text(7));
      texts.resize(4);
      for (std::size_t i = 0; i < texts.size(); ++i) {
        total += static_cast<long>(tobi::checkout(&texts[i], 1, tobi::mode::read)->letters.size());
      }
      return total;
    });
    long wanted = 400;
    for (long i = 0; i < 40; ++i) wanted += (30 + i) * (29 + i) / 2;
    return got == wanted ? 0 : 3;
  });
}

TEST(global_memory, checks_out_without_waiting_and_overlaps) {
  everywhere([](tobi::runtime& rt) {
    const auto a = tobi::allocate_all<int>(9000, tobi::block_cyclic(4096));
    if (rt.rank() == 0) {
      for (std::size_t i = 0; i < 9000; i += 1000) {
        auto out = tobi::checkout(a.subspan(i, 1000), tobi::mode::write);
        for (std::size_t k = 0; k < 1000; ++k) out[k] = static_cast<int>(i + k);
      }
    }
    rt.barrier();
    {
      auto one = tobi::checkout_nb(a.subspan(0, 3000), tobi::mode::read);
      auto two = tobi::checkout_nb(a.subspan(2000, 3000), tobi::mode::read);
      auto three = tobi::checkout(a.subspan(2500, 1), tobi::mode::read);
      if (three[0] != 2500) return 3;
      auto never_waited_for = tobi::checkout_nb(a.subspan(7000, 1000), tobi::mode::read);
      two.wait();
      for (int i = 0; i < 3000; ++i) {
        if (one[static_cast<std::size_t>(i)] != i || two[static_cast<std::size_t>(i)] != 2000 + i) return 4;
      }
      auto moved = std::move(one);
      if (moved[5] != 5 || !one.empty()) return 5;
    }
    rt.barrier();
    return 0;
  });
}

TEST(global_memory, what_is_prefetched_is_what_will_be_read) {
  everywhere([](tobi::runtime&) {
    const auto a = tobi::allocate_all<int>(9000, tobi::block_cyclic(4096));
    const int wrong = tobi::run([=] {
      int found = 0;
      for (int round = 0; round < 3; ++round) {
        tobi::prefetch(a);  // more than the cache has, and old once the loop has been
        tobi::parallel_for(0, 9, [=](int k) {
          const auto at = static_cast<std::size_t>(k) * 1000;
          tobi::prefetch(a.subspan(at, 1000));
          auto part = tobi::checkout(a.subspan(at, 1000), tobi::mode::read_write);
          for (std::size_t i = 0; i < 1000; ++i) part[i] += static_cast<int>(at + i);
        });
        for (std::size_t i = 0; i < 9000; i += 500) {
          if (i + 500 < 9000) tobi::prefetch(a.subspan(i + 500, 500));
          auto part = tobi::checkout(a.subspan(i, 500), tobi::mode::read);
          for (std::size_t k = 0; k < 500; ++k) found += part[k] == (round + 1) * static_cast<int>(i + k) ? 0 : 1;
        }
        tobi::prefetch(a.first(0));
      }
      return found;
    });
    tobi::free_all(a);
    return wrong == 0 ? 0 : 3;
  });
}

// Lists that rank 1 makes and rank 0 frees: more than rank 1's heap holds, unless it uses again what was freed.
TEST(global_memory, what_another_node_frees_is_used_again) {
  for (const char* transport : {"sim", "ofi"}) {
    const std::pair<const char*, const char*> env[] = {{"TOBI_NODES", "2"},
                                                       {"TOBI_TRANSPORT", transport},
                                                       {"TOBI_OFI_PROVIDER", "tcp;ofi_rxm"},
                                                       {"TOBI_HEAP_SIZE", "16M"},
                                                       {"TOBI_CACHE_SIZE", "1M"}};
    const outcome o = in_job(2, env, [](tobi::runtime&) {
      struct link {
        global_ptr<link> next;
        long value[7];
      };
      const long sum = tobi::run([] {
        constexpr long rounds = 30, links = 10'000;
        long found = 0;
        for (long round = 0; round < rounds; ++round) {
          tobi::migrate_to(1);
          global_ptr<link> first;
          for (long i = 0; i < links; ++i) {
            const auto made = tobi::allocate_global<link>(1);
            tobi::store(made, link{first, {i}});
            first = made;
          }
          tobi::migrate_to(0);
          while (first) {
            const link one = tobi::load(first);
            found += one.value[0];
            tobi::free_global(first, 1);
            first = one.next;
          }
        }
        return found / rounds - links * (links - 1) / 2;
      });
      return sum == 0 ? 0 : 3;
    });
    EXPECT_EQ(o.status, 0) << transport;
    EXPECT_EQ(o.said, "");
  }
}

// Rank 1's half of an array in checkouts of 4 KiB, one behind the other, or one in front of the other: what is ahead is
// here, or on its way.
void read_from_one_end_on(bool down) {
  for (const char* ahead : {"0", "256K"}) {
    for (const char* transport : {"sim", "ofi"}) {
      const std::pair<const char*, const char*> env[] = {{"TOBI_NODES", "2"},
                                                         {"TOBI_TRANSPORT", transport},
                                                         {"TOBI_OFI_PROVIDER", "tcp;ofi_rxm"},
                                                         {"TOBI_READ_AHEAD", ahead}};
      const bool none = std::string_view(ahead) == "0";
      const outcome o = in_job(2, env, [none, down](tobi::runtime& rt) {
        constexpr std::size_t half = std::size_t{1} << 20, at_once = 512;
        constexpr std::size_t pieces = half / at_once, most = pieces * at_once * sizeof(long) / (256 << 10) + 40;
        const auto a = tobi::allocate_all<long>(2 * half);
        for (std::size_t i = 0; rt.rank() == 1 && i < half; i += at_once) {
          auto part = tobi::checkout(a.subspan(half + i, at_once), tobi::mode::write);
          for (std::size_t k = 0; k < at_once; ++k) part[k] = static_cast<long>(i + k);
        }
        rt.barrier();
        rt.reset_stats();
        const long sum = tobi::run([=] {
          long all = 0;
          for (std::size_t i = 0; i < half; i += at_once) {
            const std::size_t from = down ? half - at_once - i : i;
            for (const long x : tobi::checkout(a.subspan(half + from, at_once), tobi::mode::read)) all += x;
          }
          return all;
        });
        const tobi::global_statistics did = rt.stats().global;
        tobi::free_all(a);
        if (sum != static_cast<long>(half) * static_cast<long>(half - 1) / 2) return 3;
        const std::uint64_t waited = did.checkouts - did.hits;
        if (none ? waited != pieces : waited > most) return 4;
        return did.fetched_bytes == half * sizeof(long) ? 0 : 5;
      });
      EXPECT_EQ(o.status, 0) << transport << ", TOBI_READ_AHEAD=" << ahead;
      EXPECT_EQ(o.said, "");
    }
  }
}

TEST(global_memory, an_array_is_waited_for_once_per_window) { read_from_one_end_on(false); }

TEST(global_memory, so_is_one_that_is_read_from_its_end_to_its_begin) { read_from_one_end_on(true); }

// Those of memory that stays mapped are no calls, and are checkouts in the counts all the same.
TEST(global_memory, loads_are_counted_and_find_what_was_written) {
  everywhere([](tobi::runtime& rt) {
    constexpr std::size_t n = 5000;
    struct odd {  // which lies across the borders of blocks
      long first, second, third;
    };
    const auto a = tobi::allocate_all<odd>(n);
    const auto counter = tobi::allocate_all<long>(1);
    tobi::run([=] {
      tobi::for_each(a, [](odd& x, std::size_t i) { x = {static_cast<long>(i), 7, static_cast<long>(2 * i)}; });
    });
    rt.reset_stats();
    const bool right = tobi::run([=] {
      for (std::size_t i = 0; i < n; ++i) {
        const odd x = tobi::load(&a[i]);
        if (x.first != static_cast<long>(i) || x.second != 7 || x.third != static_cast<long>(2 * i)) return false;
      }
      return true;
    });
    if (!right) return 1;
    if (const std::uint64_t counted = rt.stats().global.checkouts; rt.rank() == 0 && counted != n) return 2;
    // Updates that wait for more of them are seen by the next load.
    const long sum = tobi::run([=] {
      tobi::store(&counter[0], 1L);
      long all = tobi::load(&counter[0]);
      for (long i = 0; i < 100; ++i) {
        tobi::accumulate(counter.data(), &i, 1);
        all += tobi::load(&counter[0]);
      }
      return all;
    });
    if (sum != 101 + 100 * 99 * 101 / 6) return 3;
    // What was freed is not what was mapped there.
    tobi::free_all(a);
    const auto b = tobi::allocate_all<odd>(n);
    const long zero = tobi::run([=] {
      tobi::fill(b, odd{1, 2, 3});
      long all = 0;
      for (std::size_t i = 0; i < n; ++i) all += tobi::load(&b[i]).third;
      return all;
    });
    tobi::free_all(b);
    tobi::free_all(counter);
    return zero == 3 * static_cast<long>(n) ? 0 : 4;
  });
}

// Within a node a loop that waits for a word sees it change, as a call in each round would have it.
TEST(global_memory, a_load_in_a_loop_is_made_each_time) {
  const outcome o = in_job(2, {}, [](tobi::runtime&) {
    const auto flag = tobi::allocate_all<int>(1);
    tobi::run([=] {
      tobi::store(&flag[0], 0);
      tobi::parallel_invoke(
          [=] {
            while (tobi::load(&flag[0]) == 0) {
            }
          },
          [=] { tobi::store(&flag[0], 1); });
    });
    tobi::free_all(flag);
    return 0;
  });
  EXPECT_EQ(o.status, 0);
  EXPECT_EQ(o.said, "");
}

// Writes of single bytes next to each other by different tasks: byte-exact dirty regions.
TEST(global_memory, neighbouring_bytes_are_written_by_different_tasks) {
  everywhere([](tobi::runtime&) {
    constexpr int n = 3000;
    const auto a = tobi::allocate_all<unsigned char>(n, tobi::block_cyclic(1));
    const int wrong = tobi::run([=] {
      for (int offset = 0; offset < 2; ++offset) {
        tobi::parallel_for(0, n / 2, 7, [=](int i) {
          tobi::store(&a[static_cast<std::size_t>(2 * i + offset)], static_cast<unsigned char>(i + offset));
        });
      }
      return tobi::parallel_reduce(
          0, n, 50, 0,
          [=](int i) {
            return tobi::load(&a[static_cast<std::size_t>(i)]) == static_cast<unsigned char>(i / 2 + i % 2) ? 0 : 1;
          },
          [](int x, int y) { return x + y; });
    });
    tobi::free_all(a);
    return wrong == 0 ? 0 : 3;
  });
}

// --- the attendant serves releases ---------------------------------------------------------------------------

struct signs {  // known to all workers: mapped before they are forked
  std::atomic<int> leaves{0};
  std::atomic<int> read{0};  // by thieves, of what the leaf's task had written
};

// A leaf that neither polls nor checks in, on the worker that holds what its continuation is to read: whether the
// continuation goes on meanwhile. The fork shows it; a thief that has not asked for work yet leaves it to the next
// round.
int went_on_during_a_leaf() {
  const place p{
      "attendant",
      2,
      {{"TOBI_NODES", "2"}, {"TOBI_TRANSPORT", "sim"}, {"TOBI_BLOCK_SIZE", "4K"}, {"TOBI_CACHE_SIZE", "64K"}}};
  auto* const board =
      new (mmap(nullptr, sizeof(signs), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) signs;
  const outcome o = in_place(p, [board](tobi::runtime&) {
    const auto a = tobi::allocate_all<int>(8192, tobi::block_cyclic(4096));
    return tobi::run([=] {
      int successes = 0;
      for (int round = 1; successes == 0; ++round) {
        for (std::size_t i = 0; i < a.size(); i += 256) tobi::store(&a[i], round);
        usleep(20'000);  // the thief asks for work
        auto leaf = tobi::spawn([=] {
          for (int i = 0; i < 400 && board->read != round; ++i) usleep(1000);
          return board->read == round ? 1 : 0;
        });
        bool right = true;
        for (std::size_t i = 0; i < a.size(); i += 256) right = right && tobi::load(&a[i]) == round;
        if (!right) return 3;
        board->read = round;
        successes += leaf.join();
      }
      board->leaves = successes;
      return 0;
    });
  });
  EXPECT_EQ(o.status, 0);
  EXPECT_EQ(o.said, "");
  const int got = board->leaves;
  munmap(board, sizeof(signs));
  return got;
}

TEST(global_memory, the_attendant_serves_releases_during_a_long_leaf) { EXPECT_EQ(went_on_during_a_leaf(), 1); }

}  // namespace
