// SPDX-License-Identifier: Apache-2.0
// Which work requests of the transport verbs carry a fence, over a device that is played: one such a request
// waits for all reads of its connection. The first put behind a read or an atomic of an ordered chain does, and no
// other.
#include <gtest/gtest.h>

#if __has_include(<infiniband/verbs.h>)
#include <array>

#include "tests/unit/fabric_in_process.hpp"
#include "tests/unit/played_device.hpp"

namespace {

using tobi::status;
using tobi::transports::op;
using tobi::transports::region_id;

struct counts {
  unsigned doorbells, requests, fences;
  bool operator==(const counts&) const = default;
};
void PrintTo(const counts& c, std::ostream* to) {
  *to << c.doorbells << " doorbells, " << c.requests << " requests, " << c.fences << " fences";
}

class verbs_fences : public testing::Test {
 protected:
  verbs_fences() {
    played::now = {};
    tobi::transports::verbs::play(played::functions());
    fabric_ = std::make_unique<fabric_in_process>("verbs", "", 2);
    tobi::transports::region_key key;
    EXPECT_EQ(fabric_->of(1).register_memory({there_.data(), sizeof there_, -1, 0}, key), status::ok);
    EXPECT_EQ(fabric_->of(0).attach(1, key, region_), status::ok);
    (void)sent(get(0), true);  // which connects
  }
  op put(std::size_t word) { return op::put(region_, 8 * word, &here_[word], 8); }
  op get(std::size_t word) { return op::get(region_, 8 * word, &here_[word], 8); }
  op add(std::size_t word) { return op::add(region_, 8 * word, 1, &here_[word]); }

  counts sent(std::initializer_list<op> ops, bool in_order) {
    auto& first = fabric_->of(0);
    const std::span<const op> all(ops.begin(), ops.size());
    const auto [doorbells, requests, fences] =
        std::array{played::now.doorbells, played::now.requests, played::now.fences};
    status s = status::again;
    for (int tries = 0; s == status::again && tries < 100'000; ++tries) {
      s = in_order ? first.post(1, all) : first.post_unordered(1, all);
      if (s == status::again) usleep(100);
    }
    EXPECT_EQ(s, status::ok);
    while ((s = first.flush(1)) == status::again) usleep(100);
    EXPECT_EQ(s, status::ok);
    return {played::now.doorbells - doorbells, played::now.requests - requests, played::now.fences - fences};
  }
  counts sent(const op& one, bool in_order) { return sent({one}, in_order); }

 private:
  std::array<std::uint64_t, 64> here_{};
  std::array<std::uint64_t, 64> there_{};
  std::unique_ptr<fabric_in_process> fabric_;
  region_id region_ = 0;
};

TEST_F(verbs_fences, puts_behind_puts_have_none) {
  EXPECT_EQ(sent({put(0), put(1), put(2), put(3)}, true), (counts{1, 4, 0}));
}

TEST_F(verbs_fences, a_put_behind_a_read_or_an_atomic_of_its_chain_has_one) {
  EXPECT_EQ(sent({get(0), put(1)}, true), (counts{1, 2, 1}));
  EXPECT_EQ(sent({put(0), add(1), put(2), put(3)}, true), (counts{1, 4, 1}));
}

TEST_F(verbs_fences, reads_have_none) { EXPECT_EQ(sent({put(0), get(1), add(2), get(3)}, true), (counts{1, 4, 0})); }

TEST_F(verbs_fences, what_is_posted_unordered_has_none) {
  EXPECT_EQ(sent({get(0), put(1), add(2), put(3), put(4)}, false), (counts{1, 5, 0}));
}

TEST_F(verbs_fences, an_earlier_chain_costs_none) {
  EXPECT_EQ(sent(get(0), true), (counts{1, 1, 0}));
  EXPECT_EQ(sent({put(1), put(2)}, true), (counts{1, 2, 0}));
}

}  // namespace
#else
TEST(verbs_fences, is_part_of_this_build) { GTEST_SKIP() << "needs the package libibverbs-dev, at build time"; }
#endif
