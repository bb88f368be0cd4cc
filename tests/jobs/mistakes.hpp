// SPDX-License-Identifier: Apache-2.0
// What the tests of programs' mistakes share.
#pragma once

#include <gtest/gtest.h>

#include "in_job.hpp"

/// The job of BODY ends with SENTENCE in what it says, by itself and not by a signal.
template <class Body>
void ends_with(const char* sentence, int workers, environment env, Body body) {
  const outcome o = in_job(workers, env, body);
  EXPECT_NE(o.status, 0);
  EXPECT_LT(o.status, 128) << "ended by a signal, or too late";
  EXPECT_NE(o.said.find(sentence), std::string::npos) << o.said;
}

/// fib(n), by tasks.
[[gnu::noinline]] inline long some_work(long n) {
  if (n < 2) return n;
  auto t = tobi::spawn([=] { return some_work(n - 1); });
  const long y = some_work(n - 2);
  return t.join() + y;
}
