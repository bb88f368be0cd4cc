// SPDX-License-Identifier: Apache-2.0
// lane: computes, 15 s
// ityr/ityr.hpp: the life of a program, its options, tasks, and the ways between tasks and main.
#include <stdexcept>

#include "tests/jobs/ityr.hpp"

namespace {

using namespace ityr;

INSTANTIATE_TEST_SUITE_P(ways, ityr_programs, ityr_ways(), name_of_way);

long fib(int n) {
  if (n < 2) return n;
  auto [x, y] = parallel_invoke([=] { return fib(n - 1); }, fib, std::make_tuple(n - 2));
  return x + y;
}

TEST_P(ityr_programs, compute_by_parallel_invoke) {
  expect_zero([] {
    CHECK(is_spmd() && !is_root() && is_master() == (my_rank() == 0) && my_rank() < n_ranks());
    CHECK(root_exec([] { return is_root() && !is_spmd(); }));
    CHECK(root_exec(fib, 15) == 610);
    CHECK(root_exec([](int n) { return fib(n) + fib(n - 1); }, 10) == 89);
    root_exec([] {
      auto [sum, one, none] = parallel_invoke([](int i, int j) { return i + j; }, std::make_tuple(1, 2),  //
                                              [] { return 1.5; }, [] {});
      MUST(sum == 3 && one == 1.5 && none == std::monostate{});
      MUST(parallel_invoke() == std::make_tuple());
      MUST(parallel_invoke([] {}) == std::make_tuple(std::monostate{}));
      auto [a, b] = parallel_invoke([] { return 2; }, workhint(10),  //
                                    [](int x) { return x; }, std::make_tuple(7), workhint(90));
      MUST(a == 2 && b == 7);
    });
    const wallclock_t before = gettime_ns();
    barrier();
    CHECK(gettime_ns() >= before);
    return 0;
  });
}

TEST_P(ityr_programs, move_closures_arguments_and_results) {
  expect_zero([] {
    root_exec([] {
      for (int i = 0; i < 20; ++i) {
        auto [a, b] = parallel_invoke([](movable m) { return movable(m.value() + 1); }, std::make_tuple(movable(i)),
                                      [m = movable(5)]() mutable { return fib(8) + m.value(); });
        MUST(a.value() == i + 1 && b == 26);
      }
    });
    movable given(is_master() ? 4 : 0);
    const long got = root_exec([m = std::move(given)]() mutable {
      movable mine = std::move(m);
      return fib(7) + mine.value();
    });
    CHECK(got == 17);
    return 0;
  });
}

TEST_P(ityr_programs, have_threads_that_are_moved) {
  expect_zero([] {
    root_exec([] {
      ito::thread<movable> first([](movable m) { return m; }, movable(9));
      ito::thread<movable> second;
      second = std::move(first);
      MUST(second.join().value() == 9);
      ito::thread<long> with_all(
          ito::with_callback, [] {}, [] {}, ito::with_workhint, 1, 2, fib, 10);
      ito::thread<void> hinted(ito::with_workhint, 1, 1, [] { (void)fib(8); });
      const auto group = ito::task_group_begin();
      MUST(with_all.join() == 55);
      hinted.join();
      ito::task_group_end(
          group, [] {}, [] {});
      ito::poll();
    });
    return 0;
  });
}

TEST_P(ityr_programs, go_from_tasks_to_main_and_back) {
  expect_zero([] {
    const int all = n_ranks();
    const int sum = root_exec([=] {
      int got = 0;
      for (int i = 0; i < 3; ++i) {
        const rank_t here = my_rank();
        const int there = coll_exec(
            [](int more) {
              barrier();
              return my_rank() + more;
            },
            10);
        MUST(there == here + 10);
        // A root in what all processes call, and what all call in that.
        got += coll_exec(
            [] { return root_exec([] { return coll_exec([] { return n_ranks(); }) + static_cast<int>(fib(5)); }); });
      }
      migrate_to(n_ranks() - 1);
      migrate_to_master();
      return got;
    });
    CHECK(sum == 3 * (all + 5));
    CHECK(coll_exec([] { return 3; }) == 3);
    return 0;
  });
}

TEST_P(ityr_programs, throw_out_of_tasks) {
  expect_zero([] {
    root_exec([] {
      bool caught = false;
      try {
        parallel_invoke([] { throw std::runtime_error("thrown"); }, [] {});
      } catch (const std::exception&) {
        caught = true;
      }
      MUST(caught);
    });
    return 0;
  });
}

struct event_of_a_program : common::profiler::event {
  using event::event;
  [[nodiscard]] std::string str() const override { return "of a program"; }
};

TEST_P(ityr_programs, have_what_is_printed_and_counted) {
  expect_zero([] {
    common::profiler::event_initializer<event_of_a_program> ITYR_ANON_VAR;
    common::profiler::event_initializer<event_of_a_program> ITYR_ANON_VAR;
    profiler_begin();
    root_exec([] { ITYR_PROFILER_RECORD(event_of_a_program); });
    profiler_end();
    profiler_flush();
    print_compile_options();
    print_runtime_options();
    return common::topology::n_ranks() == n_ranks() ? 0 : 1;
  });
}

TEST(ityr_options, have_other_names_here) {
  const outcome o = in_child([] {
    setenv("TOBI_WORKERS", "2", 1);
    setenv("ITYR_ORI_CACHE_SIZE", "1048576", 1);
    setenv("ITYR_ORI_SUB_BLOCK_SIZE", "8192", 1);
    setenv("TOBI_SUB_BLOCK_SIZE", "4096", 1);
    setenv("ITYR_ORI_LAZY_RELEASE_CHECK_INTERVAL", "10", 1);
    ityr::init(0);  // an MPI_Comm of some MPI
    const bool right = std::string(std::getenv("TOBI_CACHE_SIZE")) == "1048576" &&
                       std::string(std::getenv("TOBI_SUB_BLOCK_SIZE")) == "4096";
    ityr::fini();
    std::exit(right ? 0 : 1);
  });
  EXPECT_EQ(o.status, 0) << o.said;
  for (const char* note : {"tobi: ITYR_ORI_CACHE_SIZE is taken as TOBI_CACHE_SIZE.\n",
                           "tobi: ITYR_ORI_SUB_BLOCK_SIZE is ignored, because TOBI_SUB_BLOCK_SIZE is set.\n",
                           "tobi: ITYR_ORI_LAZY_RELEASE_CHECK_INTERVAL has no counterpart and is ignored.\n"}) {
    EXPECT_NE(o.said.find(note), std::string::npos) << note << o.said;
  }
}

}  // namespace
