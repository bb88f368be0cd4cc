// SPDX-License-Identifier: Apache-2.0
// What a worker over libfabric takes as it starts: bytes read and memory touched, since a time says little on a machine
// that others use.
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "tests/jobs/in_job.hpp"

namespace {

// The number behind NAME in a file of /proc, or 0.
std::uint64_t number(const char* file, const std::string& name) {
  std::ifstream from(file);
  std::uint64_t n = 0;
  for (std::string word; from >> word;) {
    if (word == name) from >> n;
  }
  return n;
}

constexpr std::pair<const char*, const char*> two_nodes[] = {
    {"TOBI_TRANSPORT", "ofi"}, {"TOBI_NODES", "2"}, {"TOBI_OFI_PROVIDER", "tcp;ofi_rxm"}};

bool absent(const outcome& o) { return o.said.find("ofi cannot be used") != std::string::npos; }

// libfabric's start reads the kernel's symbols twice, 11 MB on a common kernel; all else comes to 0.1 MB.
TEST(ofi_start, reads_no_list_of_the_kernels_symbols) {
  const outcome o =
      in_job(2, two_nodes, [](tobi::runtime&) { return number("/proc/self/io", "rchar:") < 1u << 20 ? 0 : 9; });
  if (absent(o)) GTEST_SKIP() << o.said;
  EXPECT_EQ(o.status, 0) << o.said;
}

// With buffers of libfabric's own choice it is 97 MB.
TEST(ofi_start, touches_little_memory) {
  const outcome o =
      in_job(2, two_nodes, [](tobi::runtime&) { return number("/proc/self/status", "VmHWM:") < 40'000 ? 0 : 9; });
  if (absent(o)) GTEST_SKIP() << o.said;
  EXPECT_EQ(o.status, 0) << o.said;
}

// The user's word counts.
TEST(ofi_start, leaves_what_the_user_has_set) {
  const outcome o = in_job(
      2, two_nodes, [](tobi::runtime&) { return std::getenv("FI_OFI_RXM_BUFFER_SIZE") == std::string("4096") ? 0 : 9; },
      {{"FI_OFI_RXM_BUFFER_SIZE", "4096"}});
  if (absent(o)) GTEST_SKIP() << o.said;
  EXPECT_EQ(o.status, 0) << o.said;
}

}  // namespace
