// SPDX-License-Identifier: Apache-2.0
// The steal word with a thief that is stopped in the middle of its steal, while its victim and another thief go on:
// what a race meets once in a while happens here each time. One thread; an action of the test runs before the thief's
// n-th operation is executed. Each of the protocol's safeguards has a case that goes wrong without it.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "libcore/deque/steal_word.hpp"
#include "played_transport.hpp"
#include "played_worker.hpp"
#include "transports/cpu_ops.hpp"

namespace {

using namespace tobi;
using namespace played;
using trace::steal_result;

constexpr std::uint64_t entries = 1000;

// The steps of a steal from a victim whose window shows something.
enum step : unsigned { look = 0, claim = 1, slot = 2, frames = 3 };

// Chains of operations on the memory of PLACES, one after the other.
class stopping_transport final : public played_transport {
 public:
  explicit stopping_transport(std::vector<place>& places) : places_(places) {
    caps_.chain_max = 16;
    caps_.scope = transports::amo_scope::host;
  }
  /// ACTION runs once, before the operation of that number from now on.
  void before(unsigned number, std::function<void()> action) { actions_[done_ + number] = std::move(action); }
  /// The next get has its first word from behind ACTION and the rest from before, as a device may give it.
  void tear(std::function<void()> action) { tears_ = std::move(action); }

  status attach(int rank, const transports::region_key& key, transports::region_id& id) override {
    id = static_cast<transports::region_id>(2 * rank) + static_cast<transports::region_id>(key.bytes[0]);
    return status::ok;
  }
  status post(int, std::span<const transports::op> ops) noexcept override {
    for (const transports::op& o : ops) {
      if (const auto found = actions_.find(done_++); found != actions_.end()) {
        const auto action = std::move(found->second);
        actions_.erase(found);
        action();
      }
      execute(o);
      if (o.kind == transports::op_kind::get && tears_) {
        const auto action = std::exchange(tears_, nullptr);
        action();
        transports::op first = o;
        first.bytes = 8;
        execute(first);
      }
      if (o.guard && *static_cast<std::uint64_t*>(o.local) != o.expected) break;
    }
    return status::ok;
  }

 private:
  void execute(const transports::op& o) {
    transports::execute_whole({&o, 1}, [this](transports::region_id id) {
      place& p = places_[id / 2];
      return id % 2 == 0 ? reinterpret_cast<std::byte*>(p.heap.get()) : reinterpret_cast<std::byte*>(p.low());
    });
  }

  std::vector<place>& places_;
  std::map<unsigned, std::function<void()>> actions_;
  std::function<void()> tears_;
  unsigned done_ = 0;
};

// Worker 0 is the victim, 1 the thief that is stopped, 2 another one, all on nodes of their own.
class steal_word_stopped : public testing::Test {
 protected:
  struct worker {
    worker(std::vector<place>& places, int rank)
        : over(places),
          net(fabric_of(over, places[static_cast<std::size_t>(rank)], rank, places.size())),
          deque(places[static_cast<std::size_t>(rank)].hot, places[static_cast<std::size_t>(rank)].slots.data(), net,
                places[static_cast<std::size_t>(rank)].heap->window, records,
                places[static_cast<std::size_t>(rank)].high(), stack_bytes) {}
    no_records records;
    stopping_transport over;
    net::fabric net;
    deque::steal_word deque;
  };

  steal_word_stopped() {
    for (int rank = 0; rank < 3; ++rank) workers_.push_back(std::make_unique<worker>(places_, rank));
    me_ = std::make_unique<owner>(places_[0], workers_[0]->deque, door_, seen_);
    std::atomic_ref(places_[0].heap->window.busy).store(workers_[0]->deque.busy_word());
    door_.step_out();
  }
  stopping_transport& thief() { return workers_[1]->over; }
  // The number of what was stolen, whole; else an error of the test, or nothing.
  std::uint64_t steals(int rank, steal_result expected = steal_result::taken) {
    trace::stolen got;
    const steal_result how = workers_[static_cast<std::size_t>(rank)]->deque.steal(0, got);
    EXPECT_EQ(how, expected);
    if (how != steal_result::taken) return entries;
    const auto* frame = reinterpret_cast<const std::uint64_t*>(got.sp);
    EXPECT_TRUE(is_whole(frame, got.base - got.sp, entries)) << "number " << number_of(frame);
    return number_of(frame);
  }

  std::vector<place> places_ = std::vector<place>(3);
  std::vector<std::atomic<int>> seen_ = std::vector<std::atomic<int>>(entries);
  tasks::door door_;
  std::vector<std::unique_ptr<worker>> workers_;
  std::unique_ptr<owner> me_;
};

// The tag: top and split are what they were, and another entry has the index.
TEST_F(steal_word_stopped, a_claim_from_an_old_word_fails_where_the_index_was_taken_back_and_shown_anew) {
  me_->fork(0);
  thief().before(claim, [this] {
    ASSERT_TRUE(me_->back());
    me_->fork(1, 40);
  });
  steals(1, steal_result::lost_race);
  EXPECT_EQ(steals(1), 1u);
  EXPECT_EQ(seen_[0].load(), 1) << "its owner had it";
}

// The second look at the slot: the word is of now, and the entry next to it was of before.
TEST_F(steal_word_stopped, an_entry_that_was_read_before_its_word_is_read_again) {
  me_->fork(0);
  thief().tear([this] {
    ASSERT_TRUE(me_->back());
    me_->fork(1, 40);
  });
  EXPECT_EQ(steals(1), 1u);
  EXPECT_EQ(seen_[0].load(), 1) << "its owner had it";
}

// The claim's own result: somebody else had the entry meanwhile.
TEST_F(steal_word_stopped, a_claim_that_comes_too_late_takes_nothing) {
  me_->fork(0);
  thief().before(claim, [this] { EXPECT_EQ(steals(2), 0u); });
  steals(1, steal_result::lost_race);
}

// I3: what was claimed and not acknowledged keeps its slot, however much is shown and stolen behind it.
class stopped_behind_its_claim : public steal_word_stopped, public testing::WithParamInterface<unsigned> {};
TEST_P(stopped_behind_its_claim, its_entry_stays_until_it_has_copied_it) {
  std::uint64_t next = 0;
  for (int i = 0; i < 3; ++i) me_->fork(next++);
  std::set<std::uint64_t> others;
  thief().before(GetParam(), [&] {
    EXPECT_FALSE(workers_[0]->deque.quiet());
    for (int tries = 0; tries < 100; ++tries) {
      trace::stolen got;
      const steal_result how = workers_[2]->deque.steal(0, got);
      if (how == steal_result::taken) {
        const auto* frame = reinterpret_cast<const std::uint64_t*>(got.sp);
        EXPECT_TRUE(is_whole(frame, got.base - got.sp, entries));
        EXPECT_TRUE(others.insert(number_of(frame)).second) << number_of(frame) << " is taken twice";
      } else {
        me_->fork(next++);
      }
    }
  });
  EXPECT_EQ(steals(1), 0u);
  EXPECT_EQ(others.size(), deque::ring - 1u) << "all slots but the one that is being copied";
  EXPECT_EQ(others.count(0), 0u);
  EXPECT_TRUE(workers_[0]->deque.quiet());
}
INSTANTIATE_TEST_SUITE_P(at, stopped_behind_its_claim, testing::Values(slot, frames),
                         [](const auto& at) { return at.param == slot ? "the_slot" : "the_frames"; });

TEST_F(steal_word_stopped, an_invariant_that_is_broken_is_seen) {
  for (std::uint64_t n = 0; n < 2; ++n) me_->fork(n);
  const deque::steal_word& owned = workers_[0]->deque;
  deque::steal_window& window = places_[0].heap->window;
  const std::uint64_t word = window.word;
  const auto shown = deque::window_word::unpack(word);
  ASSERT_EQ(shown.size(), 2u);
  EXPECT_TRUE(owned.is_valid());
  window.word = deque::window_word{shown.tag, shown.top, shown.top + deque::ring + 1}.pack();
  EXPECT_FALSE(owned.is_valid()) << "I1";
  window.word = word;
  std::uint64_t& entry = window.slot[shown.top % deque::ring].entry;
  ++entry;
  EXPECT_FALSE(owned.is_valid()) << "I2";
  --entry;
  EXPECT_TRUE(owned.is_valid());
  ++places_[0].hot.split_sp;
  EXPECT_FALSE(owned.is_valid()) << "I5";
  --places_[0].hot.split_sp;
  EXPECT_EQ(steals(1), 0u);
  EXPECT_TRUE(owned.is_valid());
}

TEST(the_deque, an_invariant_that_is_broken_is_seen) {
  std::vector<place> places(1);
  stopping_transport transport(places);
  net::fabric net = fabric_of(transport, places[0], 0, 1);
  no_records records;
  place& here = places[0];
  deque::the_deque owned(here.hot, here.slots.data(), net, here.heap->window, here.heap->area, records, here.high(),
                         stack_bytes);
  tasks::door door;
  std::vector<std::atomic<int>> seen(entries);
  owner me(here, owned, door, seen);
  for (std::uint64_t n = 0; n < 3; ++n) me.fork(n);
  deque::the_area& area = here.heap->area;
  EXPECT_TRUE(owned.is_valid());
  area.head = area.tail + 1;
  EXPECT_TRUE(owned.is_valid()) << "a thief is about to undo its claim";
  area.head = area.tail + 2;
  EXPECT_FALSE(owned.is_valid()) << "T1";
  area.head = area.tail - 4;
  EXPECT_FALSE(owned.is_valid()) << "T2";
  area.head = area.tail - 3;
  std::uint64_t& entry = area.slot[(area.tail - 2) % deque::the_area::entries].entry;
  ++entry;
  EXPECT_FALSE(owned.is_valid()) << "T3";
  --entry;
  while (me.back()) {
  }
  EXPECT_TRUE(owned.is_valid());
}

}  // namespace
