// SPDX-License-Identifier: Apache-2.0
// How many ranks a job can have, and how large their heaps can be.
#include <gtest/gtest.h>

#include <string>

#include "libcore/job/limits.hpp"
#include "libcore/net/location.hpp"
#include "libcore/task/record.hpp"

namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(ranks, a_record_names_all_of_them) {
  tobi::tasks::record r{};
  for (const int rank : {0, 255, 65535, 65536, tobi::net::location::max_ranks - 1}) {
    r.set_by(rank);
    EXPECT_EQ(r.by(), rank);
  }
}

TEST(ranks, as_many_as_a_location_names) {
  using tobi::net::location;
  EXPECT_EQ(tobi::job::too_many_ranks(location::max_ranks), "");
  EXPECT_TRUE(has(tobi::job::too_many_ranks(location::max_ranks + 1), "1048577 workers are more than the 1048576"));
  for (const int rank : {1, 65535, 65536, location::max_ranks - 1}) {
    const location at(rank, 48);
    EXPECT_EQ(at.rank(), rank);
    EXPECT_EQ(at.offset(), 48u);
  }
  constexpr std::uint64_t far = (std::uint64_t{65} << 30) - 16;
  EXPECT_EQ(location(65536, far).offset(), far) << "the largest heap, and what is before it";
}

TEST(ranks, too_large_heaps_for_them_name_a_size_that_fits) {
  constexpr std::size_t mib = 1u << 20;
  EXPECT_EQ(tobi::job::too_much_address_space(60'000, 1025 * mib), "");
  const std::string what = tobi::job::too_much_address_space(70'000, 1025 * mib);
  EXPECT_TRUE(has(what, "the heaps of 70000 workers (1025M each) do not fit into the 64T")) << what;
  EXPECT_TRUE(has(what, "set TOBI_HEAP_SIZE=944M.")) << what;
  EXPECT_EQ(tobi::job::too_much_address_space(70'000, 945 * mib), "");
  EXPECT_TRUE(has(tobi::job::too_much_address_space(1 << 20, 129 * mib), "TOBI_HEAP_SIZE=56M"));
  EXPECT_EQ(tobi::job::too_much_address_space(1 << 20, 57 * mib), "");
}

}  // namespace
