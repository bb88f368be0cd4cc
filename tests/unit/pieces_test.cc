// SPDX-License-Identifier: Apache-2.0
// What is longer than put_max of a transport is posted in pieces, and a chain with such an operation one by one.
#include <gtest/gtest.h>

#include <span>
#include <vector>

#include "libcore/net/fabric.hpp"
#include "tests/unit/played_transport.hpp"

namespace {

using tobi::net::fabric;
using tobi::net::peer_keys;
using tobi::transports::op;

struct recorder final : played_transport {
  recorder(std::uint64_t put_max, std::uint32_t chain_max) {
    caps_.put_max = put_max;
    caps_.chain_max = chain_max;
  }
  tobi::status post(int, std::span<const op> ops) noexcept override {
    chains.emplace_back(ops.begin(), ops.end());
    return tobi::status::ok;
  }
  std::vector<std::vector<op>> chains;
};

struct pieces : testing::Test {
  std::vector<std::byte> heap = std::vector<std::byte>(1u << 16);
  std::vector<std::byte> to = std::vector<std::byte>(4096);

  fabric over(recorder& r) {
    return fabric(r, 0, 2, heap.data(), heap.size(), [](int) { return peer_keys{}; });
  }
  // The pieces follow each other, here and there, and are the whole.
  void expect_whole(const recorder& r, std::uint64_t at, std::uint64_t bytes, std::uint64_t most) {
    std::uint64_t done = 0;
    for (const auto& chain : r.chains) {
      ASSERT_EQ(chain.size(), 1u);
      EXPECT_EQ(chain[0].remote, at + done);
      EXPECT_EQ(chain[0].local, to.data() + done);
      EXPECT_LE(chain[0].bytes, most);
      done += chain[0].bytes;
      EXPECT_TRUE(done == bytes || done % 8 == 0) << "a word would be torn";
    }
    EXPECT_EQ(done, bytes);
  }
};

TEST_F(pieces, an_operation_longer_than_put_max) {
  for (const std::uint64_t most : {7u, 64u, 1000u, 4095u}) {
    recorder r(most, 1);
    fabric net = over(r);
    const op one = op::get(0, 24, to.data(), to.size());
    net.post(1, {&one, 1});
    EXPECT_GT(r.chains.size(), 1u);
    if (most >= 64) expect_whole(r, 24, to.size(), most);
  }
}

TEST_F(pieces, an_operation_within_put_max_is_one) {
  for (const std::uint64_t most : {std::uint64_t{0}, std::uint64_t{4096}}) {  // 0: a transport that does not say
    recorder r(most, 1);
    fabric net = over(r);
    const op one = op::get(0, 24, to.data(), to.size());
    net.post(1, {&one, 1});
    ASSERT_EQ(r.chains.size(), 1u);
    expect_whole(r, 24, to.size(), 4096);
  }
}

TEST_F(pieces, a_chain_of_short_operations_stays_one) {
  recorder r(64, 16);
  fabric net = over(r);
  const op three[] = {op::put(0, 0, to.data(), 8), op::get(0, 8, to.data(), 64), op::put(0, 16, to.data(), 8)};
  net.post(1, three);
  net.post_apart(1, three);
  net.post_behind(1, three);
  ASSERT_EQ(r.chains.size(), 3u);
  for (const auto& chain : r.chains) EXPECT_EQ(chain.size(), 3u);
}

TEST_F(pieces, a_chain_with_a_long_one_is_posted_in_order) {
  using post = void (fabric::*)(int, std::span<const op>);
  for (const post how : {&fabric::post, &fabric::post_apart, &fabric::post_behind}) {
    recorder r(64, 16);
    fabric net = over(r);
    const op three[] = {op::put(0, 0, to.data(), 8), op::get(0, 8, to.data(), 100), op::put(0, 200, to.data(), 8)};
    (net.*how)(1, std::span<const op>(three));
    ASSERT_EQ(r.chains.size(), 4u);
    EXPECT_EQ(r.chains[0][0].remote, 0u);
    EXPECT_EQ(r.chains[1][0].bytes, 64u);
    EXPECT_EQ(r.chains[2][0].bytes, 36u);
    EXPECT_EQ(r.chains[3][0].remote, 200u);
  }
}

}  // namespace
