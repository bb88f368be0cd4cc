// SPDX-License-Identifier: Apache-2.0
// lane: sleeps, 4 s
// Work hints of loops, as Itoyori's users write them: with TOBI_SCHED=adws they say where the parts of a loop begin.
#include <cmath>

#include "tests/jobs/ityr.hpp"
#include "tests/jobs/meeting.hpp"

namespace {

using namespace ityr;

const setting adws{"TOBI_SCHED", "adws"}, sim{"TOBI_TRANSPORT", "sim"}, tcp{"TOBI_TRANSPORT", "ofi"};

INSTANTIATE_TEST_SUITE_P(ways, ityr_programs,
                         testing::Values(way{"shm", 4, {adws}}, way{"sim", 4, {adws, sim, {"TOBI_NODES", "2"}}},
                                         way{"tcp", 5, {adws, tcp, {"TOBI_NODES", "2"}}}),
                         name_of_way);

count_iterator<long> at(long i) { return count_iterator<long>(i); }

// Of two elements the first is as much work as all workers but one do, and the second is that one's.
TEST_P(ityr_programs, divide_workers_by_hints) {
  expect_zero([] {
    const meeting both(2);
    const int last = static_cast<int>(n_ranks()) - 1;
    root_exec([=] {
      const execution::parallel_policy one(1);
      const auto hints = create_workhint_range(one, at(0), at(2), [=](long x) { return x == 0 ? last : 1; });
      MUST(!hints.view().empty());
      const auto in_order = [=] { return tobi::load(&both.where[0]) == 0 && tobi::load(&both.where[1]) == last; };
      in_a_row loops;
      while (loops.wants()) {
        both.again();
        for_each(execution::parallel_policy(1, 1, hints.view()), at(0), at(2),
                 [=](long x) { both.comes(static_cast<std::size_t>(x)); });
        loops.was(in_order());
      }
      MUST(loops.is_sure());
      in_a_row reductions;
      while (reductions.wants()) {
        both.again();
        const long sum =
            transform_reduce(execution::parallel_policy(1, hints), at(0), at(2), reducer::plus<long>{}, [=](long x) {
              both.comes(static_cast<std::size_t>(x));
              return x + 1;
            });
        MUST(sum == 3);
        reductions.was(in_order());
      }
      MUST(reductions.is_sure());
    });
    return 0;
  });
}

TEST_P(ityr_programs, keep_the_sums_of_hints) {
  expect_zero([] {
    root_exec([] {
      constexpr std::size_t count = 1000;
      const auto sum_before = [](std::size_t i) { return static_cast<double>(i * (i - 1)); };
      global_vector<long> v(count);
      for_each(execution::parallel_policy(100), at(0), at(count), make_global_iterator(v.begin(), checkout_mode::write),
               [](long i, long& x) { x = i; });
      for (const std::size_t asked : {0u, 1u, 7u, 10u, 1000u, 5000u}) {
        const auto hints = create_workhint_range(
            execution::parallel_policy(64), v.begin(), v.end(), [](long x) { return 2 * x; }, asked);
        const std::size_t parts = asked == 0 || asked > count ? count : asked;
        // Exact at the borders of parts, and straight lines between them.
        const internal::told_work whole{hints.view().sums(), count};
        MUST(std::abs(whole(0, count) - sum_before(count)) < 1e-6);
        for (std::size_t i = 0; i <= count; ++i) {
          const bool is_border = i * parts % count == 0;
          const double off = std::abs(whole(0, i) - sum_before(i));
          MUST(is_border ? off < 1e-6 : off <= 2.0 * count * count / static_cast<double>(parts));
        }
        // A range of another size is stretched.
        const internal::told_work half{hints.view().sums(), count / 2};
        MUST(std::abs(half(0, count / 2) - whole(0, count)) < 1e-6);
      }
      const auto none = create_workhint_range(execution::par, v.begin(), v.begin(), [](long x) { return x; });
      MUST(none.view().empty());
      MUST(reduce(execution::parallel_policy(none), v.begin(), v.end()) == 499'500);
    });
    return 0;
  });
}

TEST(ityr_hints, are_not_asked_for_where_nothing_is_divided) {
  const outcome o = in_child([] {
    setenv("TOBI_WORKERS", "2", 1);
    init();
    root_exec([] {
      const auto hints = create_workhint_range(execution::par, at(0), at(10), [](long) -> long { std::abort(); });
      MUST(hints.view().empty());
      MUST(reduce(execution::parallel_policy(2, hints), at(0), at(10)) == 45);
    });
    fini();
    std::exit(0);
  });
  EXPECT_EQ(o.status, 0) << o.said;
}

}  // namespace
