// SPDX-License-Identifier: Apache-2.0
// How many connections others may have to a worker over verbs: more than its share are asked to leave, and their owners
// close them when nothing is under way. Over a device that is played.
#include <gtest/gtest.h>

#if __has_include(<infiniband/verbs.h>)
#include <array>
#include <cstdlib>
#include <functional>

#include "arch/clock.hpp"
#include "tests/limits.hpp"
#include "tests/unit/fabric_in_process.hpp"
#include "tests/unit/played_device.hpp"
#include "transports/verbs/wireup.hpp"

namespace {

using tobi::status;
using tobi::transports::region_id;
using tobi::transports::transport;

const std::uint64_t patience_ns = std::uint64_t{hang_s()} * 1'000'000'000;
constexpr std::size_t share = 4;  // twice TOBI_VERBS_CONNECTIONS

// Repeats ASK, moving all, until it is true.
bool soon(const fabric_in_process& all, const std::function<bool()>& ask) {
  const std::uint64_t begin = tobi::arch::now_ns();
  while (!ask()) {
    if (tobi::arch::now_ns() - begin > patience_ns) return false;
    all.move();
    usleep(200);
  }
  return true;
}

// Queue pairs of RANK's that others post to: they have no room for requests of their own.
std::size_t responders_of(int rank) {
  const std::lock_guard hold(played::all);
  std::size_t count = 0;
  for (const auto& [number, q] : played::qps) {
    if (q->qp_type == IBV_QPT_RC && q->cap.max_send_wr <= 1 &&
        q->context == &played::contexts[static_cast<std::size_t>(rank)]->context) {
      ++count;
    }
  }
  return count;
}

class verbs_responders : public testing::Test {
 protected:
  verbs_responders() {
    played::now = {};
    played::contexts.clear();
    tobi::transports::verbs::play(played::functions());
    setenv("TOBI_VERBS_CONNECTIONS", "2", 1);
  }
  ~verbs_responders() override { unsetenv("TOBI_VERBS_CONNECTIONS"); }
};

// Rank 0, and many who read its memory.
struct many {
  fabric_in_process fabric;
  std::array<std::uint64_t, 8> words{};
  std::vector<region_id> of_first;  // by reader

  explicit many(int readers) : fabric("verbs", "", readers + 1) {
    words.fill(4711);
    tobi::transports::region_key key;
    EXPECT_EQ(fabric.of(0).register_memory({words.data(), sizeof words, -1, 0}, key), status::ok);
    for (int r = 1; r <= readers; ++r) {
      region_id id = 0;
      EXPECT_EQ(fabric.of(r).attach(0, key, id), status::ok);
      of_first.push_back(id);
    }
  }
  bool reads(int rank) {
    std::uint64_t found = 0;
    transport& mine = fabric.of(rank);
    const region_id id = of_first[static_cast<std::size_t>(rank - 1)];
    // Alone: the others are not moved, as if they computed.
    const std::uint64_t begin = tobi::arch::now_ns();
    status s = status::again;
    while ((s = mine.get(0, id, 0, &found, sizeof found)) == status::again) {
      if (tobi::arch::now_ns() - begin > patience_ns) return false;
      usleep(100);
    }
    while (s == status::ok && (s = mine.flush(0)) == status::again) usleep(100);
    return s == status::ok && found == 4711;
  }
};

TEST_F(verbs_responders, come_down_to_a_workers_share_when_their_owners_look) {
  many w(12);
  for (int r = 1; r <= 12; ++r) EXPECT_TRUE(w.reads(r)) << r;
  EXPECT_TRUE(soon(w.fabric, [] { return responders_of(0) <= share; })) << responders_of(0);
  // Who has left comes again, and reads the same.
  for (int r = 1; r <= 12; ++r) EXPECT_TRUE(w.reads(r)) << r;
  EXPECT_TRUE(soon(w.fabric, [] { return responders_of(0) <= share; })) << responders_of(0);
}

TEST_F(verbs_responders, make_nobody_wait_while_their_owners_compute) {
  many w(12);
  for (int r = 1; r <= 12; ++r) EXPECT_TRUE(w.reads(r)) << r;  // nobody else moves
  EXPECT_EQ(responders_of(0), 12u);
}

// As long as an owner was stopped, its closes were lost, and it has given up repeating them. What it is asked to leave
// then, and has no more, is closed all the same.
TEST_F(verbs_responders, of_owners_that_have_given_up_go_when_they_are_asked_again) {
  constexpr std::size_t given_up = 12 * 50;  // each is repeated so often
  std::size_t lost = 0;
  many w(12);
  for (int r = 1; r <= 12; ++r) EXPECT_TRUE(w.reads(r)) << r;
  {
    const std::lock_guard hold(played::all);
    played::now.loses = [&lost](const void* bytes) {
      using tobi::transports::verbs::datagram;
      if (static_cast<const datagram*>(bytes)->what != datagram::kind::close || lost == given_up) return false;
      ++lost;
      return true;
    };
  }
  EXPECT_TRUE(soon(w.fabric, [&] {
    const std::lock_guard hold(played::all);
    return lost >= given_up;
  })) << lost;
  EXPECT_TRUE(soon(w.fabric, [] { return responders_of(0) <= share; })) << responders_of(0);
}

TEST_F(verbs_responders, within_the_share_stay) {
  many w(static_cast<int>(share));
  for (int r = 1; r <= static_cast<int>(share); ++r) EXPECT_TRUE(w.reads(r));
  const std::uint64_t until = tobi::arch::now_ns() + 300'000'000;
  while (tobi::arch::now_ns() < until) w.fabric.move();
  EXPECT_EQ(responders_of(0), share);
}

TEST_F(verbs_responders, stay_while_something_is_under_way) {
  many w(12);
  for (int r = 1; r <= 12; ++r) EXPECT_TRUE(w.reads(r));
  std::array<std::uint64_t, 12> found{};
  {
    const std::lock_guard hold(played::all);
    played::now.holds = true;  // what is posted from now on is not executed yet
  }
  std::size_t posted = 0;
  for (int r = 1; r <= 12; ++r) {
    const auto i = static_cast<std::size_t>(r - 1);
    posted += w.fabric.of(r).get(0, w.of_first[i], 0, &found[i], 8) == status::ok ? 1 : 0;
  }
  EXPECT_EQ(posted, 12u);
  const std::uint64_t until = tobi::arch::now_ns() + 400'000'000;
  while (tobi::arch::now_ns() < until) w.fabric.move();
  EXPECT_EQ(responders_of(0), 12u);
  {
    const std::lock_guard hold(played::all);
    played::now.holds = false;
    for (const auto& [number, q] : played::qps) played::move(*q);
  }
  for (int r = 1; r <= 12; ++r) {
    EXPECT_TRUE(soon(w.fabric, [&] { return w.fabric.of(r).flush(0) == status::ok; }));
    EXPECT_EQ(found[static_cast<std::size_t>(r - 1)], 4711u);
  }
  EXPECT_TRUE(soon(w.fabric, [] { return responders_of(0) <= share; })) << responders_of(0);
}

}  // namespace
#endif
