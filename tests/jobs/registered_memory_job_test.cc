// SPDX-License-Identifier: Apache-2.0
// Whatever a transport has registered is there until it ends: a device, or a thread that serves others, may touch it up
// to that moment. TOBI_WRAP=fault looks.
#include <gtest/gtest.h>

#include "in_job.hpp"

namespace {

TEST(registered_memory, outlives_the_transport) {
  for (const char* transport : {"shm", "sim"}) {
    SCOPED_TRACE(transport);
    const std::pair<const char*, const char*> env[] = {
        {"TOBI_TRANSPORT", transport}, {"TOBI_WRAP", "fault"}, {"TOBI_HEAP_SIZE", "64M"}};
    const outcome o = in_job(3, env, [](tobi::runtime&) {
      return tobi::run([] {
        auto one = tobi::spawn([] { return 1; });
        return 2 - 2 * one.join();
      });
    });
    EXPECT_EQ(o.status, 0);
    EXPECT_EQ(o.said, "");
  }
}

}  // namespace
