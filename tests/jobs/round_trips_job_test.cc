// SPDX-License-Identifier: Apache-2.0
// How many dependent round trips joins, promises and ends of tasks need, by event and by transport: the table of
// libcore/net/README.md. Each is counted by the worker that does it, in a job in which nothing else happens to it
// meanwhile.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>

#include "arch/clock.hpp"
#include "in_job.hpp"
#include "libcore/sched/worker.hpp"
#include "transports/ofi/settings.hpp"
#include "transports/registry.hpp"

namespace {

struct place {
  const char* name;
  const char* transport;
  const char* modes;  // TOBI_SIM, or the provider
  bool chains;
};

// Known to all workers: mapped before they are forked.
struct board {
  std::atomic<int> step{0};
  std::atomic<int> where_it_ended{-1};
};
board* shared() {
  static auto* const at =
      new (mmap(nullptr, sizeof(board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) board;
  return at;
}
void wait_for(int step) {
  while (shared()->step < step) tobi::poll();
}

int rank() { return tobi::sched::this_worker().net().rank(); }
std::uint64_t trips() { return tobi::sched::this_worker().net().round_trips(); }
std::uint64_t marked = 0;  // of this process
// An entry that was shown is taken back by an atomic, which goes to the own device where the CPU's exclude no others.
std::uint64_t own_atomics() {
  auto& me = tobi::sched::this_worker();
  return me.net().cpu_atomics(rank()) ? 0 : me.counted().taken_back;
}
std::uint64_t own_atomics_marked = 0;
void mark() {
  marked = trips();
  own_atomics_marked = own_atomics();
}
std::uint64_t since_mark() { return trips() - marked - (own_atomics() - own_atomics_marked); }

class trips_over : public testing::TestWithParam<place> {
 protected:
  void SetUp() override {
    if (std::getenv("TESTS_OVER") != nullptr) GTEST_SKIP() << "it is about each of these transports";
    const place& p = GetParam();
    tobi::base::settings in_force = tobi::base::read_settings();
    if (!sim()) in_force.of<tobi::transports::ofi::settings>().provider = p.modes;
    for (const auto& e : tobi::transports::registry()) {
      if (e.name != p.transport) continue;
      const std::string why = tobi::transports::unusable_apart(e, {0, 2, {}, in_force});
      if (!why.empty()) GTEST_SKIP() << why;
    }
    new (shared()) board;
  }
  [[nodiscard]] static bool sim() { return std::string_view(GetParam().transport) == "sim"; }
  [[nodiscard]] static bool shm() { return std::string_view(GetParam().transport) == "shm"; }
  // With and without chains.
  [[nodiscard]] static std::uint64_t either(std::uint64_t with, std::uint64_t without) {
    return GetParam().chains ? with : without;
  }
  template <class Body>
  static void expect_zero(int workers, Body body) {
    const place& p = GetParam();
    const std::string nodes = std::to_string(shm() ? 1 : workers);
    const outcome o = in_job(workers,
                             {{"TOBI_TRANSPORT", p.transport},
                              {"TOBI_NODES", nodes.c_str()},
                              {"TOBI_SIM", sim() ? p.modes : ""},
                              {"TOBI_OFI_PROVIDER", sim() || shm() ? "" : p.modes},
                              {"TOBI_DEQUE", "steal_word"},
                              {"TOBI_SCHED", "continuation_greedy"}},
                             body);
    EXPECT_EQ(o.status, 0) << o.said;
  }
};

// The root goes on at another worker than the one on which it began, which makes BEFORE's promise, and runs a leaf.
// What AFTER(promise) counts there is the job's result.
template <class After>
std::uint64_t elsewhere(After after) {
  const int begun = rank();
  const auto made = tobi::make_promise<std::uint64_t>(1);
  auto leaf = tobi::spawn([made] {
    wait_for(1);
    if (shared()->step == 2) made.set(3);
    if (shared()->step == 2) shared()->step = 3;
    wait_for(9);
  });
  const std::uint64_t counted = rank() == begun ? 99 : after(made);
  shared()->step = 9;
  leaf.join();
  return counted;
}

TEST_P(trips_over, a_promise_of_another_worker_is_set_in_a_look_and_one_chain) {
  const std::uint64_t expected = either(2, 3);
  expect_zero(2, [=](tobi::runtime&) {
    const std::uint64_t counted = tobi::run([] {
      return elsewhere([](auto promise) {
        mark();
        promise.set(7);
        const std::uint64_t needed = since_mark();
        promise.get_future().join();
        return needed;
      });
    });
    return counted == expected ? 0 : static_cast<int>(100 + counted);
  });
}

TEST_P(trips_over, a_future_that_is_set_is_joined_in_one_also_without_chains) {
  constexpr std::uint64_t expected = 1;
  expect_zero(2, [=](tobi::runtime&) {
    const std::uint64_t counted = tobi::run([] {
      return elsewhere([](auto promise) {
        shared()->step = 2;
        wait_for(3);
        mark();
        promise.get_future().join();
        return since_mark();
      });
    });
    return counted == expected ? 0 : static_cast<int>(100 + counted);
  });
}

// With futures a task may wait while its parent is here: the parent goes on behind what the wait has cost.
TEST_P(trips_over, a_join_that_must_wait_is_a_look_and_a_compare_and_swap) {
  expect_zero(2, [=](tobi::runtime&) {
    const std::uint64_t counted = tobi::run([] {
      return elsewhere([](auto promise) {
        auto waits = tobi::spawn([promise] {
          mark();
          promise.get_future().join();
        });
        const std::uint64_t needed = since_mark();
        promise.set(1);
        waits.join();
        return needed;
      });
    });
    return counted == 2 ? 0 : static_cast<int>(100 + counted);
  });
}

// The parent goes on behind what sending its child has cost. The other worker runs a leaf until then.
TEST_P(trips_over, a_task_is_sent_by_one_compare_and_swap) {
  constexpr std::uint64_t expected = 1;
  expect_zero(2, [=](tobi::runtime&) {
    const std::uint64_t counted = tobi::run([] {
      return elsewhere([](auto promise) {
        auto sent = tobi::spawn([other = 1 - rank()] {
          mark();
          tobi::migrate_to(other);
        });
        const std::uint64_t needed = since_mark();
        shared()->step = 9;
        sent.join();
        promise.set(needed);
        return promise.get_future().join();
      });
    });
    return counted == expected ? 0 : static_cast<int>(100 + counted);
  });
}

// A future's task is forked here, and the root is taken by a second worker, which stays busy with it while a task of
// its waits for the future. So it is a third worker that takes the future's task, and ends it: far from its record, and
// from the image of who waits. That one goes on where the future's task has ended. Who takes what is the thieves'
// affair: where the image is at hand it is one less, and it is tried again.
TEST_P(trips_over, the_end_of_a_task_that_is_waited_for_is_one_chain_and_one_get) {
  const std::uint64_t record = either(1, 2);
  const std::uint64_t image = shm() ? 2 : 1;          // nobody waits for the two
  const std::uint64_t expected = record + image + 1;  // and the value, behind the resume
  constexpr std::uint64_t elsewhere_than_it_ended = 99;
  const auto one_run = [] {
    return tobi::run([] {
      const auto f = tobi::spawn_future([] {
        const auto leaf = tobi::spawn_future([] { wait_for(9); });
        wait_for(1);
        shared()->where_it_ended = rank();
        mark();
        return leaf;
      });
      auto waits = tobi::spawn([f] {
        const auto leaf = f.join();
        const std::uint64_t needed = rank() == shared()->where_it_ended ? since_mark() : elsewhere_than_it_ended;
        shared()->step = 9;
        leaf.join();
        return needed;
      });
      shared()->step = 1;
      wait_for(9);
      return waits.join();
    });
  };
  expect_zero(3, [=](tobi::runtime& rt) {
    std::uint64_t counted = 0;
    while (counted < expected || counted == elsewhere_than_it_ended) {
      if (rt.rank() == 0) shared()->step = 0;
      rt.barrier();
      counted = one_run();
    }
    return counted == expected ? 0 : static_cast<int>(100 + counted);
  });
}

TEST_P(trips_over, an_idle_worker_needs_one_for_each_look) {
  expect_zero(2, [=](tobi::runtime& rt) {
    auto& me = tobi::sched::this_worker();
    for (;;) {
      rt.barrier();
      if (shared()->step == 9) return 0;
      rt.barrier();
      const std::uint64_t failed = me.counted().steals_failed;
      mark();
      tobi::run([] {
        for (int n = 0; n < 20'000; ++n) tobi::poll();
      });
      const std::uint64_t looks = me.counted().steals_failed - failed;
      constexpr std::uint64_t end_of_run = 40;  // the result, and the barrier
      if (rt.rank() == 0 || looks < 2 * end_of_run) continue;
      if (since_mark() > looks + end_of_run) return 1;
      shared()->step = 9;
    }
  });
}

INSTANTIATE_TEST_SUITE_P(fabrics, trips_over,
                         testing::Values(place{"shm", "shm", "", true}, place{"sim", "sim", "clog=0", true},
                                         place{"sim_nochain", "sim", "nochain,clog=0", false},
                                         place{"ofi", "ofi", "tcp;ofi_rxm", false}),
                         [](const auto& p) { return std::string(p.param.name); });

}  // namespace
