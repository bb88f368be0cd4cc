// SPDX-License-Identifier: Apache-2.0
// What the tests of task collections in jobs share: a tally of executions that all workers see, a fixture for each kind
// of fabric, and the check of a mistake.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/jobs/in_job.hpp"

namespace tallied {

using fabric_settings = std::vector<std::pair<const char*, const char*>>;

struct way {
  const char* name;
  int workers;
  fabric_settings env;
  tobi::steal_by by = tobi::steal_by::automatic;
};
/// Of the way that is tested now.
inline tobi::steal_by by_now = tobi::steal_by::automatic;
inline tobi::collection_options with(tobi::collection_options how = {}) {
  how.by = by_now;
  return how;
}

/// How often each task was executed, by whom, and whether its bytes were right.
struct tally {
  static constexpr std::size_t most = 20'000;
  std::atomic<std::uint32_t> times[most];
  std::atomic<std::uint64_t> by_rank[64];
  std::atomic<std::uint32_t> damaged;
};
inline tally* shared_tally() {
  void* at = mmap(nullptr, sizeof(tally), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return at == MAP_FAILED ? nullptr : new (at) tally{};
}
inline bool all_are(const tally& t, std::size_t count, std::uint32_t times) {
  for (std::size_t i = 0; i < count; ++i) {
    if (t.times[i].load() != times) return false;
  }
  return t.damaged.load() == 0;
}

class over_a_fabric : public testing::TestWithParam<way> {
 protected:
  template <class Body>
  void expect_zero(Body body) {
    tally* counts = shared_tally();
    ASSERT_NE(counts, nullptr);
    by_now = GetParam().by;
    const outcome o = in_job(
        GetParam().workers, {}, [&](tobi::runtime& rt) { return body(rt, counts); }, GetParam().env);
    EXPECT_EQ(o.status, 0) << o.said;
    EXPECT_EQ(o.said, "");
    munmap(counts, sizeof *counts);
  }
};

/// A mistake: one sentence, and the job ends with status 2.
template <class Local, class Body>
void expect_refused(const char* sentence, Body body) {
  const outcome o = in_job(2, {}, [&](tobi::runtime& rt) {
    static Local mine{};
    mine.rank = rt.rank();
    body(rt, mine);
    return 0;
  });
  EXPECT_EQ(o.status, 2) << o.said;
  EXPECT_NE(o.said.find(sentence), std::string::npos) << o.said;
}

}  // namespace tallied
