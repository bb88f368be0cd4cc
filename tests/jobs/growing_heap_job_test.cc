// SPDX-License-Identifier: Apache-2.0
// Jobs whose heaps begin small, as where registered memory is locked, and grow while tasks run.
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "tests/jobs/ways.hpp"

namespace {

using word = std::uint64_t;

constexpr std::size_t mib = 1u << 20;
const setting unpinned{"TOBI_MASK", "unpinned"}, two{"TOBI_NODES", "2"}, log_all{"TOBI_LOG", "info"};

class heaps_that_grow : public testing::TestWithParam<way> {
 protected:
  // BODY(rt) is 0 on all workers, and at least one heap has grown; how often all have is returned.
  template <class Body>
  std::size_t grown(Body body) {
    const outcome o = in_job(GetParam().workers, {}, body, GetParam().env);
    EXPECT_EQ(o.status, 0) << o.said;
    std::size_t times = 0;
    for (std::size_t at = 0; (at = o.said.find("the heap of this worker grows to", at)) != std::string::npos; ++at) {
      ++times;
    }
    return times;
  }
};

// Two arrays of 24M per worker, written and read wherever the tasks are.
TEST_P(heaps_that_grow, hold_an_array_larger_than_they_began) {
  const auto workers = static_cast<std::size_t>(GetParam().workers);
  const std::size_t times = grown([&](tobi::runtime&) {
    const std::size_t chunk = 8192;
    const std::size_t chunks = workers * 24 * mib / sizeof(word) / chunk;
    const auto a = tobi::allocate_all<word>(chunks * chunk, tobi::distribution{chunk * sizeof(word)});
    const auto b = tobi::allocate_all<word>(chunks * chunk);
    const std::size_t wrong = tobi::run([=] {
      tobi::parallel_for(std::size_t{0}, chunks, 4, [=](std::size_t c) {
        auto out = tobi::checkout(a.subspan(c * chunk, chunk), tobi::mode::write);
        for (std::size_t i = 0; i < chunk; ++i) out[i] = c * chunk + i;
      });
      tobi::parallel_for(std::size_t{0}, chunks, 4, [=](std::size_t c) {
        const std::size_t from = chunks - 1 - c;
        auto in = tobi::checkout(a.subspan(from * chunk, chunk), tobi::mode::read);
        auto out = tobi::checkout(b.subspan(c * chunk, chunk), tobi::mode::write);
        for (std::size_t i = 0; i < chunk; ++i) out[i] = in[i];
      });
      return tobi::parallel_reduce(
          std::size_t{0}, chunks, 4, std::size_t{0},
          [=](std::size_t c) {
            auto in = tobi::checkout(b.subspan(c * chunk, chunk), tobi::mode::read);
            std::size_t bad = 0;
            for (std::size_t i = 0; i < chunk; ++i) bad += in[i] != (chunks - 1 - c) * chunk + i;
            return bad;
          },
          std::plus<>());
    });
    tobi::free_all(a);
    tobi::free_all(b);
    return wrong == 0 ? 0 : 3;
  });
  EXPECT_GE(times, workers) << "each worker holds more than its heap had at first";
}

// Rank 1 makes objects in parts that nobody else has heard of; rank 0 reads, changes and frees them, in another order,
// and rank 1 uses their room again.
TEST_P(heaps_that_grow, give_objects_that_others_read_change_and_free) {
  const std::size_t times = grown([](tobi::runtime&) {
    constexpr std::size_t objects = 60, words = mib / sizeof(word);
    const std::size_t wrong = tobi::run([] {
      std::size_t bad = 0;
      for (std::size_t round = 0; round < 3; ++round) {
        std::array<tobi::global_span<word>, objects> all;
        tobi::migrate_to(1);
        for (std::size_t k = 0; k < objects; ++k) {
          all[k] = {tobi::allocate_global<word>(words), words};
          tobi::store(all[k].data(), round + k);
          tobi::store(all[k].data() + (words - 1), k);
        }
        tobi::migrate_to(0);
        for (std::size_t i = 0; i < objects; ++i) {
          const std::size_t k = i * 7 % objects;
          tobi::fetch_add(all[k].data(), word{1});
          bad += tobi::load(all[k].data()) != round + k + 1;
          bad += tobi::load(all[k].data() + (words - 1)) != k;
          tobi::free_global(all[k].data(), words);
        }
      }
      return bad;
    });
    return wrong == 0 ? 0 : 3;
  });
  EXPECT_GE(times, 1u);
  EXPECT_LE(times, 8u) << "what was freed is used again";
}

// Rank 0 reads one small object after the other as soon as there are some more, so that its cache reads on behind the
// last one: up to the end of what rank 1 has registered, and not beyond.
TEST_P(heaps_that_grow, are_not_read_beyond_their_end) {
  const std::size_t times = grown([](tobi::runtime&) {
    const std::size_t wrong = tobi::run([] {
      constexpr std::size_t words = 32768 / sizeof(word), step = 4096 / sizeof(word), batch = 8;
      std::size_t bad = 0;
      for (std::size_t made = 0; made < 1000; made += batch) {
        std::array<tobi::global_ptr<word>, batch> all;
        tobi::migrate_to(1);
        for (auto& object : all) {
          object = tobi::allocate_global<word>(words);
          for (std::size_t at = 0; at < words; at += step) tobi::store(object + at, made + at);
        }
        tobi::migrate_to(0);
        for (const auto& object : all) {
          for (std::size_t at = 0; at < words; at += step) {
            auto in = tobi::checkout(tobi::global_span<word>(object + at, step), tobi::mode::read);
            bad += in[0] != made + at;
          }
        }
      }
      return bad;
    });
    return wrong == 0 ? 0 : 3;
  });
  EXPECT_GE(times, 1u);
}

INSTANTIATE_TEST_SUITE_P(
    , heaps_that_grow,
    testing::Values(way{"shm", 2, {{"TOBI_TRANSPORT", "shm"}, unpinned, log_all}},
                    way{"sim", 2, {{"TOBI_TRANSPORT", "sim"}, two, unpinned, log_all}},
                    way{"sim_and_shm", 4, {{"TOBI_TRANSPORT", "sim"}, two, unpinned, log_all}},
                    way{"tcp", 4, {{"TOBI_TRANSPORT", "ofi"}, two, unpinned, log_all}},
                    way{"messages", 4, {{"TOBI_TRANSPORT", "sim"}, two, {"TOBI_MASK", "unpinned,amo,chain"}, log_all}},
                    way{"shared", 4, {{"TOBI_TRANSPORT", "sim"}, two, unpinned, {"TOBI_CACHE_SHARED", "1"}, log_all}}),
    name_of_way);

}  // namespace
