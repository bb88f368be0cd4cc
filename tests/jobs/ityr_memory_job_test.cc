// SPDX-License-Identifier: Apache-2.0
// lane: computes, 15 s
// ityr/ityr.hpp: global pointers, allocation, checkouts, spans, vectors and files.
#include <unistd.h>

#include <fstream>
#include <stdexcept>

#include "tests/jobs/ityr.hpp"

namespace {

using namespace ityr;

INSTANTIATE_TEST_SUITE_P(ways, ityr_programs, ityr_ways(), name_of_way);

struct point {
  int x, y;
  int v[3];
};

TEST(ityr_global_ptr, counts_as_pointers_do) {
  int* const at = reinterpret_cast<int*>(0x100000);
  const ori::global_ptr<int> p(at);
  EXPECT_EQ(p.raw_ptr(), at);
  EXPECT_EQ(p + 4 - p, 4);
  EXPECT_EQ(p - (p + 4), -4);
  EXPECT_TRUE(&p[10] == p + 10 && &*p == p && 3 + p == p + 3);
  EXPECT_TRUE(p && !!p && p != nullptr && nullptr != p && !(p == nullptr));
  EXPECT_TRUE(p < p + 1 && p <= p && p + 1 > p && p >= p && p != p + 1);
  auto q = p;
  q++;
  ++q;
  q += 10;
  q--;
  --q;
  q -= 9;
  EXPECT_TRUE(q == p + 1);
  swap(q, q);
  const ori::global_ptr<point> s(reinterpret_cast<point*>(0x300000));
  EXPECT_TRUE(&(s->*(&point::y)) == ori::global_ptr<int>(reinterpret_cast<int*>(0x300004)));
  EXPECT_TRUE(&(s->*(&point::v)) == ori::global_ptr<int>(reinterpret_cast<int*>(0x300008)));
  EXPECT_TRUE(static_cast<ori::global_ptr<char>>(p + 4) == static_cast<ori::global_ptr<char>>(p) + 16);
  const ori::global_ptr<const int> c(p);
  EXPECT_TRUE(c == static_cast<ori::global_ptr<const int>>(p) && ori::const_pointer_cast<int>(c) == p);
  EXPECT_TRUE(ori::reinterpret_pointer_cast<char>(p).raw_ptr() == reinterpret_cast<char*>(at));
  const ori::global_ptr<void> none;
  EXPECT_TRUE(!none && none == nullptr && nullptr == none);
  static_assert(ori::is_global_ptr_v<ori::global_ptr<int>> && !ori::is_global_ptr_v<int>);
}

TEST_P(ityr_programs, read_and_write_elements) {
  expect_zero([] {
    const std::size_t n = 20'000;
    const auto p = ori::malloc_coll<long>(n);
    const auto q = ori::malloc_coll<long, ori::mem_mapper::cyclic>(n, 65536);
    root_exec([=] {
      auto [ps, qs] = parallel_invoke(
          [=] {
            const auto cs = make_checkout(p, 1000, checkout_mode::write);
            for (std::size_t i = 0; i < cs.size(); ++i) cs[i] = static_cast<long>(i);
            return cs.back();
          },
          [=] {
            auto cs = make_checkout(global_span<long>(q, 1000), checkout_mode::write);
            for (long& x : cs) x = 7;
            cs.checkin();
            cs.checkin();
            return cs.size();
          });
      MUST(ps == 999 && qs == 0);
      {
        auto [a, b, c] = make_checkouts(p, 10, checkout_mode::read, global_span<long>(q, 10), checkout_mode::read_write,
                                        q + 100, 5, checkout_mode::read);
        for (std::size_t i = 0; i < 10; ++i) b[i] += a[i];
        MUST(a.front() == 0 && b.back() == 16 && c[4] == 7 && *a.rbegin() == 9);
        auto moved = std::move(a);
        MUST(a.empty() && moved.size() == 10);
      }
      q[3] += 5;
      ++q[3];
      q[3]--;
      q[3] *= 2;
      const ori::global_ref<long> third = q[3];
      MUST(third == 2 * (10 + 5) && third.get() == 30 && q[4]++ == 11 && q[4] == 12);
      third.put(1);
      q[5] = q[3];
      swap(*(q + 5), *(q + 4));
      MUST(q[4] == 1 && q[5] == 12);
      MUST(std::lower_bound(p, p + 1000, 77L) - p == 77);
      std::reverse(p, p + 1000);
      MUST(p[0] == 999);
      std::sort(p, p + 1000);
      MUST(p[0] == 0 && p[999] == 999);
      const auto raw = ori::checkout(p, 5, checkout_mode::read_write);
      raw[4] = 40;
      ori::checkin(raw, 5, checkout_mode::read_write);
      const auto nb = ori::checkout_nb(p, 5, checkout_mode::read);
      ori::checkout_complete();
      MUST(nb[4] == 40);
      ori::checkin(nb, 5, checkout_mode::read);
    });
    // Between processes in main.
    long some[100];
    ori::get(p, some, 100);
    CHECK(some[4] == 40 && some[99] == 99);
    barrier();
    if (my_rank() == n_ranks() - 1) {
      some[0] = 8;
      ori::put(some, p, 1);
      ori::release();
    }
    barrier();
    ori::acquire(ori::release_handler());
    ori::poll();
    CHECK(p[0] == 8);
    ori::set_readonly_coll(p, n);
    CHECK(p[0] == 8);
    ori::unset_readonly_coll(p, n);
    ori::free_coll(p);
    ori::free_coll(q);
    root_exec([] {
      const auto own = ori::malloc<int>(10);
      own[9] = 3;
      MUST(own[9] == 3);
      ori::free(own, 10);
      const auto all = ori::malloc_coll<int>(1000);
      all[999] = 4;
      MUST(all[999] == 4);
      ori::free_coll(all);
    });
    return 0;
  });
}

// --- vectors -------------------------------------------------------------------------------------------------

template <class T>
bool holds(const global_vector<T>& v, std::initializer_list<T> expected) {
  if (v.size() != expected.size()) return false;
  const auto cs = make_checkout(v.data(), v.size(), checkout_mode::read);
  return std::equal(cs.begin(), cs.end(), expected.begin());
}

TEST_P(ityr_programs, have_vectors_like_those_of_std) {
  expect_zero([] {
    root_exec([] {
      global_vector<int> v = {1, 2, 3, 4, 5};
      MUST(holds(v, {1, 2, 3, 4, 5}) && v.front() == 1 && v.back() == 5 && *v.rbegin() == 5);
      const auto inserted = v.insert(v.cbegin() + 2, 9);
      MUST(inserted == v.begin() + 2 && holds(v, {1, 2, 9, 3, 4, 5}));
      v.insert(v.cbegin(), {7, 8});
      v.insert(v.cend(), 2, 6);
      MUST(holds(v, {7, 8, 1, 2, 9, 3, 4, 5, 6, 6}));
      global_vector<int> copy = v;
      v.clear();
      MUST(v.empty() && v.capacity() != 0 && copy.size() == 10);
      v.insert(v.cbegin(), copy.begin(), copy.begin() + 3);
      v.emplace(v.cbegin() + 1, 5);
      v.emplace_back(0);
      v.push_back(1);
      v.pop_back();
      MUST(holds(v, {7, 5, 8, 1, 0}));
      v.resize(7, 4);
      v.resize(6);
      v.reserve(100);
      MUST(holds(v, {7, 5, 8, 1, 0, 4}) && v.capacity() == 100 && v.at(5) == 4);
      swap(v, copy);
      MUST(v.size() == 10 && copy.size() == 6);
      v = copy;
      copy = std::move(v);
      MUST(holds(copy, {7, 5, 8, 1, 0, 4}) && v.empty());
      const global_span<int> all(copy);
      MUST(all.size() == 6 && all.subspan(1, 2).back() == 8 && all[5] == 4 && *all.rbegin() == 4);
      bool threw = false;
      try {
        (void)copy.at(6);
      } catch (const std::out_of_range&) {
        threw = true;
      }
      MUST(threw);
    });
    return 0;
  });
}

TEST_P(ityr_programs, have_vectors_of_vectors) {
  expect_zero([] {
    root_exec([] {
      const global_vector<int> v = {1, 2, 3, 4, 5};
      global_vector<global_vector<int>> from(20), to(20);
      fill(execution::par, from.begin(), from.end(), v);
      for_each(execution::par, make_move_iterator(from.begin()), make_move_iterator(from.end()),
               make_global_iterator(to.begin(), checkout_mode::read_write),
               [](global_vector<int>&& x, global_vector<int>& y) { y = std::move(x); });
      const int sum = transform_reduce(execution::par, make_global_iterator(to.begin(), checkout_mode::no_access),
                                       make_global_iterator(to.end(), checkout_mode::no_access), reducer::plus<int>{},
                                       [](ori::global_ref<global_vector<int>> one) {
                                         auto cs = make_checkout(&one, 1, checkout_mode::read);
                                         const auto first = cs[0].begin();
                                         const auto last = cs[0].end();
                                         cs.checkin();
                                         return reduce(execution::par, first, last);
                                       });
      MUST(sum == 300);
      global_vector<movable> moved;
      for (long i = 0; i < 300; ++i) moved.emplace_back(i);
      global_vector<movable> others(300);
      move(execution::parallel_policy(16), moved.begin(), moved.end(), others.begin());
      for_each(execution::parallel_policy(16), make_global_iterator(others.begin(), checkout_mode::read),
               make_global_iterator(others.end(), checkout_mode::read), count_iterator<long>(0),
               [](const movable& m, long i) { MUST(m.value() == i); });
    });
    return 0;
  });
}

TEST_P(ityr_programs, have_vectors_of_all_processes) {
  expect_zero([] {
    const std::size_t n = 30'000;
    {
      global_vector<long> v(global_vector_options(true, 1000), n, 3);
      const global_span<long> all(v);
      CHECK(v.size() == n && v.options().collective);
      CHECK(root_exec([=] { return reduce(execution::parallel_policy(1000), all.begin(), all.end()); }) == 90'000);
      v.push_back(4);
      v.resize(n + 10, 1);
      CHECK(v.back() == 1 && v[n] == 4);
      v.pop_back();
      global_vector<long> moved = std::move(v);
      CHECK(moved.size() == n + 9 && v.empty());
      const global_vector<long> copy = moved;
      CHECK(copy.size() == n + 9 && copy[n] == 4);
    }
    root_exec([=] {
      const global_vector<long> v(global_vector_options(true, 500), n, 2);
      MUST(reduce(execution::parallel_policy(1000), v.begin(), v.end()) == 60'000);
      global_vector<long> counted(global_vector_options(true, 500), count_iterator<long>(0),
                                  count_iterator<long>(static_cast<long>(n)));
      counted.insert(counted.cbegin(), -1L);
      MUST(counted[0] == -1 && counted[n] == static_cast<long>(n) - 1 &&
           is_sorted(execution::parallel_policy(1000), counted.begin(), counted.end()));
    });
#ifdef __cpp_aggregate_paren_init
    const global_vector<int> named({.collective = true, .cutoff_count = 64}, {1, 2, 3});
    CHECK(named.size() == 3 && named[2] == 3);
    barrier();
#endif
    return 0;
  });
}

TEST_P(ityr_programs, map_a_file_at_one_address) {
  const std::string path = "/tmp/ityr_file_" + std::to_string(getpid());
  {
    std::ofstream file(path, std::ios::binary);
    for (long i = 0; i < 1000; ++i) file.write(reinterpret_cast<const char*>(&i), sizeof i);
  }
  expect_zero([&] {
    {
      auto file = make_unique_file<long>(path);
      CHECK(file && file.size() == 1000 && file[999] == 999 && *file == 0 && file != nullptr);
      const long sum = root_exec([at = file.get()] {
        return transform_reduce(execution::parallel_policy(10), count_iterator<long>(0), count_iterator<long>(1000), at,
                                reducer::plus<long>{}, [](long i, long x) { return i == x ? x : -1'000'000; });
      });
      CHECK(sum == 499'500);
      file = {};
      CHECK(file == nullptr);
    }
    const bool refused = root_exec([] {
      try {
        const auto none = make_unique_file<long>("/nowhere");
        return false;
      } catch (const std::exception& e) {
        return std::string(e.what()).find("/nowhere") != std::string::npos;
      }
    });
    CHECK(refused);
    return 0;
  });
  unlink(path.c_str());
}

}  // namespace
