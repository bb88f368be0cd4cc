// SPDX-License-Identifier: Apache-2.0
// Whose death an event of PMIx is about: a server that runs several jobs delivers other jobs' events too.
#include <gtest/gtest.h>

#include "bootstrap/pmix/event.hpp"

namespace {

using tobi::bootstrap::pmix::lost_client;
using tobi::bootstrap::pmix::nobody_here;
using tobi::bootstrap::pmix::process;
using tobi::bootstrap::pmix::the_server;

constexpr process server{"prte@1", 0};

TEST(pmix_events, a_process_of_this_job_is_lost) {
  EXPECT_EQ(lost_client("job-1", 4, false, server, {"job-1", 3}), 3);
  EXPECT_EQ(lost_client("job-1", 4, false, {"job-1", 2}, {}), 2);
}

TEST(pmix_events, a_process_of_another_job_is_nobodys_affair) {
  EXPECT_EQ(lost_client("job-1", 4, false, server, {"job-2", 3}), nobody_here);
  EXPECT_EQ(lost_client("job-1", 4, false, {"job-2", 3}, {}), nobody_here);
  EXPECT_EQ(lost_client("job-1", 4, false, {"job-1", 1}, {"job-2", 1}), nobody_here);
  EXPECT_EQ(lost_client("job-1", 4, false, server, {"job-10", 1}), nobody_here);
}

TEST(pmix_events, an_end_of_another_job_as_a_whole_is_nobodys_affair) {
  EXPECT_EQ(lost_client("job-1", 4, false, server, {"job-2", -1}), nobody_here);
}

TEST(pmix_events, ranks_that_the_job_does_not_have_are_not_looked_up) {
  EXPECT_EQ(lost_client("job-1", 4, false, server, {"job-1", 4}), nobody_here);
  EXPECT_EQ(lost_client("job-1", 4, false, server, {"job-1", 0xffff'fff0}), nobody_here);
}

TEST(pmix_events, the_connection_to_the_server_and_this_job_as_a_whole_end_it) {
  EXPECT_EQ(lost_client("job-1", 4, true, server, {}), the_server);
  EXPECT_EQ(lost_client("job-1", 4, false, server, {"job-1", -1}), the_server);
}

}  // namespace
