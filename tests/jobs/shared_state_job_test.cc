// SPDX-License-Identifier: Apache-2.0
// lane: sleeps, 3 s
// What workers bring together in main (gather, reduce, broadcast, print), objects of each worker, and bounds and flags
// that all of them read.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/jobs/mistakes.hpp"
#include "tests/jobs/ways.hpp"

namespace {

std::vector<way> ways() {
  return usual_ways_and(
      {{"server", 4, {{"TOBI_TRANSPORT", "ofi"}, {"TOBI_NODES", "2"}, {"TOBI_AMO_SERVER", "worker"}}}});
}

class together : public in_each_way {};

struct wide {
  std::array<std::uint64_t, 300> words;
};

TEST_P(together, values_come_in_the_order_of_the_ranks) {
  expect_zero([](tobi::runtime& rt) {
    const int size = rt.size();
    const std::vector<int> ranks = rt.all_gather(rt.rank());
    CHECK(static_cast<int>(ranks.size()) == size);
    for (int r = 0; r < size; ++r) CHECK(ranks[static_cast<std::size_t>(r)] == r);
    const std::vector<bool> odd = rt.all_gather(rt.rank() % 2 == 1);
    for (int r = 0; r < size; ++r) CHECK(odd[static_cast<std::size_t>(r)] == (r % 2 == 1));
    const std::vector<wide> all = rt.all_gather(wide{{static_cast<std::uint64_t>(rt.rank())}});
    CHECK(all.back().words[0] == static_cast<std::uint64_t>(size - 1) && all.back().words[299] == 0);

    CHECK(rt.reduce(rt.rank() + 1) == size * (size + 1) / 2);
    // Not commutative: the digits of the ranks, from the first on.
    const auto digits = [](std::int64_t a, std::int64_t b) { return a * 10 + b; };
    std::int64_t right = 0;
    for (int r = 1; r < size; ++r) right = right * 10 + r;
    CHECK(rt.reduce(std::int64_t{rt.rank()}, digits) == right);
    CHECK(rt.reduce(double{1} / (1 + rt.rank()), [](double a, double b) { return std::max(a, b); }) == 1);

    for (int root = 0; root < size; ++root) {
      CHECK(rt.broadcast(rt.rank() * 3 + 1, root) == root * 3 + 1);
      CHECK(rt.broadcast(wide{{static_cast<std::uint64_t>(rt.rank())}}, root).words[0] ==
            static_cast<std::uint64_t>(root));
    }
    return 0;
  });
}

TEST_P(together, parts_of_any_length_become_one_range) {
  expect_zero([](tobi::runtime& rt) {
    for (int root = 0; root < rt.size(); ++root) {
      // Rank r brings r * 1000 numbers: the first one nothing.
      std::vector<int> mine(static_cast<std::size_t>(rt.rank()) * 1000);
      std::iota(mine.begin(), mine.end(), 0);
      const std::vector<int> all = rt.gather(mine, root);
      if (rt.rank() != root) {
        CHECK(all.empty());
        continue;
      }
      std::size_t next = 0;
      for (int r = 0; r < rt.size(); ++r) {
        for (int i = 0; i < r * 1000; ++i) CHECK(all[next++] == i);
      }
      CHECK(next == all.size());
    }
    const std::string said = "rank " + std::to_string(rt.rank()) + ";";
    const std::vector<char> text = rt.gather(said);
    std::string right;
    for (int r = 0; r < rt.size(); ++r) right += "rank " + std::to_string(r) + ";";
    CHECK(rt.rank() != 0 || std::string(text.begin(), text.end()) == right);
    return 0;
  });
}

TEST_P(together, arrays_are_reduced_element_by_element) {
  expect_zero([](tobi::runtime& rt) {
    const int size = rt.size(), r = rt.rank();
    const std::array<std::array<int, 2>, 3> mine{{{r, 1}, {2 * r, -r}, {r * r, 5}}};
    const auto sum = rt.reduce(mine);
    const int ranks = size * (size - 1) / 2, squares = ranks * (2 * size - 1) / 3;
    CHECK(sum == std::array<std::array<int, 2>, 3>{{{ranks, size}, {2 * ranks, -ranks}, {squares, 5 * size}}});
    const auto larger = [](int a, int b) { return std::max(a, b); };
    CHECK(rt.reduce(std::array<int, 2>{r, -r}, larger) == std::array<int, 2>{size - 1, 0});
    // What takes an array is given the array.
    const auto lexically = [](const std::array<int, 2>& a, const std::array<int, 2>& b) { return std::max(a, b); };
    CHECK(rt.reduce(std::array<int, 2>{r / 2, r % 2}, lexically) == std::array<int, 2>{(size - 1) / 2, (size - 1) % 2});
    CHECK(rt.reduce(std::array<int, 0>{}).empty());
    return 0;
  });
}

TEST_P(together, maps_are_gathered_as_vectors_of_pairs) {
  expect_zero([](tobi::runtime& rt) {
    std::map<int, std::uint64_t> mine;
    for (int i = 0; i < 100; ++i) mine[i * rt.size() + rt.rank()] = static_cast<std::uint64_t>(i);
    const std::vector<std::pair<int, std::uint64_t>> flat(mine.begin(), mine.end());
    const auto all = rt.gather(flat);
    if (rt.rank() != 0) return all.empty() ? 0 : 1;
    const std::map<int, std::uint64_t> found(all.begin(), all.end());
    CHECK(static_cast<int>(found.size()) == 100 * rt.size());
    for (const auto& [key, value] : found) CHECK(static_cast<std::uint64_t>(key / rt.size()) == value);
    return 0;
  });
}

// What tasks capture has a name, and is had of what only reads.
struct captured {
  tobi::per_worker<long>::handle_type count;
  tobi::shared_max<int>::handle_type most;
  tobi::stop_flag::handle_type stop;
};
long counted(captured all) {
  tobi::parallel_for(0, 100, 1, [=](int i) {
    ++*all.count;
    all.most.offer(i);
    if (i == 99) all.stop.stop();
  });
  return 0;
}
TEST_P(together, handles_have_a_type) {
  expect_zero([](tobi::runtime& rt) {
    const tobi::per_worker<long> count(0);
    const tobi::shared_max<int> most(rt, 0);
    const tobi::stop_flag stop(rt);
    tobi::run([all = captured{count.handle(), most.handle(), stop.handle()}] { return counted(all); });
    CHECK(rt.reduce(*count) == 100 && count.operator->() == &*count);
    CHECK(most.value() == 99 && stop.stopped());
    return 0;
  });
}

TEST_P(together, each_worker_has_its_own_object) {
  expect_zero([](tobi::runtime& rt) {
    tobi::per_worker<std::vector<int>> seen;
    tobi::per_worker<long> count(rt.rank() * 1000L);
    for (int round = 0; round < 3; ++round) {
      tobi::run([s = seen.handle(), c = count.handle()] {
        tobi::parallel_for(0, 500, 3, [=](int i) {
          s->push_back(i);
          ++*c;
        });
      });
    }
    const int size = rt.size();
    CHECK(rt.reduce(*count) == 1500 + 1000L * size * (size - 1) / 2);
    std::vector<int> all = rt.gather(*seen);
    std::sort(all.begin(), all.end());
    if (rt.rank() == 0) {
      CHECK(all.size() == 1500);
      for (int i = 0; i < 1500; ++i) CHECK(all[static_cast<std::size_t>(i)] == i / 3);
    }
    // The numbers of those that have ended are given again.
    for (int i = 0; i < 100; ++i) {
      tobi::per_worker<int> one(i);
      const int got = tobi::run([h = one.handle()] { return *h; });
      CHECK(got == i);
    }
    return 0;
  });
}

template <class T>
int falls_and_grows(tobi::runtime& rt) {
  tobi::shared_min<T> low(rt, T{1000});
  tobi::shared_max<T> high(rt, T{0});
  for (int round = 0; round < 2; ++round) {
    const bool monotone = tobi::run([low = low.handle(), high = high.handle()] {
      return tobi::parallel_reduce(
          1, 900, 5, true,
          [=](int i) {
            const T before = low.get();
            low.offer(static_cast<T>(1000 - i));
            high.offer(static_cast<T>(i));
            return !(before < low.get()) && !(static_cast<T>(1000 - i) < low.get()) &&
                   !(high.get() < static_cast<T>(i));
          },
          [](bool a, bool b) { return a && b; });
    });
    CHECK(monotone);
    CHECK(low.value() == T{101} && high.value() == T{899});
    CHECK(rt.reduce(low.value() == T{101} ? 1 : 0) == rt.size());
    low.reset(T{1000});
    high.reset(T{0});
    CHECK(low.value() == T{1000} && high.value() == T{0});
  }
  const bool first =
      tobi::run([low = low.handle()] { return low.offer(T{7}) && !low.offer(T{7}) && !low.offer(T{8}); });
  CHECK(first);
  return 0;
}

TEST_P(together, bounds_move_in_one_direction) {
  expect_zero([](tobi::runtime& rt) {
    return falls_and_grows<std::int64_t>(rt) + falls_and_grows<std::uint32_t>(rt) + falls_and_grows<double>(rt) +
           falls_and_grows<float>(rt);
  });
}

TEST_P(together, an_unordered_read_changes_nothing) {
  expect_zero([](tobi::runtime& rt) {
    const auto number = tobi::allocate_all<double>(1);
    if (rt.rank() == 0) number[0] = -0.0;
    rt.barrier();
    CHECK(std::signbit(tobi::load_relaxed(number.data())));
    rt.barrier();
    if (rt.rank() == 0) number[0] = std::numeric_limits<double>::quiet_NaN();
    rt.barrier();
    CHECK(std::isnan(tobi::load_relaxed(number.data())));
    rt.barrier();
    CHECK(std::isnan(double{number[0]}));
    const auto small = tobi::allocate_all<std::int32_t>(2);
    if (rt.rank() == 0) small[1] = std::numeric_limits<std::int32_t>::min();
    rt.barrier();
    CHECK(tobi::load_relaxed(&small[1]) == std::numeric_limits<std::int32_t>::min());
    return 0;
  });
}

TEST_P(together, a_flag_reaches_everybody) {
  expect_zero([](tobi::runtime& rt) {
    tobi::stop_flag flag(rt);
    for (int round = 0; round < 2; ++round) {
      CHECK(!flag.stopped());
      // Each waits until it has seen it; one raises it.
      tobi::run([stop = flag.handle(), size = rt.size()] {
        tobi::parallel_for(0, size, 1, [=](int i) {
          if (i == 0) stop.stop();
          while (!stop.stopped()) tobi::poll();
        });
      });
      CHECK(flag.stopped());
      flag.reset();
    }
    return 0;
  });
}

// Alone a worker knows of the flag at once.
TEST_P(together, a_loop_that_fails_leaves_out_what_has_not_begun) {
  expect_zero([](tobi::runtime& rt) {
    tobi::stop_flag failed(rt);
    const tobi::per_worker<int> begun(0);
    const bool told = tobi::run([stop = failed.handle(), count = begun.handle()] {
      try {
        tobi::parallel_for(0, 400, 1, tobi::stoppable(stop, [=](int i) {
                             ++*count;
                             if (i == 3) throw std::runtime_error("no input");
                           }));
      } catch (const tobi::task_error& e) {
        return e.message().find("no input") != std::string::npos;
      }
      return false;
    });
    CHECK(told && failed.stopped());
    const int all = rt.reduce(*begun);
    CHECK(rt.size() == 1 ? all == 4 : all >= 1 && all <= 400);
    // In a finish, and for a body of two indices.
    failed.reset();
    const int ended = tobi::run([stop = failed.handle()] {
      int errors = 0;
      try {
        tobi::finish([=] { tobi::async(tobi::stoppable(stop, [] { throw std::runtime_error("an async"); })); });
      } catch (const tobi::finish_error&) {
        ++errors;
      }
      while (!stop.stopped()) tobi::poll();  // perhaps another worker's
      tobi::stoppable(stop, [&errors](int, int) { errors += 10; })(1, 2);
      return errors;
    });
    CHECK(ended == 1);
    return 0;
  });
}

TEST_P(together, a_file_is_mapped_by_each_worker) {
  expect_zero([path = testing::TempDir() + "mapped." + std::to_string(getpid())](tobi::runtime& rt) {
    std::string text;
    for (int i = 0; i < 10000; ++i) text += std::to_string(i) + "\n";
    if (rt.rank() == 0) std::ofstream(path) << text;
    rt.barrier();
    const tobi::mapped_file file(path);
    CHECK(file.text() == text);
    const long lines = tobi::run([file = file.handle()] {
      return tobi::parallel_reduce(
          0, 100, 1, 0L,
          [=](int k) {
            const std::string_view all = file.text();
            const auto part = all.substr(all.size() * static_cast<std::size_t>(k) / 100);
            const std::size_t n = all.size() * static_cast<std::size_t>(k + 1) / 100 - (all.size() - part.size());
            return static_cast<long>(std::count(part.begin(), part.begin() + static_cast<std::ptrdiff_t>(n), '\n'));
          },
          std::plus<>());
    });
    CHECK(lines == 10000);
    // By lines, wherever the parts meet: each once.
    const long sum = tobi::run([file = file.handle()] {
      return tobi::parallel_reduce(
          std::size_t{0}, file.text().size(), 777, 0L,
          [=](std::size_t first, std::size_t last) {
            long numbers = 0;
            tobi::for_lines(file.text(), first, last,
                            [&](std::string_view line) { numbers += std::stol(std::string(line)) + 1; });
            return numbers;
          },
          std::plus<>());
    });
    CHECK(sum == 10000L * 10001 / 2);
    rt.barrier();
    if (rt.rank() == 0) std::ofstream(path, std::ios::trunc);
    rt.barrier();
    CHECK(tobi::mapped_file(path).text().empty());
    rt.barrier();
    if (rt.rank() == 0) unlink(path.c_str());
    return 0;
  });
}

INSTANTIATE_TEST_SUITE_P(ways, together, testing::ValuesIn(ways()), name_of_way);

TEST(together_job, mistakes_are_told) {
  ends_with("rt.broadcast was given rank 2 as its root; there are ranks 0 to 1", 2, {},
            [](tobi::runtime& rt) { return rt.broadcast(1, 2); });
  ends_with("bytes to a gather of all workers, and this one takes", 2, {}, [](tobi::runtime& rt) {
    return rt.rank() == 0 ? static_cast<int>(rt.all_gather(std::int64_t{1}).size())
                          : static_cast<int>(rt.all_gather(std::int32_t{1}).size());
  });
  ends_with("no room for the 80000000 bytes that this worker brings to a gather", 2, {{"TOBI_HEAP_SIZE", "64M"}},
            [](tobi::runtime& rt) {
              const std::vector<char> large(rt.rank() == 1 ? 80'000'000 : 1);
              return static_cast<int>(rt.gather(large).size());
            });
  ends_with("was called inside a task; it is for all ranks", 2, {},
            [](tobi::runtime& rt) { return tobi::run([&rt] { return rt.reduce(1); }); });
  ends_with("is in tobi::runtime::barrier", 2, {}, [](tobi::runtime& rt) {
    if (rt.rank() == 0) rt.barrier();
    return rt.reduce(1);
  });
  ends_with("tobi::mapped_file cannot map /nonexistent: No such file or directory", 2, {},
            [](tobi::runtime&) { return static_cast<int>(tobi::mapped_file("/nonexistent").text().size()); });
  ends_with("tobi::mapped_file cannot map /tmp: it is no regular file", 2, {},
            [](tobi::runtime&) { return static_cast<int>(tobi::mapped_file("/tmp").text().size()); });
  ends_with("the program has 4096 objects of tobi::per_worker (or shared_min, shared_max, stop_flag) at once", 1, {},
            [](tobi::runtime&) {
              const std::vector<tobi::per_worker<int>> as_many(4096);
              const tobi::per_worker<int> one_more;
              return *one_more;
            });
  ends_with("rank 1 has made no tobi::per_worker", 2, {}, [](tobi::runtime& rt) {
    std::optional<tobi::per_worker<int>> one;
    if (rt.rank() == 0) one.emplace(1);
    const auto on_both = tobi::allocate_all<char>(std::size_t{1} << 17);
    return tobi::run([h = tobi::per_worker_handle<int>(0), at = tobi::on(on_both, tobi::affinity::owner_computes)] {
      return tobi::parallel_reduce(
          at, 0, 2, 1, 0, [=](int) { return h.local(); }, [](int a, int b) { return a + b; });
    });
  });
}

}  // namespace
