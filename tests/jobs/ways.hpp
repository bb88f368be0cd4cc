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

class in_each_way : public testing::TestWithParam<way> {
 protected:
  /// BODY(rt) is 0 on all workers, and the job says nothing.
  template <class Body>
  void expect_zero(Body body) {
    const outcome o = in_job(GetParam().workers, {}, body, GetParam().env);
    EXPECT_EQ(o.status, 0) << o.said;
    EXPECT_EQ(o.said, "");
  }
};
