// SPDX-License-Identifier: Apache-2.0
// lane: sleeps, 10 s
// Where work runs: owners of global memory, tasks that go to a worker, and loops whose parts begin at the owners of
// their data. What they compute is right wherever they run; and where it is certain, they run where they should.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <new>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libcore/job/job.hpp"
#include "tests/jobs/mistakes.hpp"
#include "tests/jobs/ways.hpp"

namespace {

using tobi::affinity;
const setting tcp{"TOBI_TRANSPORT", "ofi"}, sim{"TOBI_TRANSPORT", "sim"}, block{"TOBI_BLOCK_SIZE", "4K"},
    cache{"TOBI_CACHE_SIZE", "1M"};

const std::string trace_file = testing::TempDir() + "placement." + std::to_string(getpid());

std::vector<way> ways() {
  return {
      {"shm", 3, {block, cache}},
      {"one", 1, {block, cache}},
      {"sim", 5, {sim, {"TOBI_NODES", "5"}, block, cache}},
      {"sim_without_chains", 4, {sim, {"TOBI_SIM", "nochain,depth1"}, {"TOBI_NODES", "2"}, block, cache}},
      {"tcp", 4, {tcp, {"TOBI_NODES", "2"}, block, cache}},
      {"the", 4, {sim, {"TOBI_NODES", "2"}, {"TOBI_DEQUE", "the"}, block, cache}},
      {"stalling", 4, {sim, {"TOBI_NODES", "2"}, {"TOBI_SCHED", "continuation_stalling"}, block, cache}},
      {"child_full", 4, {sim, {"TOBI_NODES", "2"}, {"TOBI_SCHED", "child_full"}, block, cache}},
      {"child_rtc", 4, {sim, {"TOBI_NODES", "2"}, {"TOBI_SCHED", "child_rtc"}, block, cache}},
      {"adws", 4, {sim, {"TOBI_NODES", "2"}, {"TOBI_SCHED", "adws"}, block, cache}},
      {"debug", 4, {sim, {"TOBI_NODES", "2"}, {"TOBI_DEBUG_MIGRATE", "1"}, {"TOBI_DEBUG_GLOBAL", "1"}, block, cache}},
      {"traced", 4, {sim, {"TOBI_NODES", "2"}, {"TOBI_TRACE", trace_file.c_str()}, block, cache}},
  };
}

// Whether tasks move, and are not tied to where they began.
bool moves() {
  return std::string_view(testing::UnitTest::GetInstance()->current_test_info()->name()).find("/child_") ==
         std::string_view::npos;
}

class placed : public in_each_way {
 protected:
  ~placed() override { unlink(trace_file.c_str()); }
};

// 24 bytes: elements lie across the borders of blocks.
struct odd {
  std::uint64_t index;
  int touched_by;
  int times;
  std::uint64_t sum;
};

int segments_are_whole(tobi::global_span<odd> all, int size, std::optional<int> owner) {
  std::size_t next = 0;
  for (const tobi::segment<odd> s : tobi::segments(all)) {
    if (s.part.empty()) continue;
    CHECK(s.part.data() == all.data() + static_cast<std::ptrdiff_t>(next));
    next += s.part.size();
    CHECK(s.owner >= 0 && s.owner < size && (!owner || s.owner == *owner));
    CHECK(tobi::owner(s.part.data()) == s.owner);
    CHECK(tobi::owner(s.part.data() + static_cast<std::ptrdiff_t>(s.part.size() - 1)) == s.owner);
  }
  CHECK(next == all.size());
  return 0;
}

TEST_P(placed, each_element_has_one_owner) {
  expect_zero([](tobi::runtime& rt) {
    for (const tobi::distribution how : {tobi::block(), tobi::block_cyclic(4096), tobi::block_cyclic(10000)}) {
      for (const std::size_t n : {1ul, 2ul, 170ul, 171ul, 5000ul, 12345ul}) {
        const auto all = tobi::allocate_all<odd>(n, how);
        if (const int wrong = segments_are_whole(all, rt.size(), {}); wrong != 0) return wrong;
        if (const int wrong = segments_are_whole(all.subspan(n / 3, n / 2), rt.size(), {}); wrong != 0) return wrong;
        if (how.chunk_bytes == 0) {
          std::size_t mine = 0;
          for (const tobi::segment<odd> s : tobi::segments(all)) mine += s.owner == rt.rank() ? s.part.size() : 0;
          CHECK(tobi::local_part(all).size() == mine);
        }
        CHECK(tobi::local_part(all.subspan(0, 0)).empty() && tobi::segments(all.subspan(0, 0)).size() == 0);
        tobi::free_all(all);
      }
    }
    const tobi::global_span<odd> own(tobi::allocate_global<odd>(1000), 1000);
    const int wrong = segments_are_whole(own, rt.size(), rt.rank());
    tobi::free_global(own.data(), own.size());
    return wrong;
  });
}

// Every index once, and every one where its owner is, where that is promised.
int visits(tobi::runtime& rt, std::size_t elements, std::size_t iterations, affinity how, tobi::distribution dealt,
           bool moves) {
  const auto data = tobi::allocate_all<odd>(elements, dealt);
  const auto seen = tobi::allocate_all<int>(iterations);
  const auto where = tobi::allocate_all<int>(iterations);
  const bool right = tobi::run([=] {
    tobi::fill(seen, 0);
    tobi::parallel_for(tobi::on(data, how), std::size_t{0}, iterations, 7, [=](std::size_t i) {
      seen[i] += 1;
      where[i] = tobi::detail::tobi_here();
    });
    return tobi::transform_reduce(
        seen, true, [](bool a, bool b) { return a && b; }, [](int n) { return n == 1; });
  });
  CHECK(right);
  if (how == affinity::owner_computes && moves && elements != 0) {
    const tobi::placement at = tobi::on(data, how);
    for (std::size_t piece = 0; piece < at.size(); ++piece) {
      for (std::size_t i = at.begin_of(piece, iterations); i < at.begin_of(piece + 1, iterations); ++i) {
        CHECK(where[i] == at.owner_of(piece));
      }
    }
  }
  rt.barrier();
  tobi::free_all(where);
  tobi::free_all(seen);
  tobi::free_all(data);
  return 0;
}

TEST_P(placed, a_loop_visits_each_index_once_and_its_owner_if_asked) {
  expect_zero([moves = moves()](tobi::runtime& rt) {
    for (const affinity how : {affinity::automatic, affinity::none, affinity::owner, affinity::owner_computes}) {
      for (const tobi::distribution dealt : {tobi::block(), tobi::block_cyclic(4096)}) {
        for (const auto& [elements, iterations] : std::vector<std::pair<std::size_t, std::size_t>>{
                 {1, 1}, {5000, 5000}, {5000, 13}, {3, 100}, {2000, 2}, {1500, 1499}}) {
          if (const int wrong = visits(rt, elements, iterations, how, dealt, moves); wrong != 0) return wrong;
        }
      }
    }
    return 0;
  });
}

TEST_P(placed, indices_of_any_type_count) {
  expect_zero([](tobi::runtime&) {
    const auto data = tobi::allocate_all<char>(100000);
    const auto sum = tobi::allocate_all<std::int64_t>(1);
    for (const affinity how : {affinity::owner, affinity::owner_computes}) {
      const std::int64_t got = tobi::run([=] {
        sum[0] = 0;
        const auto at = tobi::on(data, how);
        const auto add = [=](std::int64_t i) { tobi::fetch_add(sum.data(), i); };
        tobi::parallel_for(at, -50, 50, 3, add);                              // -50
        tobi::parallel_for(at, 0, std::size_t{101}, 1, add);                  // 5050
        tobi::parallel_for(at, std::int8_t{-128}, std::int8_t{127}, 0, add);  // -255
        tobi::parallel_for(at, 5, 5, 1, add);
        tobi::parallel_for(at, 5, -5, 1, add);
        return std::int64_t{sum[0]};
      });
      CHECK(got == -50 + 5050 - 255);
    }
    return 0;
  });
}

// Composition of x -> a x + b modulo a prime: associative, and not commutative.
struct affine {
  std::uint64_t a, b;
};
constexpr std::uint64_t prime = 1'000'003;
affine of(std::size_t i) { return {i * 7 % prime + 1, i * i % prime}; }
affine then(const affine& f, const affine& g) { return {f.a * g.a % prime, (g.a * f.b + g.b) % prime}; }

int reduces(std::size_t elements, std::size_t n, affinity how, tobi::distribution dealt) {
  affine right{1, 0};
  for (std::size_t i = 0; i < n; ++i) right = then(right, of(i));
  const auto data = tobi::allocate_all<odd>(elements, dealt);
  const affine got = tobi::run([=] {
    return tobi::parallel_reduce(tobi::on(data, how), std::size_t{0}, n, 5, affine{1, 0}, of, then);
  });
  tobi::free_all(data);
  CHECK(got.a == right.a && got.b == right.b);
  return 0;
}

TEST_P(placed, a_reduction_keeps_the_order_of_the_indices) {
  expect_zero([](tobi::runtime&) {
    for (const affinity how : {affinity::automatic, affinity::owner, affinity::owner_computes}) {
      for (const tobi::distribution dealt : {tobi::block(), tobi::block_cyclic(4096)}) {
        for (const auto& [elements, n] :
             std::vector<std::pair<std::size_t, std::size_t>>{{1, 1}, {5000, 5000}, {5000, 13}, {3, 100}, {500, 0}}) {
          if (const int wrong = reduces(elements, n, how, dealt); wrong != 0) return wrong;
        }
      }
    }
    return 0;
  });
}

TEST_P(placed, algorithms_are_right_wherever_they_run) {
  expect_zero([](tobi::runtime&) {
    for (const affinity how : {affinity::automatic, affinity::none, affinity::owner, affinity::owner_computes}) {
      for (const tobi::distribution dealt : {tobi::block(), tobi::block_cyclic(8192)}) {
        const std::size_t n = 20011;
        const auto a = tobi::allocate_all<odd>(n, dealt);
        const auto b = tobi::allocate_all<std::uint64_t>(n + 5);
        const affine got = tobi::run([=] {
          const tobi::execution_policy by{.cutoff = 100, .where = how};
          tobi::fill(by, a, odd{0, 0, 0, 1});
          tobi::for_each(by, a, [](odd& x, std::size_t i) { x.index = i; });
          tobi::transform(by, a, b, [](const odd& x) { return x.index + x.sum; });
          tobi::transform(by, a, b.subspan(0, n), b, [](const odd& x, std::uint64_t y) { return x.index + y - 1; });
          const auto last = b.subspan(n);
          tobi::iota(by, last, 0);
          if (tobi::count_if(by, b, [](std::uint64_t x) { return x % 2 == 0; }) != n + 3) return affine{0, 0};
          return tobi::transform_reduce(by, b.subspan(0, n), affine{1, 0}, then,
                                        [](std::uint64_t x) { return of(x / 2); });
        });
        affine right{1, 0};
        for (std::size_t i = 0; i < n; ++i) right = then(right, of(i));
        CHECK(got.a == right.a && got.b == right.b);
        tobi::free_all(b);
        tobi::free_all(a);
      }
    }
    return 0;
  });
}

TEST_P(placed, nothing_is_fetched_where_each_owner_computes) {
  if (!moves()) GTEST_SKIP() << "its tasks do not move";
  expect_zero([](tobi::runtime& rt) {
    const std::size_t n = 40000;
    const auto a = tobi::allocate_all<double>(n);
    const auto b = tobi::allocate_all<double>(n);
    (void)tobi::run([] { return 0; });
    rt.reset_stats();
    tobi::run([=] {
      const tobi::execution_policy by{.where = affinity::owner_computes};
      tobi::fill(by, a, 1.0);
      for (int step = 0; step < 5; ++step) {
        tobi::transform(by, a, b, [](double x) { return x + 1; });
        tobi::transform(by, a, b, a, [](double x, double y) { return x + y; });
      }
    });
    const tobi::statistics all = rt.stats();
    CHECK(all.global.fetched_bytes == 0 && all.global.written_bytes == 0);
    const double sum = tobi::run([=] { return tobi::reduce(a); });
    CHECK(sum == static_cast<double>(n) * 63);
    return 0;
  });
}

// Scans, selections and searches have several passes each: over what each worker owns, and over sums or counts.
int passes_are_right(std::size_t n, tobi::distribution dealt, affinity where) {
  const auto a = tobi::allocate_all<std::int64_t>(n, dealt), b = tobi::allocate_all<std::int64_t>(n, dealt);
  std::vector<std::int64_t> values(n), right(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = static_cast<std::int64_t>(i * 7919 % 1000);
  const auto odd = [](std::int64_t x) { return x % 2 == 1; };
  const auto is = [&](tobi::global_span<std::int64_t> all, std::size_t count) {
    const auto found = tobi::checkout(all.first(count), tobi::mode::read);
    return std::equal(found.begin(), found.end(), right.begin());
  };
  // FUNCTION in a run, where A has the values; what it returns.
  const auto after = [&](auto function) {
    return tobi::run([=] {
      tobi::for_each(a, tobi::mode::write,
                     [](std::int64_t& x, std::size_t i) { x = static_cast<std::int64_t>(i * 7919 % 1000); });
      return function(tobi::execution_policy{.cutoff = 16, .where = where});
    });
  };
  std::inclusive_scan(values.begin(), values.end(), right.begin());
  (void)after([=](const tobi::execution_policy& by) { return tobi::inclusive_scan(by, a, b), 0; });
  CHECK(is(b, n));
  std::exclusive_scan(values.begin(), values.end(), right.begin(), std::int64_t{5});
  (void)after([=](const tobi::execution_policy& by) { return tobi::exclusive_scan(by, a, a, 5), 0; });
  CHECK(is(a, n));
  right = values;
  const auto odds = static_cast<std::size_t>(std::stable_partition(right.begin(), right.end(), odd) - right.begin());
  CHECK(after([=](const tobi::execution_policy& by) { return tobi::copy_if(by, a, b, odd); }) == odds);
  CHECK(is(b, odds));
  CHECK(after([=](const tobi::execution_policy& by) { return tobi::partition(by, a, odd); }) == odds);
  CHECK(is(a, n));
  const auto even = [=](std::int64_t x) { return !odd(x); };
  CHECK(after([=](const tobi::execution_policy& by) { return tobi::remove_if(by, a, even).size(); }) == odds);
  CHECK(is(a, odds));
  const std::size_t middle = n / 2;
  right = values;
  std::nth_element(right.begin(), right.begin() + static_cast<std::ptrdiff_t>(middle), right.end());
  CHECK(after([=](const tobi::execution_policy& by) {
          tobi::nth_element(by, a, middle);
          return std::int64_t{a[middle]};
        }) == right[middle]);
  const std::size_t cut = n / 3;
  for (std::size_t i = 0; i < n; ++i) right[i] = static_cast<std::int64_t>(i < cut ? 3 * i : 2 * (i - cut));
  std::inplace_merge(right.begin(), right.begin() + static_cast<std::ptrdiff_t>(cut), right.end());
  (void)after([=](const tobi::execution_policy& by) {
    tobi::for_each(by, a, tobi::mode::write, [=](std::int64_t& x, std::size_t i) {
      x = static_cast<std::int64_t>(i < cut ? 3 * i : 2 * (i - cut));
    });
    return tobi::inplace_merge(by, a, cut), 0;
  });
  CHECK(is(a, n));
  // The first match is that of std::find, in whichever part it lies, though others have matches too.
  for (const std::size_t place : {std::size_t{0}, n / 3, n - 1}) {
    CHECK(after([=](const tobi::execution_policy& by) {
            tobi::for_each(by, a, tobi::mode::write, [=](std::int64_t& x, std::size_t i) { x = i >= place ? 1 : 0; });
            return tobi::find(by, a, 1) - a.data();
          }) == static_cast<std::ptrdiff_t>(place));
  }
  CHECK(after([=](const tobi::execution_policy& by) {
    return tobi::all_of(by, a, [](std::int64_t x) { return x < 1000; }) && tobi::find(by, a, 1000) == a.end();
  }));
  tobi::free_all(a);
  tobi::free_all(b);
  return 0;
}

TEST_P(placed, algorithms_of_several_passes_are_right_wherever_they_begin) {
  expect_zero([](tobi::runtime&) {
    for (const affinity where : {affinity::owner, affinity::owner_computes}) {
      for (const tobi::distribution dealt : {tobi::block(), tobi::block_cyclic(4096)}) {
        if (passes_are_right(9973, dealt, where) != 0) return 1;
      }
    }
    return passes_are_right(1, tobi::block(), affinity::owner) + passes_are_right(17, tobi::block(), affinity::owner) +
           passes_are_right(9973, tobi::block(), affinity::automatic);
  });
}

// But for the sums and counts of the leaves, which are the caller's, and leaves that lie across the border of two parts.
TEST_P(placed, scans_and_searches_by_owners_fetch_no_elements) {
  if (!moves()) GTEST_SKIP() << "its tasks do not move";
  expect_zero([](tobi::runtime& rt) {
    const std::size_t n = 1000000;
    const auto a = tobi::allocate_all<std::int64_t>(n), b = tobi::allocate_all<std::int64_t>(n);
    tobi::run([=] { tobi::fill({.where = affinity::owner_computes}, a, std::int64_t{1}); });
    rt.reset_stats();
    const bool right = tobi::run([=] {
      const tobi::execution_policy by{.where = affinity::owner_computes};
      tobi::inclusive_scan(by, a, b);
      const bool none = tobi::none_of(by, a, [](std::int64_t x) { return x != 1; });
      return none && tobi::copy_if(by, a, b, [](std::int64_t x) { return x == 1; }) == n &&
             tobi::unique(by, a).size() == 1;
    });
    const tobi::statistics all = rt.stats();
    CHECK(right);
    CHECK(all.global.fetched_bytes < n * sizeof(std::int64_t) / 8);
    CHECK(all.global.written_bytes < n * sizeof(std::int64_t) / 8);
    return 0;
  });
}

// 16 bytes, so that parts end in the middle of nothing; PLACE says where it was.
struct record {
  std::uint64_t key;
  std::uint64_t place;
};
constexpr auto earlier = [](const record& a, const record& b) { return a.key < b.key; };
std::uint64_t mixed(std::uint64_t x) {
  x = (x + 1) * 0x9e3779b97f4a7c15u;
  return x ^ x >> 31;
}

// Elements whose keys, below KEYS, rise, fall or do neither.
enum class order { up, down, none };
void fill_records(tobi::global_span<record> a, std::uint64_t keys, order how) {
  tobi::for_each(a, tobi::mode::write, [=, n = a.size()](record& r, std::size_t i) {
    const std::uint64_t rising = i * keys / n;
    r = {how == order::none ? mixed(i) % keys : how == order::up ? rising : keys - 1 - rising, i};
  });
}

TEST_P(placed, a_sort_is_by_owners_where_they_are_on_several_nodes) {
  expect_zero([](tobi::runtime& rt) {
    const std::size_t n = 300000;
    const auto a = tobi::allocate_all<record>(n);
    const auto dealt = tobi::allocate_all<record>(n, tobi::block_cyclic(4096));
    return tobi::run([=, size = rt.size()] {
      const auto by = [](tobi::global_span<record> some, affinity where) {
        return tobi::pieces::find_home_of_sort({.where = where}, some).at;
      };
      const bool far = tobi::pieces::on_many_nodes(0, size);
      const auto whole = by(a, affinity::automatic);
      CHECK(whole.at_owners() == far && whole.alone() == far);
      // A part and a half: the others would idle.
      const auto some = by(a.first(n / static_cast<std::size_t>(size) * 3 / 2), affinity::automatic);
      CHECK(!some.alone() && (far || !some.at_owners()));
      CHECK(!by(a.first(1000), affinity::automatic).at_owners() && !by(a, affinity::none).at_owners());
      CHECK(by(a, affinity::owner).at_owners() == (size > 1) && !by(a, affinity::owner).alone());
      // What lies in many pieces is brought together, as long for each.
      const auto even = by(dealt, affinity::automatic);
      CHECK(even.at_owners() == far && even.alone() == far);
      CHECK(!far || (even.parts() == static_cast<std::size_t>(size) && even.size() == even.parts()));
      CHECK(by(dealt, affinity::owner).at_owners() == (size > 1) && !by(dealt, affinity::owner).alone());
      return 0;
    });
  });
}

TEST_P(placed, a_sort_is_right_wherever_it_runs) {
  expect_zero([](tobi::runtime& rt) {
    for (const auto& [n, dealt] : {std::pair<std::size_t, tobi::distribution>(0, tobi::block()),
                                   {1, tobi::block()},
                                   {1000, tobi::block()},
                                   {30011, tobi::block()},
                                   {30011, tobi::block_cyclic(4096)}}) {
      const auto a = tobi::allocate_all<record>(n, dealt);
      const auto scratch = tobi::allocate_all<record>(n, dealt);
      const auto keys = tobi::allocate_all<int>(n, dealt);
      for (const auto& [most, how] :
           {std::pair(std::uint64_t{1} << 40, order::none), std::pair(std::uint64_t{7}, order::none),
            std::pair(std::uint64_t{5000}, order::up), std::pair(std::uint64_t{5000}, order::down)}) {
        for (const affinity where : {affinity::automatic, affinity::none, affinity::owner, affinity::owner_computes}) {
          const tobi::execution_policy policy{.cutoff = where == affinity::owner ? std::size_t{100} : 0,
                                              .where = where};
          const bool given = where == affinity::automatic || where == affinity::owner_computes;
          const bool right = tobi::run([=, most = most, how = how, n = n] {
            fill_records(a, most, how);
            given ? tobi::sort(policy, a, scratch, earlier) : tobi::sort(policy, a, earlier);
            const bool sorted = tobi::is_sorted(
                a, [](const record& x, const record& y) { return x.key != y.key ? x.key < y.key : x.place < y.place; });
            // Keys and their values, back to where they were.
            tobi::transform(a, keys, [](const record& r) { return static_cast<int>(r.place); });
            tobi::sort_by_key(policy, keys, a);
            const bool back =
                tobi::transform_reduce(a, true, std::logical_and<>(), [](const record& r) { return r.place < 30011; });
            return sorted && back &&
                   (n == 0 || (keys[n - 1] == static_cast<int>(n) - 1 && tobi::load(&a[n / 2]).place == n / 2));
          });
          CHECK(right);
        }
      }
      for (const auto& one : {a, scratch}) tobi::free_all(one);
      tobi::free_all(keys);
    }
    return rt.size() > 0 ? 0 : 1;
  });
}

TEST_P(placed, a_sort_whose_comparison_throws_or_contradicts_itself_ends) {
  expect_zero([](tobi::runtime&) {
    const std::size_t n = 30000;
    const auto a = tobi::allocate_all<record>(n);
    const auto numbers = tobi::allocate_all<double>(n);
    for (const affinity where : {affinity::automatic, affinity::owner_computes}) {
      const tobi::execution_policy policy{.where = where};
      int thrown = 0;
      try {
        tobi::run([=] {
          fill_records(a, n, order::none);
          tobi::sort(policy, a, [](const record& x, const record& y) {
            return x.place == 12345 ? throw std::runtime_error("12345") : x.key < y.key;
          });
        });
      } catch (const tobi::task_error& e) {
        thrown += std::string(e.what()).find("12345") != std::string::npos ? 1 : 0;
      }
      CHECK(thrown == 1);
      // Where the numbers end up is nobody's business, and that none is lost is not promised.
      try {
        tobi::run([=] {
          tobi::for_each(numbers, tobi::mode::write, [](double& x, std::size_t i) {
            x = mixed(i) % 5 == 0 ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(mixed(i));
          });
          tobi::sort(policy, numbers);
        });
      } catch (const tobi::task_error& e) {
        CHECK(std::string(e.what()).find("contradicts itself") != std::string::npos);
      }
    }
    return 0;
  });
}

// Where bytes are counted: what is read ahead of each share depends on what came before it.
const std::vector<setting> asked_alone{{"TOBI_READ_AHEAD", "0"}};

// An element crosses the network once, if it belongs elsewhere, and is nowhere written back. Where the range lies in
// many pieces it may cross on its way to the others, and to its place.
TEST_P(placed, a_sort_by_owners_moves_each_element_once) {
  if (!moves()) GTEST_SKIP() << "its tasks do not move";
  expect_zero(
      [](tobi::runtime& rt) {
        const std::size_t n = 200000, bytes = n * sizeof(record);
        const std::uint64_t asked = 100 * 1024 * static_cast<std::uint64_t>(rt.size());
        for (const tobi::distribution dealt : {tobi::block(), tobi::block_cyclic(1 << 16)}) {
          const auto a = tobi::allocate_all<record>(n, dealt);
          const std::uint64_t crossing = dealt.chunk_bytes == 0 ? 0 : bytes;
          for (const affinity where : {affinity::automatic, affinity::owner_computes}) {
            for (const order how : {order::none, order::up}) {
              tobi::run([=] { fill_records(a, std::uint64_t{1} << 40, how); });
              rt.reset_stats();
              tobi::run([=] { tobi::sort({.where = where}, a, earlier); });
              const tobi::statistics all = rt.stats();
              CHECK(tobi::run([=] { return tobi::is_sorted(a, earlier); }));
              const std::uint64_t moved = crossing + (how == order::none ? bytes : 0);
              CHECK(all.global.fetched_bytes < moved + asked && all.global.written_bytes < crossing + asked);
            }
          }
          tobi::free_all(a);
        }
        return 0;
      },
      asked_alone);
}

// Selections write where their range lies, or at home, however many pieces that has. A shuffle fetches each element
// once, and writes it once to another node where its place is not with the rest of its bin.
TEST_P(placed, selections_and_shuffles_by_owners_move_no_element_twice) {
  if (!moves()) GTEST_SKIP() << "its tasks do not move";
  expect_zero(
      [](tobi::runtime& rt) {
        const std::size_t n = 400000, bytes = n * sizeof(std::int64_t);
        for (const tobi::distribution dealt : {tobi::block(), tobi::block_cyclic(1 << 16)}) {
          // Counts, by worker and by piece.
          const std::uint64_t asked = 100 * 1024 * static_cast<std::uint64_t>(rt.size()) +
                                      (dealt.chunk_bytes == 0 ? 0 : bytes / dealt.chunk_bytes * (16 << 10));
          const auto a = tobi::allocate_all<std::int64_t>(n, dealt);
          const auto moved_by = [&](auto algorithm) {
            tobi::run([=] { tobi::iota(a, 0); });
            rt.reset_stats();
            tobi::run([=] { algorithm(tobi::execution_policy{.where = affinity::owner_computes}); });
            const tobi::statistics all = rt.stats();
            return std::pair(all.global.fetched_bytes, all.global.written_bytes);
          };
          const auto late = [=](std::int64_t x) { return x >= static_cast<std::int64_t>(n / 2); };
          const auto few = [](std::int64_t x) { return x % 16 == 0; };
          const auto parted = moved_by([=](const tobi::execution_policy& by) { tobi::partition(by, a, late); });
          CHECK(parted.first < asked && parted.second < bytes + asked);
          const auto removed = moved_by([=](const tobi::execution_policy& by) { tobi::remove_if(by, a, few); });
          CHECK(removed.first < asked && removed.second < bytes + asked);
          const auto shuffled = moved_by([=](const tobi::execution_policy& by) { tobi::shuffle(by, a, 7); });
          const std::uint64_t borders = dealt.chunk_bytes == 0 ? bytes / 16 : bytes;
          CHECK(shuffled.first < bytes + borders + asked && shuffled.second < borders + asked);
          tobi::free_all(a);
        }
        return 0;
      },
      asked_alone);
}

// Fork-join with a journey at every step.
long wander(long n, int size) {
  tobi::migrate_to(static_cast<int>(n * 7 % size));
  if (n < 2) return n;
  auto x = tobi::spawn([=] { return wander(n - 1, size); });
  const long y = wander(n - 2, size);
  tobi::migrate_to(static_cast<int>(n * 3 % size));
  return x.join() + y;
}

TEST_P(placed, tasks_may_go_anywhere_at_every_step) {
  expect_zero([](tobi::runtime& rt) {
    const int size = rt.size();
    CHECK(tobi::run([=] { return wander(13, size); }) == 233);
    // Children of a finish, and futures.
    const auto count = tobi::allocate_all<std::int64_t>(1);
    const std::int64_t ended = tobi::run([=] {
      count[0] = 0;
      tobi::finish([=] {
        for (int i = 0; i < 40; ++i) {
          tobi::async([=] {
            tobi::migrate_to(i % size);
            tobi::fetch_add(count.data(), std::int64_t{1});
          });
        }
      });
      return std::int64_t{count[0]};
    });
    CHECK(ended == 40);
    const long sum = tobi::run([=] {
      const auto a = tobi::spawn_future(
          [=] {
            tobi::migrate_to(size - 1);
            return 3L;
          },
          2);
      auto b = tobi::spawn([=] {
        tobi::migrate_to(size / 2);
        return a.join();
      });
      return a.join() + b.join();
    });
    CHECK(sum == 6);
    return 0;
  });
}

// Known to all workers: mapped before they are forked.
struct board {
  std::atomic<int> busy{0};
  std::atomic<int> done{0};
};
board* shared() {
  static auto* const at =
      new (mmap(nullptr, sizeof(board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) board;
  return at;
}

bool has_nothing(int rank) {
  const std::byte* heap = tobi::sched::this_worker().net().mapped(rank);
  const auto& window = reinterpret_cast<const tobi::job::control_block*>(heap)->window;
  return std::atomic_ref(const_cast<std::uint32_t&>(window.attendant)).load() ==
         static_cast<std::uint32_t>(tobi::deque::attending::idle);
}

// The worker computes and does not look at anything until the second task has run, which was sent to it.
TEST_P(placed, what_was_sent_to_a_worker_that_computes_is_taken_by_another) {
  if (GetParam().workers == 1) GTEST_SKIP() << "there is no other";
  if (std::string_view(GetParam().name) == "stalling") GTEST_SKIP() << "it shows no suspended tasks";
  new (shared()) board;
  expect_zero([way = GetParam().name](tobi::runtime& rt) {
    tobi::run([way, last = rt.size() - 1] {
      auto first = tobi::spawn([=] {
        tobi::migrate_to(last);
        shared()->busy = 1;
        while (shared()->done == 0) {
        }
      });
      while (shared()->busy == 0) tobi::poll();
      // On a node of all workers the attendant sleeps, once it has found nothing to give.
      while (std::string_view(way) == "shm" && !has_nothing(last)) tobi::poll();
      auto second = tobi::spawn([=] {
        tobi::migrate_to(last);
        shared()->done = 1;
      });
      second.join();
      first.join();
    });
    return 0;
  });
}

// Its frames would follow its children from node to node. What has been stolen meanwhile may end up anywhere.
TEST_P(placed, a_parent_that_waits_for_what_it_has_sent_to_another_node_stays) {
  if (!moves()) GTEST_SKIP() << "nothing is sent";
  if (std::string_view(GetParam().name) == "debug") GTEST_SKIP() << "each fork moves its parent";
  expect_zero([](tobi::runtime& rt) {
    const int last = rt.size() - 1;
    return tobi::run([last] {
      for (int i = 0; i < 20; ++i) {
        tobi::migrate_to(0);
        const int begins = tobi::pieces::here();
        auto far = tobi::spawn([=] {
          tobi::migrate_to(last);
          usleep(2000);  // the parent waits, most of the time
          return tobi::pieces::here();
        });
        const int waits = tobi::pieces::here();
        const int ended = far.join();
        if (begins == 0 && waits == 0 && ended == last && tobi::pieces::on_many_nodes(0, last + 1)) {
          CHECK(tobi::pieces::here() == 0);
        }
      }
      return 0;
    });
  });
}

// Else other nodes would take of the rest of the outer one.
TEST_P(placed, a_loop_inside_of_a_part_leaves_the_worker_in_that_part) {
  expect_zero([](tobi::runtime&) {
    const auto a = tobi::allocate_all<std::int64_t>(5000);
    const int missing = tobi::run([=] {
      tobi::fill(a, 0);
      return tobi::parallel_reduce(
          tobi::on(a, affinity::owner_computes), 0, 50, 1, 0,
          [=](int i) {
            const auto own = a.subspan(static_cast<std::size_t>(i) * 100, 1);
            if (tobi::owner(own.data()) != tobi::pieces::here()) return 0;
            tobi::parallel_for(tobi::on(own, affinity::owner_computes), 0, 10, 1, [](int) {});
            const bool inside = tobi::pieces::part_begins();
            tobi::pieces::part_ends(inside);
            return inside ? 0 : 1;
          },
          std::plus<>());
    });
    tobi::free_all(a);
    CHECK(missing == 0);
    return 0;
  });
}

// More at once than the words of a worker hold; and loops inside of loops.
TEST_P(placed, many_loops_at_once) {
  expect_zero([](tobi::runtime&) {
    const auto a = tobi::allocate_all<std::int64_t>(5000);
    const std::int64_t sum = tobi::run([=] {
      tobi::fill(a, 0);
      tobi::parallel_for(0, 40, 1, [=](int) {
        tobi::parallel_for(tobi::on(a), 0, 20, 1, [=](int i) {
          tobi::parallel_for(tobi::on(a.subspan(i * 250, 250)), 0, 25, 4,
                             [=](int k) { tobi::fetch_add(a.data() + i * 250 + k * 10, std::int64_t{1}); });
        });
      });
      return tobi::reduce(a);
    });
    CHECK(sum == 40 * 20 * 25);
    return 0;
  });
}

TEST_P(placed, what_a_part_throws_is_thrown_by_the_loop) {
  expect_zero([](tobi::runtime& rt) {
    const auto a = tobi::allocate_all<double>(30000);
    const auto dealt = tobi::allocate_all<double>(30000, tobi::block_cyclic(4096));
    for (int variant = 0; variant < 3; ++variant) {
      const auto at =
          variant == 2 ? tobi::on(dealt) : tobi::on(a, variant == 0 ? affinity::owner : affinity::owner_computes);
      for (int bad = 0; bad < rt.size(); ++bad) {
        const auto loop = [=] {
          tobi::parallel_for(at, 0, 30000, 1000, [=](int i) {
            if (i == bad * 29999 / 4) throw std::runtime_error("part " + std::to_string(bad));
          });
          return 0;
        };
        const auto sum = [=] {
          return tobi::parallel_reduce(
              at, 0, 30000, 1000, 0,
              [=](int i) { return i == bad * 29999 / 4 ? throw std::runtime_error("part " + std::to_string(bad)) : i; },
              [](int x, int y) { return x ^ y; });
        };
        int thrown = 0;
        try {
          (void)tobi::run(loop);
        } catch (const tobi::task_error& e) {
          thrown += std::string(e.what()).find("part " + std::to_string(bad)) != std::string::npos ? 1 : 0;
        }
        try {
          (void)tobi::run(sum);
        } catch (const tobi::task_error& e) {
          thrown += std::string(e.what()).find("part " + std::to_string(bad)) != std::string::npos ? 1 : 0;
        }
        CHECK(thrown == 2);
      }
    }
    // Under an exception a task stays, and its loop is right all the same.
    const std::int64_t sum = tobi::run([=] {
      std::int64_t n = 0;
      try {
        throw 1;
      } catch (int) {
        tobi::migrate_to(0);
        n = tobi::parallel_reduce(
            tobi::on(a), 0, 1000, 10, std::int64_t{0}, [](int i) { return std::int64_t{i}; },
            [](std::int64_t x, std::int64_t y) { return x + y; });
      }
      return n;
    });
    CHECK(sum == 499500);
    return 0;
  });
}

// A child runs first. So where a worker divides parts of which one is its own, it must not be the child that has it: the
// other parts would begin when that has ended.
TEST_P(placed, what_a_worker_owns_is_what_it_keeps) {
  expect_zero([](tobi::runtime& rt) {
    const auto all = tobi::allocate_all<odd>(20000);
    for (const tobi::global_span<odd> part : {all, all.subspan(12000), all.first(100)}) {
      const tobi::placement at = tobi::on(part);
      const std::size_t own = at.part_of(rt.rank());
      CHECK(own >= at.parts() || at.owner_of(own) == rt.rank());
      for (std::size_t lo = 0; lo < at.parts(); ++lo) {
        for (std::size_t hi = lo + 2; hi <= at.parts(); ++hi) {
          const tobi::pieces::halves_of_parts halves(at, lo, hi);
          const auto [away, stays, first_stays] = halves;
          CHECK(away.lo < away.hi && stays.lo < stays.hi);
          CHECK(first_stays ? stays.lo == lo && stays.hi == away.lo && away.hi == hi
                            : away.lo == lo && away.hi == stays.lo && stays.hi == hi);
          CHECK(own < away.lo || own >= away.hi);
        }
      }
    }
    return 0;
  });
}

// The parts are combined in order, also where their worker is not the first one.
TEST_P(placed, a_reduction_keeps_its_order_wherever_its_root_is) {
  expect_zero([](tobi::runtime& rt) {
    struct run_of {  // of indices that follow each other
      int first, last;
      bool whole;
    };
    const auto all = tobi::allocate_all<odd>(20000);
    return tobi::run([all, size = rt.size()] {
      for (int rank = 0; rank < size; ++rank) {
        tobi::migrate_to(rank);
        const run_of found = tobi::parallel_reduce(
            tobi::on(all), 0, 20000, 7, run_of{-1, -1, true},
            [](int i) {
              return run_of{i, i, true};
            },
            [](const run_of& left, const run_of& right) {
              if (left.first < 0) return right;
              if (right.first < 0) return left;
              return run_of{left.first, right.last, left.whole && right.whole && left.last + 1 == right.first};
            });
        CHECK(found.whole && found.first == 0 && found.last == 19999);
      }
      return 0;
    });
  });
}

INSTANTIATE_TEST_SUITE_P(ways, placed, testing::ValuesIn(ways()), name_of_way);

TEST(placed_job, a_range_may_have_more_indices_than_its_type_holds) {
  const outcome o = in_job(1, {}, [](tobi::runtime&) {
    const std::uint8_t times = tobi::run([] {
      return tobi::parallel_reduce(
          std::int8_t{-128}, std::int8_t{127}, 100, std::uint8_t{0}, [](std::int8_t) { return std::uint8_t{1}; },
          [](std::uint8_t x, std::uint8_t y) { return static_cast<std::uint8_t>(x + y); });
    });
    CHECK(times == 255);
    return 0;
  });
  EXPECT_EQ(o.status, 0) << o.said;
}

TEST(placed_job, mistakes_are_told) {
  ends_with("tobi::migrate_to was given rank 2; there are ranks 0 to 1", 2, {}, [](tobi::runtime&) {
    return tobi::run([] {
      tobi::migrate_to(2);
      return 0;
    });
  });
  ends_with("tobi::migrate_to (or a loop that begins at the owners of its data)", 2, {}, [](tobi::runtime&) {
    tobi::migrate_to(0);
    return 0;
  });
  ends_with("a checkout of", 2, {}, [](tobi::runtime& rt) {
    const auto a = tobi::allocate_all<int>(10);
    return tobi::run([=, last = rt.size() - 1] {
      const auto held = tobi::checkout(a, tobi::mode::read);
      tobi::migrate_to(last);
      return held[0] * 0;
    });
  });
  ends_with("that are not global memory.", 2, {}, [](tobi::runtime&) {
    static int local = 0;
    return tobi::owner(tobi::global_ptr<int>(&local));
  });
  ends_with("that were freed, or never allocated.", 2, {}, [](tobi::runtime&) {
    const auto a = tobi::allocate_all<int>(10);
    tobi::free_all(a);
    return tobi::owner(a.data());
  });
}

// Nobody sets the promise, and what is under way goes from worker to worker before.
TEST(placed_job, one_that_can_never_end_is_told_also_after_journeys) {
  const outcome o = in_job(3, {sim, {"TOBI_NODES", "3"}}, [](tobi::runtime& rt) {
    const int size = rt.size();
    return tobi::run([=] {
      (void)wander(9, size);
      return tobi::make_promise<int>().get_future().join();
    });
  });
  EXPECT_EQ(o.status, 1);
  EXPECT_NE(o.said.find("the job stands still"), std::string::npos) << o.said;
}

}  // namespace
