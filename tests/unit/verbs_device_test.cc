// SPDX-License-Identifier: Apache-2.0
// Which RDMA devices the transport verbs takes, by what they say of themselves.
#if __has_include(<infiniband/verbs.h>)
#include "transports/verbs/device.hpp"
#endif

#include <gtest/gtest.h>

#if __has_include(<infiniband/verbs.h>)
namespace {

using tobi::transports::verbs::what_it_lacks;

// As an adapter says it.
ibv_device_attr usual() {
  ibv_device_attr a{};
  a.max_qp = 1000;
  a.max_srq = 1000;
  a.max_srq_wr = 32767;
  a.max_qp_rd_atom = 16;
  a.max_qp_init_rd_atom = 16;
  a.atomic_cap = IBV_ATOMIC_HCA;
  return a;
}
bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

TEST(verbs_device, an_infiniband_or_roce_device_has_all) { EXPECT_EQ(what_it_lacks(IBV_TRANSPORT_IB, usual()), ""); }

TEST(verbs_device, one_without_atomics_is_taken_with_softwares) {
  ibv_device_attr a = usual();
  a.atomic_cap = IBV_ATOMIC_NONE;
  EXPECT_EQ(what_it_lacks(IBV_TRANSPORT_IB, a), "");
}

TEST(verbs_device, iwarp_has_no_datagrams) {
  EXPECT_TRUE(has(what_it_lacks(IBV_TRANSPORT_IWARP, usual()), "iWARP")) << what_it_lacks(IBV_TRANSPORT_IWARP, usual());
}

// EFA and usNIC: an active port with an address, and neither connections nor shared receive queues.
TEST(verbs_device, transports_of_vendors_are_not_infiniband) {
  for (const ibv_transport_type t :
       {IBV_TRANSPORT_UNSPECIFIED, IBV_TRANSPORT_UNKNOWN, IBV_TRANSPORT_USNIC, IBV_TRANSPORT_USNIC_UDP}) {
    EXPECT_TRUE(has(what_it_lacks(t, usual()), "no InfiniBand or RoCE device")) << t;
  }
}

TEST(verbs_device, shared_receive_queues_and_reads_are_needed) {
  ibv_device_attr a = usual();
  a.max_srq = 0;
  EXPECT_TRUE(has(what_it_lacks(IBV_TRANSPORT_IB, a), "shared receive queues"));
  a = usual();
  a.max_qp_rd_atom = 0;
  EXPECT_TRUE(has(what_it_lacks(IBV_TRANSPORT_IB, a), "reads"));
}

}  // namespace
#else
TEST(verbs_device, is_part_of_this_build) { GTEST_SKIP() << "needs the package libibverbs-dev, at build time"; }
#endif
