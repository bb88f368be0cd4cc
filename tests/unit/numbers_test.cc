// SPDX-License-Identifier: Apache-2.0
// What an update does to numbers of each kind, at any address of the operands; and which lock a number has.
#include "libcore/pgas/numbers.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <limits>
#include <vector>

#include "libcore/pgas/updates.hpp"

namespace {

using namespace tobi::pgas;

template <class T>
constexpr number_kind kind = tobi::detail::kind_of<T>();

template <class T>
struct result {
  T now, old;
};
template <class T>
result<T> after(update_kind how, T value, T operand, T expected = T{}) {
  result<T> r{value, T{}};
  update what{how, kind<T>, 0, &r.old};
  std::memcpy(&what.expected, &expected, sizeof expected);
  what.apply(reinterpret_cast<std::byte*>(&r.now), reinterpret_cast<const std::byte*>(&operand), sizeof r.now);
  return r;
}

template <class T>
class number : public testing::Test {};
using kinds = testing::Types<std::int32_t, std::uint32_t, std::int64_t, std::uint64_t, float, double>;
TYPED_TEST_SUITE(number, kinds);

TYPED_TEST(number, changes_as_it_should) {
  using T = TypeParam;
  EXPECT_EQ(bytes_of(kind<T>), sizeof(T));
  const auto is = [](result<T> r, T now, T old) { return r.now == now && r.old == old; };
  EXPECT_TRUE(is(after<T>(update_kind::add, 40, 2), 42, 40));
  EXPECT_TRUE(is(after<T>(update_kind::min, 40, 2), 2, 40));
  EXPECT_TRUE(is(after<T>(update_kind::min, 2, 40), 2, 2));
  EXPECT_TRUE(is(after<T>(update_kind::max, 40, 2), 40, 40));
  EXPECT_TRUE(is(after<T>(update_kind::max, 2, 40), 40, 2));
  EXPECT_TRUE(is(after<T>(update_kind::compare_swap, 5, 9, 5), 9, 5));
  EXPECT_TRUE(is(after<T>(update_kind::compare_swap, 5, 9, 6), 5, 5));
}

TYPED_TEST(number, is_added_from_any_address) {
  using T = TypeParam;
  constexpr std::size_t n = 37;
  for (std::size_t shift = 0; shift < 8; ++shift) {
    std::vector<T> to(n + 1, T{1});
    std::vector<std::byte> from(n * sizeof(T) + shift);
    for (std::size_t i = 0; i < n; ++i) {
      const auto x = static_cast<T>(i);
      std::memcpy(from.data() + shift + i * sizeof x, &x, sizeof x);
    }
    update{update_kind::add, kind<T>}.apply(reinterpret_cast<std::byte*>(to.data()), from.data() + shift,
                                            n * sizeof(T));
    for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(to[i], static_cast<T>(i + 1));
    EXPECT_EQ(to[n], T{1});
  }
}

TEST(integers, wrap_around) {
  constexpr auto most = std::numeric_limits<std::int32_t>::max();
  EXPECT_EQ(after<std::int32_t>(update_kind::add, most, 1).now, std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ(after<std::uint32_t>(update_kind::add, 0, ~std::uint32_t{0}).now, ~std::uint32_t{0});
  EXPECT_EQ(after<std::int64_t>(update_kind::max, -1, -2).now, -1);
  EXPECT_EQ(after<std::uint64_t>(update_kind::max, ~std::uint64_t{0}, 1).now, ~std::uint64_t{0});
}

TEST(a_lock, is_one_for_a_lot_and_another_for_the_next) {
  constexpr std::uint64_t lot = update_locks::lot_bytes;
  EXPECT_EQ(update_locks::offset_of(0), update_locks::offset_of(lot - 1));
  std::array<bool, update_locks::count> taken{};
  for (std::uint64_t i = 0; i < update_locks::count; ++i) {
    const std::uint64_t at = update_locks::offset_of(i * lot);
    ASSERT_LE(at, sizeof(update_locks) - sizeof(update_locks::lock));
    ASSERT_EQ(at % sizeof(update_locks::lock), 0u);
    bool& mine = taken[at / sizeof(update_locks::lock)];
    EXPECT_FALSE(mine);
    mine = true;
  }
  EXPECT_EQ(update_locks::offset_of(update_locks::count * lot), update_locks::offset_of(0));
}

}  // namespace
