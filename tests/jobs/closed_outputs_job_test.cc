// SPDX-License-Identifier: Apache-2.0
// lane: sleeps, 1 s
// A program without standard output, or without any of the three, as a daemon may be started: what it prints is refused
// (EBADF), and is not written into a file of the runtime that has got the number.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "in_job.hpp"

namespace {

long fib(long n) {
  if (n < 2) return n;
  auto x = tobi::spawn([=] { return fib(n - 1); });
  const long y = fib(n - 2);
  return x.join() + y;
}

// What has been printed comes out of the outputs that are left only: the status.
int prints_and_computes(const tobi::runtime&) {
  const std::string text(100'000, 'x');
  for (int i = 0; i < 10; ++i) {
    if (write(STDOUT_FILENO, text.data(), text.size()) != -1 || errno != EBADF) return 4;
    if (tobi::run([] { return fib(12); }) != 144) return 5;
  }
  return 0;
}

struct way {
  const char* name;
  std::vector<int> closed;
  std::vector<std::pair<const char*, const char*>> env;
};
class closed_outputs : public testing::TestWithParam<way> {};

TEST_P(closed_outputs, are_no_file_of_the_runtime) {
  const outcome o = in_child([] {
    for (const auto& [name, value] : GetParam().env) setenv(name, value, 1);
    for (const int fd : GetParam().closed) close(fd);
    int status = 0;
    {
      tobi::runtime rt(tobi::options{.workers = 3});
      status = prints_and_computes(rt);
    }
    std::exit(status);
  });
  EXPECT_EQ(o.status, 0) << o.said;
  EXPECT_EQ(o.said, "");
}

INSTANTIATE_TEST_SUITE_P(each, closed_outputs,
                         testing::ValuesIn(std::vector<way>{
                             {"shm", {1}, {}},
                             {"shm_all", {0, 1, 2}, {}},
                             {"ofi", {1}, {{"TOBI_TRANSPORT", "ofi"}, {"TOBI_NODES", "3"}}},
                             {"ofi_all", {0, 1, 2}, {{"TOBI_TRANSPORT", "ofi"}, {"TOBI_NODES", "3"}}},
                             {"labelled", {1}, {{"TOBI_LABEL", "1"}}}}),
                         [](const auto& of) { return std::string(of.param.name); });

}  // namespace
