// SPDX-License-Identifier: Apache-2.0
// What an address vector of verbs says, from made-up ports: service level, traffic class, and when there is a global
// header.
#include <gtest/gtest.h>

#if __has_include(<infiniband/verbs.h>)
#include "transports/verbs/wireup.hpp"

namespace {

using namespace tobi::transports::verbs;

opened device_with(std::uint8_t link_layer, std::uint8_t flags) {
  opened o;
  o.port = 2;
  o.gid_index = 3;
  o.service_level = 5;
  o.traffic_class = 104;
  o.port_attributes.link_layer = link_layer;
  o.port_attributes.flags = flags;
  return o;
}

endpoint peer_at(std::uint16_t lid, bool ethernet) {
  endpoint e{};
  e.lid = lid;
  e.is_ethernet = ethernet ? 1 : 0;
  e.gid.raw[15] = 9;
  return e;
}

TEST(verbs_route, has_no_global_header_within_a_subnet_of_infiniband) {
  const ibv_ah_attr a = route_to(device_with(IBV_LINK_LAYER_INFINIBAND, 0), peer_at(17, false));
  EXPECT_EQ(a.is_global, 0);
  EXPECT_EQ(a.dlid, 17);
  EXPECT_EQ(a.port_num, 2);
  EXPECT_EQ(a.sl, 5);
}

TEST(verbs_route, has_one_where_the_port_requires_it) {
  const ibv_ah_attr a = route_to(device_with(IBV_LINK_LAYER_INFINIBAND, IBV_QPF_GRH_REQUIRED), peer_at(17, false));
  EXPECT_EQ(a.is_global, 1);
  EXPECT_EQ(a.dlid, 17);
  EXPECT_EQ(a.grh.dgid.raw[15], 9);
  EXPECT_EQ(a.grh.sgid_index, 3);
  EXPECT_EQ(a.grh.traffic_class, 104);
}

TEST(verbs_route, has_one_where_the_peer_has_no_local_address) {
  EXPECT_EQ(route_to(device_with(IBV_LINK_LAYER_INFINIBAND, 0), peer_at(0, false)).is_global, 1);
}

TEST(verbs_route, has_one_over_ethernet_with_the_traffic_class) {
  const ibv_ah_attr a = route_to(device_with(IBV_LINK_LAYER_ETHERNET, 0), peer_at(0, true));
  EXPECT_EQ(a.is_global, 1);
  EXPECT_EQ(a.grh.traffic_class, 104);
  EXPECT_EQ(a.sl, 5);
  EXPECT_GT(a.grh.hop_limit, 1);
}

TEST(verbs_pages, are_whole_and_their_own) {
  const pages room(100);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(room.data()) % 4096, 0u);
  EXPECT_GE(room.size(), 4096u);
}

}  // namespace
#endif
