// SPDX-License-Identifier: Apache-2.0
// Futures and finish under the schedulers beside the default: they wait and end through the same records, so a program
// means the same; and what one of them cannot serve is refused with a sentence.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "tests/jobs/in_job.hpp"

namespace {

void spin(unsigned rounds) {
  for (volatile unsigned i = 0; i < rounds;) i = i + 1;
}

struct way {
  const char* sched;
  const char* deque;
  int workers;
  const char* transport = "auto";
};

class graphs : public testing::TestWithParam<way> {
 protected:
  template <class Body>
  outcome run(Body body) {
    const way& w = GetParam();
    return in_job(w.workers, {{"TOBI_SCHED", w.sched}, {"TOBI_DEQUE", w.deque}, {"TOBI_TRANSPORT", w.transport}}, body);
  }
  template <class Body>
  void expect_zero(Body body) {
    const outcome o = run(body);
    EXPECT_EQ(o.status, 0) << o.said;
    EXPECT_EQ(o.said, "");
  }
  [[nodiscard]] static bool buries() { return std::string(GetParam().sched) == "child_rtc"; }
};

// As many failures as leaves: none is lost, none comes twice, and all are there when the finish has ended. Every second
// level is a plain spawn, through which the finish governs too.
void fail_all(int depth) {
  spin(500);
  if (depth == 0) throw std::out_of_range("leaf");
  tobi::async([=] { fail_all(depth - 1); });
  if (depth % 2 == 0) {
    auto child = tobi::spawn([=] { tobi::async([=] { fail_all(depth - 1); }); });
    child.join();
  } else {
    tobi::async([=] { fail_all(depth - 1); });
  }
}

std::uint64_t failures_of(int depth) {
  try {
    tobi::finish([&] { fail_all(depth); });
  } catch (const tobi::finish_error& e) {
    return e.count();
  }
  return 0;
}

TEST_P(graphs, a_finish_waits_for_all_that_it_governs) {
  expect_zero([](tobi::runtime&) {
    for (int i = 0; i < 10; ++i) {
      if (tobi::run([] { return failures_of(7); }) != 128) return 1;
    }
    return 0;
  });
}

// Inner ones catch their own failures; what they say goes on as one failure of the outer one.
TEST_P(graphs, nested_finishes_each_have_their_own) {
  expect_zero([](tobi::runtime&) {
    return tobi::run([] {
             try {
               tobi::finish([] {
                 for (int i = 0; i < 12; ++i) {
                   tobi::async([] {
                     if (failures_of(4) != 16) return;
                     throw std::length_error("as many as there should be");
                   });
                 }
               });
             } catch (const tobi::finish_error& e) {
               return e.count();
             }
             return std::uint64_t{0};
           }) == 12
               ? 0
               : 1;
  });
}

TEST_P(graphs, futures_are_joined_by_others_than_their_makers) {
  expect_zero([](tobi::runtime&) {
    for (int round = 0; round < 10; ++round) {
      const int got = tobi::run([] {
        const auto once = tobi::spawn_future([] {
          spin(20000);
          return 1;
        });
        const auto open = tobi::spawn_future(
            [=] {
              spin(20000);
              return once.join() + 1;
            },
            tobi::any_number);
        auto a = tobi::spawn([=] { return open.join(); });
        auto b = tobi::spawn([=] { return open.join(); });
        return open.join() + a.join() + b.join();
      });
      if (got != 6) return 1;
    }
    return 0;
  });
}

TEST_P(graphs, promises_are_set_by_anyone_or_refused) {
  const outcome o = run([](tobi::runtime&) {
    for (int round = 0; round < 10; ++round) {
      const int got = tobi::run([] {
        const auto p = tobi::make_promise<int>(3);
        auto a = tobi::spawn([=] { return p.get_future().join(); });
        auto b = tobi::spawn([=] { return p.get_future().join(); });
        auto c = tobi::spawn([=] {
          spin(20000);
          p.set(5);
        });
        const int sum = p.get_future().join() + a.join() + b.join();
        c.join();
        return sum;
      });
      if (got != 15) return 1;
    }
    return 0;
  });
  if (!buries()) {
    EXPECT_EQ(o.status, 0) << o.said;
    EXPECT_EQ(o.said, "");
    return;
  }
  EXPECT_EQ(o.status, 2) << o.said;
  EXPECT_NE(o.said.find("tobi::make_promise cannot be used with TOBI_SCHED=child_rtc"), std::string::npos) << o.said;
}

TEST_P(graphs, a_join_too_many_is_one_sentence) {
  const outcome o = run([](tobi::runtime&) {
    tobi::run([] {
      const auto f = tobi::spawn_future([] { return 1; });
      (void)f.join();
      (void)f.join();
    });
    return 0;
  });
  EXPECT_EQ(o.status, 1) << o.said;
  EXPECT_NE(o.said.find("is joined more often than its maker said"), std::string::npos) << o.said;
}

std::vector<way> ways() {
  std::vector<way> all;
  for (const char* sched : {"continuation_greedy", "continuation_stalling", "child_full", "child_rtc", "adws"}) {
    for (const int workers : {1, 2, 4}) all.push_back({sched, "steal_word", workers});
    all.push_back({sched, "the", 3});
    all.push_back({sched, "steal_word", 3, "sim"});
  }
  return all;
}
INSTANTIATE_TEST_SUITE_P(under, graphs, testing::ValuesIn(ways()), [](const testing::TestParamInfo<way>& i) {
  return std::string(i.param.sched) + "_" + i.param.deque + "_" + std::to_string(i.param.workers) + "_" +
         i.param.transport;
});

}  // namespace
