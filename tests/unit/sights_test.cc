// SPDX-License-Identifier: Apache-2.0
// Whom a sleeping thief tries: what the workers of other nodes look like, and what it leaves to others. Six workers of
// two nodes are one process; what each looks like is said by the test.
#include "libcore/sched/sights.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "libcore/sched/lookout.hpp"
#include "transports/registry.hpp"
#include "transports/transport.hpp"

namespace {

using namespace tobi;
using deque::ready_words;
using deque::server;
using deque::sight;

constexpr int ranks = 6;

struct control {
  sched::node_sights sights;
};

// A deque that looks as the test says, and does nothing.
struct painted final : deque::deque {
  explicit painted(std::array<sight, ranks>& of) : looks(of) {}
  std::array<sight, ranks>& looks;
  std::array<std::uint64_t, ready_words> lists{};
  [[nodiscard]] std::string_view name() const noexcept override { return "painted"; }
  [[nodiscard]] counters counts() const noexcept override { return {}; }
  void reset(std::uintptr_t, std::uint64_t) noexcept override {}
  void forked() noexcept override {}
  void serve(server) noexcept override {}
  void return_slowly(std::uintptr_t) noexcept override {}
  bool take_back(std::uintptr_t) noexcept override { return false; }
  [[nodiscard]] bool at_base() const noexcept override { return true; }
  [[nodiscard]] std::uintptr_t task_base() const noexcept override { return 0; }
  [[nodiscard]] std::uint64_t die_record() const noexcept override { return 0; }
  bool pop(std::uintptr_t) noexcept override { return false; }
  void push_again() noexcept override {}
  [[nodiscard]] std::size_t unseen() const noexcept override { return 0; }
  [[nodiscard]] std::size_t depth() const noexcept override { return 0; }
  void put_back(std::size_t, std::span<const std::uintptr_t>) noexcept override {}
  [[nodiscard]] bool quiet() const noexcept override { return true; }
  [[nodiscard]] std::uint64_t claimed() noexcept override { return 0; }
  [[nodiscard]] std::span<std::uint64_t, ready_words> shown_lists() noexcept override { return lists; }
  [[nodiscard]] tobi::steal_phase copying() const noexcept override { return tobi::steal_phase::steal; }
  trace::steal_result steal(int, trace::stolen&) override { return trace::steal_result::empty; }
  [[nodiscard]] sight glance(int rank) override { return looks[static_cast<std::size_t>(rank)]; }
};

class two_nodes : public testing::Test {
 protected:
  void SetUp() override {
    base::settings in_force = base::read_settings();
    std::vector<std::string> addresses;
    std::vector<net::peer_keys> keys;
    for (int r = 0; r < ranks; ++r) {
      worker& w = at_[r];
      for (const auto& e : transports::registry()) {
        if (e.name == "shm") w.over = e.create({r, ranks, {}, in_force});
      }
      ASSERT_NE(w.over, nullptr);
      w.fd = memfd_create("tobi-test", MFD_CLOEXEC);
      ASSERT_EQ(ftruncate(w.fd, sizeof(control)), 0);
      w.heap = mmap(nullptr, sizeof(control), PROT_READ | PROT_WRITE, MAP_SHARED, w.fd, 0);
      ASSERT_NE(w.heap, MAP_FAILED);
      new (w.heap) control{};
      net::peer_keys mine{};
      ASSERT_EQ(w.over->register_memory({w.heap, sizeof(control), w.fd, 0}, mine.heap), status::ok);
      mine.stack = mine.heap;
      keys.push_back(mine);
      addresses.push_back(w.over->address());
    }
    for (int r = 0; r < ranks; ++r) {
      worker& w = at_[r];
      ASSERT_EQ(w.over->connect(addresses), status::ok);
      w.net = std::make_unique<net::fabric>(*w.over, r, ranks, static_cast<std::byte*>(w.heap), sizeof(control),
                                            [keys](int of) { return keys[static_cast<std::size_t>(of)]; });
      w.sights.start(*w.net, painted_, static_cast<control*>(w.heap)->sights, nodes_, neighbours(r), true);
    }
    looks_.fill(sight::nothing);
  }
  void TearDown() override {
    for (worker& w : at_) {
      w.net.reset();
      w.over.reset();
      if (w.heap != nullptr) munmap(w.heap, sizeof(control));
      if (w.fd >= 0) close(w.fd);
    }
  }
  [[nodiscard]] std::vector<int> neighbours(int rank) const {
    std::vector<int> near;
    for (int r = 0; r < ranks; ++r) {
      if (r != rank && nodes_[r] == nodes_[rank]) near.push_back(r);
    }
    return near;
  }
  void looks(int rank, sight what) {
    looks_[static_cast<std::size_t>(rank)] = what;
    at_[rank].sights.tell();
  }
  [[nodiscard]] int chosen(int thief, int partner) { return at_[thief].sights.choose(partner, rng_); }
  // Whom WORKER tries in many turns; every turn is over before the next.
  std::set<int> tried(sched::lookout& by, int turns = 400) {
    std::set<int> all;
    for (int i = 0; i < turns; ++i) {
      all.insert(by.next());
      by.tried();
    }
    return all;
  }

  struct worker {
    int fd = -1;
    void* heap = nullptr;
    std::unique_ptr<transports::transport> over;
    std::unique_ptr<net::fabric> net;
    sched::sights sights;
  };
  // Ranks are dealt to nodes in turn, as some launchers do.
  const base::per_rank<int> nodes_{0, 1, 0, 1, 0, 1};
  std::array<sight, ranks> looks_{};
  painted painted_{looks_};
  worker at_[ranks];
  base::rng rng_{7};
};

TEST_F(two_nodes, who_has_work_is_found_whoever_the_partner_is) {
  for (int r = 0; r < ranks; ++r) looks(r, sight::leaf);
  EXPECT_EQ(chosen(0, 1), -1);
  looks(5, sight::far_work);
  for (const int partner : {1, 3, 5}) EXPECT_EQ(chosen(0, partner), 5);
  EXPECT_EQ(chosen(1, 2), -1) << "what rank 5 shows is not of that node";
}

TEST_F(two_nodes, more_is_better) {
  looks(1, sight::busy);
  looks(3, sight::near_work);
  looks(5, sight::nothing);
  EXPECT_EQ(chosen(2, 1), 3);
  looks(1, sight::work);
  EXPECT_EQ(chosen(2, 3), 1);
}

TEST_F(two_nodes, the_partner_comes_first_among_equals) {
  for (int r = 0; r < ranks; ++r) looks(r, sight::busy);
  for (int i = 0; i < 50; ++i) {
    for (const int partner : {1, 3, 5}) EXPECT_EQ(chosen(4, partner), partner);
  }
}

TEST_F(two_nodes, who_has_never_said_anything_may_be_busy) { EXPECT_EQ(chosen(0, 3), 3); }

TEST_F(two_nodes, a_neighbour_that_has_taken_something_tells_what_is_left) {
  looks(3, sight::work);
  EXPECT_EQ(chosen(0, 1), 3);
  looks_[3] = sight::leaf;
  for (const int r : {1, 5}) looks(r, sight::leaf);
  at_[5].sights.tell(3);
  EXPECT_EQ(chosen(0, 1), -1);
  looks_[3] = sight::work;
  at_[0].sights.tell(3);  // of another node: nobody's business
  EXPECT_EQ(chosen(0, 1), -1);
}

TEST_F(two_nodes, hints_may_be_wrong_and_everybody_is_tried_in_the_end) {
  std::uint32_t lookers = 0;
  sched::victims choice(0, {0, 3, 0, 3, 0, 3}, 1, {});
  sched::lookout by;
  by.start(painted_, choice, at_[0].sights, neighbours(0), true, 1, lookers, 1);
  for (int r = 0; r < ranks; ++r) looks(r, sight::nothing);
  const std::set<int> all = tried(by, 4000);
  for (const int r : {1, 3, 5}) EXPECT_TRUE(all.contains(r)) << r;
  EXPECT_EQ(lookers, 0U);
}

TEST_F(two_nodes, few_sleepers_come_for_what_only_the_fabric_takes) {
  std::uint32_t lookers = 0;
  for (int r = 0; r < ranks; ++r) looks(r, sight::nothing);
  looks(4, sight::far_work);
  std::vector<std::unique_ptr<sched::victims>> choices;
  std::vector<std::unique_ptr<sched::lookout>> sleepers;
  int come = 0;
  for (int i = 0; i < 8; ++i) {
    choices.push_back(
        std::make_unique<sched::victims>(0, std::vector<int>{0, 3, 0, 3, 0, 3}, i + 1, sched::victims::rules{}));
    sleepers.push_back(std::make_unique<sched::lookout>());
    sleepers.back()->start(painted_, *choices.back(), at_[0].sights, neighbours(0), true, 1, lookers,
                           static_cast<std::uint64_t>(i) + 1);
    EXPECT_NE(sleepers.back()->next(), 4) << "it is for other nodes first";
    sleepers.back()->tried();
  }
  const timespec longer_than_naps{0, 20'000'000};
  nanosleep(&longer_than_naps, nullptr);
  for (const auto& s : sleepers) {
    if (s->next() == 4) ++come;  // and is under way
  }
  EXPECT_EQ(come, 2);
  for (const auto& s : sleepers) s->tried();
  EXPECT_EQ(lookers, 0U);
  looks_[2] = sight::near_work;
  for (const auto& s : sleepers) EXPECT_EQ(s->next(), 2) << "the CPU takes it, and nobody waits for anybody";
}

// --- the ranks of a node
// -------------------------------------------------------------------------------------------------

void compare_with_a_walk(const base::per_rank<int>& nodes) {
  const sched::node_ranks index(nodes);
  for (int rank = 0; rank < static_cast<int>(nodes.size()); ++rank) {
    std::vector<int> right;
    for (int r = 0; r < static_cast<int>(nodes.size()); ++r) {
      if (nodes[r] == nodes[rank]) right.push_back(r);
    }
    std::vector<int> found;
    index.each_beside(rank, [&](int r) {
      found.push_back(r);
      return true;
    });
    ASSERT_EQ(found, right) << rank;
    std::size_t asked = 0;
    index.each_beside(rank, [&](int) { return ++asked < 2; });
    ASSERT_EQ(asked, std::min<std::size_t>(right.size(), 2)) << "it goes on although it was told not to";
  }
}

TEST(node_ranks, finds_those_of_a_node_however_they_are_numbered) {
  compare_with_a_walk({0});
  compare_with_a_walk({0, 0, 0, 0});
  compare_with_a_walk({0, 0, 0, 1, 1, 2, 3, 3});
  compare_with_a_walk({0, 1, 0, 1, 0, 1});
  compare_with_a_walk({2, 2, 0, 1, 0, 2, 1});
  base::rng rng(3);
  for (int times = 0; times < 50; ++times) {
    base::per_rank<int> nodes;
    for (std::uint64_t n = 1 + rng.uniform(60); n > 0; --n) nodes.push_back(static_cast<int>(rng.uniform(9)));
    compare_with_a_walk(nodes);
  }
}

}  // namespace
