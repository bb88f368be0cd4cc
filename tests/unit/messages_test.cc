// SPDX-License-Identifier: Apache-2.0
// What comes over a TCP port and is no message, not yet one, or one that says more than it may.
#include "bootstrap/tcp/messages.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

namespace {

using namespace tobi::bootstrap::tcp;

std::string hello() { return to_bytes(kind::hello, {}, "node1\n"); }

// MESSAGE with another number of words, and another number of bytes, than it has.
std::string with(std::string message, std::uint32_t words, std::uint64_t bytes) {
  std::memcpy(message.data() + 12, &words, sizeof words);
  std::memcpy(message.data() + 16, &bytes, sizeof bytes);
  return message;
}

TEST(messages, are_waited_for_until_they_are_whole) {
  const std::string all = hello();
  for (std::size_t n = 0; n < all.size(); ++n) EXPECT_EQ(look_at(all.substr(0, n)), reading::part) << n;
  std::string in = all + all.substr(0, 5);
  ASSERT_EQ(look_at(in, of_a_newcomer), reading::whole);
  const message m = take_from(in);
  EXPECT_EQ(m.what, kind::hello);
  EXPECT_EQ(m.bytes, "node1\n");
  EXPECT_EQ(in, all.substr(0, 5));
}

TEST(messages, of_strangers_are_known_by_their_first_byte) {
  EXPECT_EQ(look_at("GET / HTTP/1.1"), reading::foreign);
  EXPECT_EQ(look_at("S"), reading::foreign);
  std::string other = hello();
  other[7] = '2';  // the version
  EXPECT_EQ(look_at(other), reading::foreign);
}

TEST(messages, that_say_more_than_they_may_are_foreign) {
  EXPECT_EQ(look_at(with(hello(), 0, of_a_newcomer.bytes + 1), of_a_newcomer), reading::foreign);
  EXPECT_EQ(look_at(with(hello(), 0, of_a_newcomer.bytes + 1)), reading::part);
  const std::string fence = to_bytes(kind::fence, {}, "");
  EXPECT_EQ(look_at(with(fence, 9, 0)), reading::foreign);
  // With the words' 8 bytes each these would wrap to what is there.
  for (const std::uint64_t bytes : {~std::uint64_t{0}, ~std::uint64_t{0} - 23, (std::uint64_t{1} << 40) + 1}) {
    EXPECT_EQ(look_at(with(fence, 0, bytes)), reading::foreign) << bytes;
  }
  EXPECT_EQ(look_at(with(fence, 3, ~std::uint64_t{0} - 23)), reading::foreign);
}

TEST(messages, that_lack_their_words_are_foreign) {
  const std::array<std::uint64_t, 2> two{1, 3};
  EXPECT_EQ(look_at(to_bytes(kind::welcome, two, "node0")), reading::whole);
  EXPECT_EQ(look_at(to_bytes(kind::welcome, {}, "node0")), reading::foreign);
  EXPECT_EQ(look_at(to_bytes(kind::abort, {}, "")), reading::foreign);
  EXPECT_EQ(look_at(to_bytes(kind::hello, two, "")), reading::foreign);
  EXPECT_EQ(look_at(to_bytes(static_cast<kind>(5), {}, "")), reading::foreign);
}

TEST(messages, carry_values_that_are_read_only_where_all_of_them_are_there) {
  std::string all;
  add_value(all, 0, "card", "a");
  add_value(all, 2, "", "");
  std::vector<std::string> read;
  const auto known = [&](int rank, std::string_view key, std::string_view value) {
    read.push_back(std::to_string(rank) + std::string(key) + std::string(value));
  };
  EXPECT_TRUE(read_values(all, 3, known));
  EXPECT_EQ(read, (std::vector<std::string>{"0carda", "2"}));
  EXPECT_FALSE(read_values(all, 2, known)) << "a rank that there is not";
  for (std::size_t n = 1; n < all.size(); ++n) {
    const bool ends_with_a_value = n == all.size() - 12;
    EXPECT_EQ(read_values(all.substr(0, n), 3, known), ends_with_a_value) << n;
  }
  std::string wraps = all;
  const std::uint32_t most = ~std::uint32_t{0};
  std::memcpy(wraps.data() + 4, &most, sizeof most);
  std::memcpy(wraps.data() + 8, &most, sizeof most);
  EXPECT_FALSE(read_values(wraps, 3, known));
}

}  // namespace
