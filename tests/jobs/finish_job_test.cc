// SPDX-License-Identifier: Apache-2.0
// finish and async: everything has ended behind a finish, wherever it ran; nested ones; failures; the elision.
#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/jobs/in_job.hpp"

namespace {

void spin(unsigned rounds) {
  for (volatile unsigned i = 0; i < rounds;) i = i + 1;
}

// A tree of asyncs in which every parent ends before its children may: nobody in it waits for anything.
void grow(int depth, tobi::promise<std::uint64_t> last, std::uint64_t path, std::uint64_t wanted) {
  spin(300);
  if (depth == 0) {
    if (path == wanted) last.set(path);
    return;
  }
  tobi::async([=] { grow(depth - 1, last, 2 * path, wanted); });
  tobi::async([=] { grow(depth - 1, last, 2 * path + 1, wanted); });
}

using mode = std::tuple<int, const char*, const char*, const char*>;

class finish : public testing::TestWithParam<mode> {
 protected:
  template <class Body>
  void expect_zero(Body body) {
    const auto [workers, deque, migrate, transport] = GetParam();
    const bool ofi = std::string(transport) == "ofi";
    const outcome o = in_job(workers,
                             {{"TOBI_DEQUE", deque},
                              {"TOBI_DEBUG_MIGRATE", migrate},
                              {"TOBI_TRANSPORT", transport},
                              {"TOBI_NODES", ofi ? "2" : "1"},
                              {"TOBI_OFI_PROVIDER", ofi ? "tcp;ofi_rxm" : ""}},
                             body);
    EXPECT_EQ(o.status, 0) << o.said;
    EXPECT_EQ(o.said, "");
  }
};

// A promise that is set by an async is set when its finish has ended: joining it then never waits. Each leaf has one.
TEST_P(finish, everything_that_it_governs_has_ended) {
  expect_zero([](tobi::runtime& rt) {
    for (std::uint64_t run = 0; run < 10; ++run) {
      rt.reset_stats();
      const std::uint64_t got = tobi::run([=] {
        const auto p = tobi::make_promise<std::uint64_t>();
        tobi::finish([&] { grow(8, p, 0, 25 * run); });
        return p.get_future().join();
      });
      if (got != 25 * run) return 1;
    }
    return 0;
  });
}

// What each leaf gives is there, and none is lost: as many failures as leaves.
void fail_all(int depth) {
  spin(500);
  if (depth == 0) throw std::out_of_range("leaf");
  tobi::async([=] { fail_all(depth - 1); });
  fail_all(depth - 1);
}

TEST_P(finish, failures_are_gathered_and_thrown_as_one) {
  expect_zero([](tobi::runtime&) {
    return tobi::run([] {
      for (int i = 0; i < 5; ++i) {
        bool right = false;
        try {
          tobi::finish([] { fail_all(6); });
        } catch (const tobi::finish_error& e) {
          const std::string said = e.what();
          right = e.count() == 64 && said.find("64 of the tasks of a finish failed: ") == 0 &&
                  said.find("std::out_of_range: leaf (rank ") != std::string::npos &&
                  said.find("and 61 more") != std::string::npos;
        }
        if (!right) return 1;
      }
      return 0;
    });
  });
}

TEST_P(finish, the_body_s_own_exception_waits_for_the_asyncs) {
  expect_zero([](tobi::runtime&) {
    return tobi::run([] {
      const auto p = tobi::make_promise<int>();
      try {
        tobi::finish([&] {
          tobi::async([=] {
            spin(20000);
            p.set(1);
          });
          throw std::logic_error("body");
        });
      } catch (const tobi::finish_error& e) {
        return p.get_future().join() == 1 && e.count() == 1 ? 0 : 1;
      }
      return 2;
    });
  });
}

// An async belongs to the innermost finish, also where a spawned task that was made inside of it makes one, and again
// to the outer one behind the inner: only the inner one's failure is the inner one's.
TEST_P(finish, nested_ones_each_have_their_own) {
  expect_zero([](tobi::runtime&) {
    return tobi::run([] {
      for (int i = 0; i < 20; ++i) {
        int inner = 0;
        std::uint64_t outer = 0;
        try {
          tobi::finish([&] {
            tobi::async([] {
              spin(3000);
              throw std::runtime_error("outer, before");
            });
            try {
              tobi::finish([] {
                auto child = tobi::spawn([] {
                  spin(1000);
                  tobi::async([] {
                    spin(1000);
                    throw std::runtime_error("inner");
                  });
                  spin(1000);
                });
                spin(1000);
                child.join();
                tobi::async([] { spin(1000); });
              });
            } catch (const tobi::finish_error& e) {
              if (e.count() == 1 && std::string(e.what()).find("inner") != std::string::npos) inner = 1;
            }
            tobi::async([] {
              spin(1000);
              throw std::runtime_error("outer, behind");
            });
            tobi::async([] {
              tobi::async([] {
                spin(2000);
                throw std::runtime_error("outer, below");
              });
            });
          });
        } catch (const tobi::finish_error& e) {
          outer = e.count();
        }
        if (inner != 1 || outer != 3) return 1;
      }
      return 0;
    });
  });
}

TEST_P(finish, an_async_waits_for_a_future_and_its_parents_go_on) {
  expect_zero([](tobi::runtime&) {
    return tobi::run([] {
      const auto p = tobi::make_promise<int>();
      const auto q = tobi::make_promise<int>();
      tobi::finish([&] {
        tobi::async([=] {
          tobi::async([=] { q.set(p.get_future().join() + 1); });
          spin(100);
        });
        spin(3000);
        p.set(4);
      });
      return q.get_future().join() - 5;
    });
  });
}

INSTANTIATE_TEST_SUITE_P(over, finish,
                         testing::Values(mode{1, "steal_word", "0", "auto"}, mode{2, "steal_word", "0", "auto"},
                                         mode{4, "steal_word", "0", "auto"}, mode{2, "the", "0", "auto"},
                                         mode{4, "the", "0", "auto"}, mode{1, "steal_word", "1", "auto"},
                                         mode{3, "steal_word", "1", "auto"}, mode{2, "steal_word", "0", "sim"},
                                         mode{3, "the", "0", "sim"}, mode{4, "steal_word", "0", "ofi"}),
                         [](const testing::TestParamInfo<mode>& i) {
                           return std::string(std::get<1>(i.param)) + "_" + std::to_string(std::get<0>(i.param)) +
                                  (std::get<2>(i.param)[0] == '1' ? "_migrating" : "") + "_" + std::get<3>(i.param);
                         });

TEST(async, outside_of_a_finish_is_one_sentence) {
  const outcome o = in_job(2, {}, [](tobi::runtime&) {
    tobi::run([] { tobi::async([] {}); });
    return 0;
  });
  EXPECT_EQ(o.status, 1);
  EXPECT_NE(o.said.find("outside of any tobi::finish"), std::string::npos) << o.said;
}

TEST(finish_that_cannot_end, is_reported) {
  const outcome o = in_job(2, {}, [](tobi::runtime&) {
    tobi::run([] {
      const auto p = tobi::make_promise<int>();
      tobi::finish([&] { tobi::async([=] { (void)p.get_future().join(); }); });
    });
    return 0;
  });
  EXPECT_EQ(o.status, 1);
  EXPECT_NE(o.said.find("for the tasks of a finish"), std::string::npos) << o.said;
}

}  // namespace
