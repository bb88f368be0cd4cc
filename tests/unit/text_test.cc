// SPDX-License-Identifier: Apache-2.0
#include "libcore/base/text.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "libcore/base/shared_library.hpp"
#include "libcore/base/text_line.hpp"

namespace {

using namespace tobi::base;
using list = std::vector<std::string_view>;

TEST(split, has_one_part_more_than_commas) {
  EXPECT_EQ(split(""), (list{""}));
  EXPECT_EQ(split("a"), (list{"a"}));
  EXPECT_EQ(split("a,,b,"), (list{"a", "", "b", ""}));
}

TEST(items, neither_an_empty_list_nor_a_last_comma_is_one) {
  EXPECT_EQ(items(""), (list{}));
  EXPECT_EQ(items("a,b,"), (list{"a", "b"}));
  EXPECT_EQ(items("a,,b"), (list{"a", "", "b"}));
}

TEST(joined, puts_the_words_between) {
  struct row {
    std::string_view name;
  };
  constexpr std::array<row, 3> rows{{{"a"}, {"b"}, {"c"}}};
  EXPECT_EQ(joined(rows, &row::name), "a, b, c");
  EXPECT_EQ(joined(
                rows, [](const row& r) { return std::string(r.name) + "!"; }, "; "),
            "a!; b!; c!");
  EXPECT_EQ(joined(std::vector<std::string>{}), "");
}

TEST(text_buffer, says_that_it_was_cut) {
  text_buffer<8, 4> b;
  EXPECT_EQ((b << "abc").end("\n", "..\n").view(), "abc\n");
  b.clear();
  EXPECT_EQ((b << "abcd").end("\n", "..\n").view(), "abcd\n");
  b.clear();
  EXPECT_EQ((b << "abcde").end("\n", "..\n").view(), "abcd..\n");
  b.clear();
  EXPECT_EQ(b.printable("a\nb\x7f").end("\n", "..\n").view(), "a?b?\n");
  b.clear();
  EXPECT_EQ(b.number(255, 16).view(), "ff");
}

TEST(shared_library, names_what_it_lacks) {
  const shared_library none("libno-such-thing.so.7");
  EXPECT_FALSE(none.is_open());
  EXPECT_NE(none.error().find("libno-such-thing.so.7"), std::string::npos);
  EXPECT_EQ(none.find("cos"), nullptr);

  const shared_library math("libm.so.6");
  ASSERT_TRUE(math.is_open()) << math.error();
  double (*cosine)(double) = nullptr;
  double (*other)(double) = nullptr;
  EXPECT_EQ(math.resolve({{"cos", cosine}}), nullptr);
  EXPECT_EQ(cosine(0), 1);
  EXPECT_STREQ(math.resolve({{"cos", cosine}, {"no_such_function", other}}), "no_such_function");
  EXPECT_EQ(other, nullptr);
}

}  // namespace
