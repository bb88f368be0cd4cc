// SPDX-License-Identifier: Apache-2.0
// Open files for a fabric that has a socket for each peer.
#include "transports/ofi/sockets.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#if __has_include(<rdma/fabric.h>)
namespace {

namespace ofi = tobi::transports::ofi;

TEST(sockets, providers_over_tcp_have_them) {
  for (const char* name : {"tcp", "tcp;ofi_rxm", "sockets", "net"}) EXPECT_TRUE(ofi::has_sockets(name)) << name;
  for (const char* name : {"shm", "verbs;ofi_rxm", "psm3", "udp;ofi_rxd", ""})
    EXPECT_FALSE(ofi::has_sockets(name)) << name;
}

TEST(sockets, a_limit_that_is_too_small_is_a_sentence_with_a_number_that_is_not) {
  EXPECT_EQ(ofi::too_few_files("tcp;ofi_rxm", ofi::files_for(1000), 1000), "");
  const std::string why = ofi::too_few_files("tcp;ofi_rxm", 1024, 1000);
  EXPECT_NE(
      why.find("provider tcp;ofi_rxm has a socket for each of 1000 workers, and this process may open 1024 files"),
      std::string::npos)
      << why;
  EXPECT_NE(why.find("ulimit -Hn 2256"), std::string::npos) << why;
}

TEST(sockets, the_limit_is_raised_as_far_as_it_may_be_and_never_lowered) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit small = before;
  small.rlim_cur = 64;
  small.rlim_max = 128;
  rlimit now{};
  ASSERT_EXIT(
      {
        setrlimit(RLIMIT_NOFILE, &small);
        const bool raised = ofi::make_room_for_files(100) == 100;
        const bool kept = ofi::make_room_for_files(80) == 100;
        const bool most = ofi::make_room_for_files(1000) == 128;
        getrlimit(RLIMIT_NOFILE, &now);
        _exit(raised && kept && most && now.rlim_cur == 128 ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
#else
TEST(sockets, are_part_of_this_build) { GTEST_SKIP() << "needs the package libfabric-dev, at build time"; }
#endif
