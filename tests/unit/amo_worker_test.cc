// SPDX-License-Identifier: Apache-2.0
// Atomics by a worker of the target's node: who serves whom, what a server finds of its neighbours' memory, and that it
// touches none that was taken back.
#include <gtest/gtest.h>
#include <malloc.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>

#include "transports/registry.hpp"
#include "transports/soft/amo.hpp"
#include "transports/soft/settings.hpp"

namespace {

using namespace tobi::transports;
using namespace tobi::transports::soft;
using tobi::status;
using tobi::transports::soft::amo_place;

context job_of(int rank, int size, tobi::base::per_rank<int> nodes, amo_place place) {
  context c{rank, size, std::move(nodes), tobi::base::read_settings()};
  c.settings.of<settings>().amo_server = place;
  return c;
}

// --- who serves whom -----------------------------------------------------------------------------------------------

TEST(placement, the_last_rank_of_each_node_serves_it_and_does_nothing_else) {
  const placement p(job_of(0, 7, {0, 0, 0, 1, 1, 2, 2}, amo_place::worker));
  const int server[] = {2, 2, 2, 4, 4, 6, 6};
  for (int r = 0; r < 7; ++r) {
    EXPECT_EQ(p.server_of(r), server[r]) << r;
    EXPECT_EQ(p.is_server(r), server[r] == r) << r;
    EXPECT_EQ(p.serves_only(r), server[r] == r) << r;
    EXPECT_EQ(p.endpoint_of(r), r);
  }
  EXPECT_TRUE(p.passive());
}

TEST(placement, a_node_s_ranks_need_not_follow_each_other) {
  const placement p(job_of(0, 5, {0, 1, 0, 1, 0}, amo_place::worker));
  for (const int r : {0, 2, 4}) EXPECT_EQ(p.server_of(r), 4);
  for (const int r : {1, 3}) EXPECT_EQ(p.server_of(r), 3);
}

TEST(placement, without_nodes_all_are_on_one) {
  const placement p(job_of(0, 4, {}, amo_place::worker));
  for (int r = 0; r < 4; ++r) EXPECT_EQ(p.server_of(r), 3);
}

TEST(placement, elsewhere_each_rank_serves_itself_and_runs_tasks) {
  for (const amo_place place : {amo_place::automatic, amo_place::native, amo_place::inline_, amo_place::thread}) {
    const bool thread = place == amo_place::thread;
    const context where = job_of(1, 4, {0, 0, 1, 1}, place);
    const placement p(where);
    EXPECT_EQ(p.passive(), thread);
    for (int r = 0; r < 4; ++r) {
      EXPECT_EQ(p.server_of(r), r);
      EXPECT_FALSE(p.serves_only(r));
      EXPECT_EQ(p.endpoint_of(r), thread ? 4 + r : r);
    }
    EXPECT_EQ(p.for_worker(where).size, thread ? 8 : 4);
    EXPECT_EQ(p.for_worker(where).rank, 1);
  }
  const context where = job_of(1, 4, {0, 0, 1, 1}, amo_place::thread);
  const context of_thread = placement(where).for_thread(where);
  EXPECT_EQ(of_thread.rank, 5);
  EXPECT_EQ(of_thread.nodes, (std::vector<int>{0, 0, 1, 1, 0, 0, 1, 1})) << "a thread is on its worker's node";
}

TEST(placement_DeathTest, a_node_of_one_worker_is_one_sentence_that_says_what_to_do) {
  EXPECT_EXIT(placement(job_of(0, 3, {0, 0, 1}, amo_place::worker)), testing::ExitedWithCode(2),
              "node 1 has only rank 2; start two workers or more per node \\(TOBI_WORKERS\\)");
  EXPECT_EXIT(placement(job_of(0, 1, {}, amo_place::worker)), testing::ExitedWithCode(2), "node 0 has only rank 0");
}

// --- what a server finds ---------------------------------------------------------------------------------------------

constexpr std::size_t page = 4096;

class served : public testing::Test {
 protected:
  region_table own_;
  region_directory theirs_;  // of rank 0; the server is rank 3
  served_memory server_{3, own_};
  memory_file file_{"test", 4 * page};

  void SetUp() override { ASSERT_EQ(server_.add(0, theirs_.name()), status::ok); }
  void publish(std::size_t number, std::uint64_t offset, std::size_t bytes) {
    memory_name name;
    ASSERT_EQ(name_memory({file_.at(offset), bytes, file_.whole().fd, offset}, number, name), status::ok);
    theirs_.publish(number, name);
  }
  std::uint64_t& word(std::uint64_t offset) { return *reinterpret_cast<std::uint64_t*>(file_.at(offset)); }
};

TEST_F(served, the_words_of_a_neighbour_are_the_neighbour_s_own) {
  publish(0, 0, 2 * page);
  std::uint64_t* there = server_.word(0, 0, 64);
  ASSERT_NE(there, nullptr);
  EXPECT_NE(there, &word(64)) << "mapped a second time, as in another process";
  word(64) = 41;
  EXPECT_EQ(*there, 41u);
  *there = 42;
  EXPECT_EQ(word(64), 42u);
  EXPECT_EQ(server_.word(0, 0, 64), there) << "mapped once";
}

TEST_F(served, a_region_may_begin_within_a_page) {
  publish(5, page + 24, 48);
  word(page + 24 + 40) = 7;
  ASSERT_NE(server_.word(0, 5, 40), nullptr);
  EXPECT_EQ(*server_.word(0, 5, 40), 7u);
  EXPECT_EQ(server_.word(0, 5, 48), nullptr) << "its bounds are its own, not its pages'";
}

TEST_F(served, what_is_not_there_has_no_words) {
  publish(0, 0, page);
  EXPECT_EQ(server_.word(0, 0, page), nullptr) << "behind it";
  EXPECT_EQ(server_.word(0, 0, page - 4), nullptr) << "across its end";
  EXPECT_EQ(server_.word(0, 0, 4), nullptr) << "misaligned";
  EXPECT_EQ(server_.word(0, 0, ~std::uint64_t{0} - 7), nullptr) << "an end that wraps around";
  EXPECT_EQ(server_.word(0, 1, 0), nullptr) << "never registered";
  for (const std::size_t number : {std::size_t{256}, ~std::size_t{0}}) EXPECT_EQ(server_.word(0, number, 0), nullptr);
  for (const int rank : {-1, 1, 2, 4, 1 << 30}) EXPECT_EQ(server_.word(rank, 0, 0), nullptr) << rank;
}

TEST_F(served, what_was_taken_back_is_not_touched_and_its_number_not_confused) {
  publish(0, 0, page);
  publish(1, page, page);
  ASSERT_NE(server_.word(0, 0, 0), nullptr);
  ASSERT_NE(server_.word(0, 1, 0), nullptr);
  theirs_.withdraw(0);
  EXPECT_EQ(server_.word(0, 0, 0), nullptr);
  word(page) = 9;
  ASSERT_NE(server_.word(0, 1, 0), nullptr);
  EXPECT_EQ(*server_.word(0, 1, 0), 9u) << "another registration of the same file goes on";
}

TEST_F(served, its_own_memory_needs_no_directory) {
  alignas(8) static std::byte memory[64];
  const int n = own_.add(memory, sizeof memory);
  EXPECT_EQ(reinterpret_cast<std::byte*>(server_.word(3, static_cast<std::size_t>(n), 8)), memory + 8);
}

TEST_F(served, a_directory_that_is_too_small_is_refused) {
  memory_name name = theirs_.name();
  name.bytes = page;
  EXPECT_EQ(server_.add(1, name), status::invalid);
  EXPECT_EQ(server_.add(1, memory_name{}), status::invalid);
}

using served_DeathTest = served;
TEST_F(served_DeathTest, memory_that_cannot_be_mapped_ends_the_job_with_one_sentence) {
  memory_name name;
  ASSERT_EQ(name_memory({file_.at(0), page, file_.whole().fd, 0}, 0, name), status::ok);
  name.inode ^= 1;  // another file than was meant
  theirs_.publish(0, name);
  EXPECT_EXIT((void)server_.word(0, 0, 0), testing::ExitedWithCode(1), "cannot map the memory of rank 0");
}

// --- a job of four in one thread: ranks 1 and 3 serve
// ------------------------------------------------------------------

class four : public testing::Test {
 protected:
  std::vector<std::unique_ptr<transport>> worker_;
  std::vector<std::unique_ptr<memory_file>> file_;
  std::vector<region_key> key_;

  void SetUp() override {
    std::vector<std::string> addresses;
    for (int r = 0; r < 4; ++r) {
      const context where = job_of(r, 4, {0, 0, 1, 1}, amo_place::worker);
      worker_.push_back(with_amo_server(where, [](const context& of) {
        context one_node = of;  // what it is made over maps all of them
        one_node.nodes.clear();
        for (const registry_entry& e : registry()) {
          if (e.name == "shm") return e.create(one_node);
        }
        return std::unique_ptr<transport>();
      }));
      addresses.push_back(worker_.back()->address());
      file_.push_back(std::make_unique<memory_file>("test", page));
      key_.emplace_back();
    }
    for (std::size_t r = 0; r < 4; ++r) {
      ASSERT_EQ(worker_[r]->connect(addresses), status::ok);
      ASSERT_EQ(worker_[r]->register_memory(file_[r]->whole(), key_[r]), status::ok);
    }
  }
  // Adds 1 to the first word of TARGET's memory, as rank FROM; POLLING are the ranks that poll besides it.
  std::uint64_t add(std::size_t from, int target, std::initializer_list<std::size_t> polling) {
    region_id id = 0;
    EXPECT_EQ(worker_[from]->attach(target, key_[static_cast<std::size_t>(target)], id), status::ok);
    std::uint64_t found = ~std::uint64_t{0};
    EXPECT_EQ(worker_[from]->fetch_add(target, id, 0, 1, &found), status::ok);
    for (int turns = 0; turns < 1000 && worker_[from]->flush(target) != status::ok; ++turns) {
      for (const std::size_t r : polling) worker_[r]->progress();
    }
    return found;
  }
  std::uint64_t value(std::size_t r) { return *reinterpret_cast<std::uint64_t*>(file_[r]->at(0)); }
};

TEST_F(four, the_servers_alone_poll_and_every_pair_is_served) {
  std::map<int, std::uint64_t> so_far;
  for (std::size_t from = 0; from < 4; ++from) {
    for (int target = 0; target < 4; ++target) EXPECT_EQ(add(from, target, {1, 3}), so_far[target]++) << from << target;
  }
  for (std::size_t r = 0; r < 4; ++r) EXPECT_EQ(value(r), 4u);
}

TEST_F(four, the_target_alone_serves_nobody) {
  EXPECT_EQ(add(0, 2, {1, 2}), ~std::uint64_t{0}) << "rank 2's server is rank 3";
  EXPECT_EQ(value(2), 0u);
  worker_[3]->progress();
  while (worker_[0]->flush(2) != status::ok) worker_[3]->progress();
  EXPECT_EQ(value(2), 1u);
}

TEST_F(four, a_queue_that_is_full_refuses_and_loses_nothing) {
  region_id to[2];
  ASSERT_EQ(worker_[0]->attach(2, key_[2], to[0]), status::ok);
  ASSERT_EQ(worker_[0]->attach(3, key_[3], to[1]), status::ok);
  std::uint64_t found[amo_slots + 1];
  // Two targets of one server share a queue.
  for (std::size_t i = 0; i < amo_slots; ++i) {
    ASSERT_EQ(worker_[0]->fetch_add(2 + static_cast<int>(i % 2), to[i % 2], 0, 1, &found[i]), status::ok);
  }
  EXPECT_EQ(worker_[0]->fetch_add(2, to[0], 0, 1, &found[amo_slots]), status::again);
  EXPECT_EQ(worker_[0]->flush(2), status::again);
  EXPECT_EQ(worker_[0]->flush(3), status::again);
  worker_[3]->progress();
  EXPECT_EQ(worker_[0]->flush(2), status::ok);
  EXPECT_EQ(worker_[0]->flush(3), status::ok);
  for (std::size_t i = 0; i < amo_slots; ++i) EXPECT_EQ(found[i], i / 2);
  EXPECT_EQ(value(2) + value(3), amo_slots);
}

TEST_F(four, memory_that_was_deregistered_is_not_touched) {
  EXPECT_EQ(add(0, 2, {3}), 0u);
  region_id id = 0;
  ASSERT_EQ(worker_[0]->attach(2, key_[2], id), status::ok);
  ASSERT_EQ(worker_[2]->deregister_memory(key_[2]), status::ok);
  std::uint64_t found = 77;
  ASSERT_EQ(worker_[0]->fetch_add(2, id, 0, 1, &found), status::ok);
  for (int turns = 0; turns < 1000 && worker_[0]->flush(2) != status::ok; ++turns) worker_[3]->progress();
  EXPECT_EQ(found, 0u) << "it is answered all the same";
  EXPECT_EQ(value(2), 1u);
}

TEST_F(four, say_what_they_can_and_who_they_are) {
  for (const auto& w : worker_) {
    EXPECT_TRUE(w->caps().passive_amo);
    EXPECT_EQ(w->caps().scope, amo_scope::host);
    EXPECT_FALSE(w->caps().registers_any_memory) << "memory without a descriptor cannot be mapped by its server";
    static std::uint64_t anywhere[512];
    region_key key;
    EXPECT_EQ(w->register_memory({anywhere, sizeof anywhere, -1, 0}, key), status::unsupported);
    for (int r = 0; r < 4; ++r) EXPECT_EQ(w->serves_only(r), r == 1 || r == 3);
  }
}

// --- a job of three in one thread, over a fabric that reorders puts and gives notices
// -----------------------------------

/// Long enough for what needs a core to get one on a busy machine.
class deadline {
 public:
  [[nodiscard]] bool is_over() const { return std::chrono::steady_clock::now() > end_; }

 private:
  std::chrono::steady_clock::time_point end_ = std::chrono::steady_clock::now() + std::chrono::seconds(60);
};

class over_a_weak_fabric : public testing::TestWithParam<amo_place> {
 protected:
  std::vector<std::unique_ptr<transport>> worker_;
  std::vector<std::unique_ptr<memory_file>> file_;
  std::vector<region_key> key_{3};
  std::vector<region_id> region_;  // of rank TO at rank FROM: [3 * from + to]

  void SetUp() override {
    std::vector<std::string> addresses;
    for (int r = 0; r < 3; ++r) {
      worker_.push_back(with_amo_server(
          job_of(r, 3, {}, GetParam()),
          [](const context& of) {
            for (const registry_entry& e : registry()) {
              if (e.name == "sim") return e.create(of);
            }
            return std::unique_ptr<transport>();
          },
          0));
      addresses.push_back(worker_.back()->address());
      file_.push_back(std::make_unique<memory_file>("test", page));
    }
    for (const auto& w : worker_) ASSERT_EQ(w->connect(addresses), status::ok);
    for (std::size_t r = 0; r < 3; ++r) {
      ASSERT_EQ(worker_[r]->register_memory(file_[r]->whole(), key_[r]), status::ok);
    }
    for (std::size_t from = 0; from < 3; ++from) {
      for (int to = 0; to < 3; ++to) {
        region_.emplace_back();
        ASSERT_EQ(worker_[from]->attach(to, key_[static_cast<std::size_t>(to)], region_.back()), status::ok);
      }
    }
  }
  std::uint64_t& word(std::size_t r, std::size_t at) { return *reinterpret_cast<std::uint64_t*>(file_[r]->at(8 * at)); }
  // A server's thread may have to wait for a core.
  void move() {
    for (const auto& w : worker_) w->progress();
    sched_yield();
  }
  [[nodiscard]] bool flushed(std::size_t from, int to) {
    for (const deadline end; !end.is_over(); move()) {
      if (worker_[from]->flush(to) == status::ok) return true;
    }
    return false;
  }
};

TEST_P(over_a_weak_fabric, every_addition_counts_once) {
  constexpr std::uint64_t each = 300;
  std::vector<std::uint64_t> found(9 * each);
  for (std::uint64_t i = 0; i < each; ++i) {
    for (std::size_t pair = 0; pair < 9; ++pair) {
      const int to = static_cast<int>(pair % 3);
      transport& by = *worker_[pair / 3];
      while (by.fetch_add(to, region_[pair], 0, 1, &found[pair * each + i]) == status::again) move();
    }
  }
  for (std::size_t pair = 0; pair < 9; ++pair) ASSERT_TRUE(flushed(pair / 3, static_cast<int>(pair % 3))) << pair;
  for (std::size_t to = 0; to < 3; ++to) {
    EXPECT_EQ(word(to, 0), 3 * each);
    std::vector<bool> seen(3 * each);
    for (std::size_t from = 0; from < 3; ++from) {
      for (std::uint64_t i = 0; i < each; ++i) {
        const std::uint64_t f = found[(3 * from + to) * each + i];
        ASSERT_LT(f, 3 * each);
        EXPECT_FALSE(seen[f]);
        seen[f] = true;
      }
    }
  }
}

TEST_P(over_a_weak_fabric, notices_come_behind_their_puts_beside_the_atomics) {
  constexpr std::uint64_t notices = 100;
  std::uint64_t sent[3] = {};
  std::uint64_t got[3] = {};
  std::uint64_t found[3];
  for (const deadline end; got[0] < notices || got[1] < notices || got[2] < notices; sched_yield()) {
    ASSERT_FALSE(end.is_over()) << "a notice was lost";
    for (int r = 0; r < 3; ++r) {
      const auto me = static_cast<std::size_t>(r);
      const int to = (r + 1) % 3;
      const std::uint64_t value = sent[me] + 1;
      const op put = op::put(region_[3 * me + static_cast<std::size_t>(to)], 8 + 8 * sent[me], &value, 8);
      if (sent[me] < notices && worker_[me]->put_notify(to, put, sent[me]) == status::ok) ++sent[me];
      (void)worker_[me]->fetch_add(to, region_[3 * me + static_cast<std::size_t>(to)], 0, 1, &found[me]);
      notice n;
      if (worker_[me]->poll_notice(n) != status::ok) continue;
      EXPECT_EQ(n.rank, (r + 2) % 3);
      EXPECT_EQ(n.data, got[me]) << "in the order of the calls";
      EXPECT_EQ(std::atomic_ref(word(me, 1 + n.data)).load(), n.data + 1) << "its put has come";
      ++got[me];
    }
  }
  for (std::size_t me = 0; me < 3; ++me) ASSERT_TRUE(flushed(me, static_cast<int>(me + 1) % 3));
}

INSTANTIATE_TEST_SUITE_P(, over_a_weak_fabric,
                         testing::Values(amo_place::inline_, amo_place::thread, amo_place::worker),
                         [](const auto& tested) {
                           return tested.param == amo_place::thread   ? "thread"
                                  : tested.param == amo_place::worker ? "worker"
                                                                      : "inline";
                         });

// --- what a job of many costs each of them
// ------------------------------------------------------------------------------

// A fabric on which nobody is met.
struct nowhere final : transport {
  capabilities can;
  nowhere() { can.put_notify = true, can.msg_max = 8, can.inline_max = 64, can.put_max = 1 << 20; }
  [[nodiscard]] std::string_view name() const noexcept override { return "nowhere"; }
  [[nodiscard]] const capabilities& caps() const noexcept override { return can; }
  [[nodiscard]] std::string address() const override { return std::string(16, 'a'); }
  status connect(std::span<const std::string>) override { return status::ok; }
  status register_memory(const memory&, region_key& key) override {
    key = {};
    std::memset(key.bytes.data(), 1, 40);
    return status::ok;
  }
  status deregister_memory(const region_key&) override { return status::ok; }
  status attach(int, const region_key&, region_id&) override { return status::ok; }
  [[nodiscard]] std::byte* map(region_id) noexcept override { return nullptr; }
  status post(int, std::span<const op>) noexcept override { return status::ok; }
  status flush(int) noexcept override { return status::ok; }
  status put_notify(int, const op&, std::uint64_t) noexcept override { return status::ok; }
  status poll_notice(notice&) noexcept override { return status::again; }
};

TEST(many, a_peer_that_was_never_used_costs_less_than_a_line_and_a_half) {
  constexpr int ranks = 50'000;
  const auto held = [] {
    const auto now = mallinfo2();
    return now.uordblks + now.hblkhd;
  };
  const std::size_t before = held();
  const auto by = with_amo_server(job_of(0, ranks, {}, amo_place::inline_),
                                  [](const context&) { return std::make_unique<nowhere>(); });
  {
    const std::vector<std::string> addresses(ranks, by->address());
    ASSERT_EQ(by->connect(addresses), status::ok);
  }
  for (int i = 0; i < 100; ++i) by->progress();
  const std::size_t after = held();
  EXPECT_LE(after - before, std::size_t{ranks} * 72);
}

}  // namespace
