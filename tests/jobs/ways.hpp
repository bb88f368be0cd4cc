// SPDX-License-Identifier: Apache-2.0
// Tests that run each of their jobs in several ways: over these fabrics, with so many workers, under these settings.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/jobs/in_job.hpp"

using setting = std::pair<const char*, const char*>;

struct way {
  const char* name;
  int workers;
  std::vector<setting> env;
};
inline std::string name_of_way(const testing::TestParamInfo<way>& one) { return one.param.name; }

/// One worker, and over each kind of fabric, with caches that are often full; and with both debug settings.
inline std::vector<way> usual_ways() {
  const setting sim{"TOBI_TRANSPORT", "sim"}, tcp{"TOBI_TRANSPORT", "ofi"}, heap{"TOBI_HEAP_SIZE", "64M"},
      cache{"TOBI_CACHE_SIZE", "1M"};
  return {
      {"one", 1, {heap, cache}},
      {"shm", 3, {heap, cache}},
      {"sim", 5, {sim, {"TOBI_NODES", "3"}, heap, cache}},
      {"tcp", 4, {tcp, {"TOBI_NODES", "2"}, heap, cache}},
      {"debug", 4, {sim, {"TOBI_NODES", "2"}, {"TOBI_DEBUG_GLOBAL", "1"}, {"TOBI_DEBUG_MIGRATE", "1"}, heap, cache}}};
}
/// The usual ways, and MORE with the same sizes.
inline std::vector<way> usual_ways_and(std::vector<way> more) {
  std::vector<way> all = usual_ways();
  for (way& one : more) {
    one.env.emplace_back("TOBI_HEAP_SIZE", "64M");
    one.env.emplace_back("TOBI_CACHE_SIZE", "1M");
    all.push_back(std::move(one));
  }
  return all;
}

class in_each_way : public testing::TestWithParam<way> {
 protected:
  /// BODY(rt) is 0 on all workers, and the job says nothing. MORE are settings for it.
  template <class Body>
  void expect_zero(Body body, const std::vector<setting>& more = {}) {
    const outcome o = in_job(GetParam().workers, more, body, GetParam().env);
    EXPECT_EQ(o.status, 0) << o.said;
    EXPECT_EQ(o.said, "");
  }
};
