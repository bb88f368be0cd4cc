// SPDX-License-Identifier: Apache-2.0
// What a masked transport claims and returns, over a device that has everything and one dead peer.
#include "transports/decorators/mask.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "libcore/base/settings.hpp"
#include "tests/unit/played_transport.hpp"
#include "transports/decorators/settings.hpp"

namespace {

using namespace tobi;
using namespace tobi::transports;

constexpr int dead = 1;

struct rich final : played_transport {
  rich() { caps_.passive_rma = caps_.passive_amo = caps_.put_notify = caps_.peer_errors = true; }
  status post(int rank, std::span<const op>) noexcept override { return flush(rank); }
  status flush(int rank) noexcept override { return rank == dead ? status::peer_lost : status::ok; }
  status put_notify(int rank, const op&, std::uint64_t) noexcept override { return flush(rank); }
};

std::unique_ptr<transport> without(const std::string& mask) {
  base::settings in_force;
  in_force.of<decorators::settings>().mask = mask;
  EXPECT_EQ(decorators::check_mask(in_force), "");
  return decorators::masked(std::make_unique<rich>(), in_force);
}

TEST(mask, passive_is_of_puts_and_gets_and_of_atomics) {
  const auto both = without("passive");
  EXPECT_FALSE(both->caps().passive_rma);
  EXPECT_FALSE(both->caps().passive_amo);
  EXPECT_FALSE(without("passive_rma")->caps().passive_rma);
  EXPECT_TRUE(without("passive_rma")->caps().passive_amo);
  EXPECT_TRUE(without("passive_amo")->caps().passive_rma);
  EXPECT_FALSE(without("passive_amo")->caps().passive_amo);
}

TEST(mask, without_errors_of_peers_a_dead_one_is_a_lost_fabric) {
  const op none{};
  for (const std::string_view mask : {"passive", "peer_errors"}) {
    const auto fabric = without(std::string(mask));
    const status expected = mask == "peer_errors" ? status::domain_lost : status::peer_lost;
    EXPECT_EQ(fabric->caps().peer_errors, expected == status::peer_lost);
    EXPECT_EQ(fabric->post(dead, {&none, 1}), expected);
    EXPECT_EQ(fabric->post_unordered(dead, {&none, 1}), expected);
    EXPECT_EQ(fabric->put_notify(dead, none, 0), expected);
    EXPECT_EQ(fabric->flush(dead), expected);
    EXPECT_EQ(fabric->flush(0), status::ok);
  }
}

}  // namespace
