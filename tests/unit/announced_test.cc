// SPDX-License-Identifier: Apache-2.0
// Cells that are announced: no request is lost whatever overtakes what, and
// nobody looks where nobody has written.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "tests/unit/boards_in_process.hpp"
#include "transports/soft/amo_client.hpp"
#include "transports/soft/amo_server.hpp"

namespace {

using namespace tobi::transports::soft;
using tobi::status;
using tobi::transports::op_kind;

// --- clients and a server
// ----------------------------------------------------------------------------------------------

// Worker 0 serves the other two, over a fabric whose puts overtake each other.
class atomics_by_messages : public boards {
 protected:
  const amo_places places_{3 * reply_bytes_per_peer, 0};
  region_table table_;
  std::array<std::uint64_t, 2> memory_{};
  served_memory served_{0, table_};
  std::unique_ptr<amo_server> server_;
  std::vector<std::unique_ptr<amo_client>> client_;

  void SetUp() override {
    make_boards(3 * (reply_bytes_per_peer + request_bytes_per_peer));
    ASSERT_EQ(table_.add(reinterpret_cast<std::byte*>(memory_.data()), sizeof memory_), 0);
    server_ = std::make_unique<amo_server>(*board_[0], places_, 0, 3, served_);
    for (int r = 0; r < 3; ++r) client_.push_back(std::make_unique<amo_client>(*board_[index(r)], places_, r, 3));
  }
  void move() {
    boards::move(0, [&](const tobi::transports::notice& n) {
      ASSERT_EQ(n.data, static_cast<std::uint64_t>(announced::request));
      server_->look(n.rank);
    });
    server_->serve();
    for (int r = 1; r < 3; ++r) {
      boards::move(r, [](const tobi::transports::notice&) { FAIL() << "a client was announced somebody"; });
      client_[index(r)]->take_replies();
    }
  }
};

TEST_P(atomics_by_messages, no_request_is_lost_or_done_twice_whatever_overtakes_what) {
  constexpr std::uint64_t count = 8 * 255 + 100;  // past every turn
  std::uint64_t asked[3] = {};
  std::vector<std::uint64_t> found[3];
  for (auto& f : found) f.assign(count, ~std::uint64_t{0});
  for (std::uint64_t moves = 0; !client_[1]->answered(0, count) || !client_[2]->answered(0, count); ++moves) {
    ASSERT_LT(moves, 2'000'000u) << "a request was lost: " << asked[1] << " and " << asked[2] << " were sent";
    for (int r = 1; r < 3; ++r) {
      // As many at once as there is room for, or one and its answer.
      for (std::uint64_t burst = 1 + moves % 11; burst > 0 && asked[r] < count; --burst) {
        const amo_request one{8, 1, 0, 0, 0, static_cast<std::uint16_t>(op_kind::fetch_add)};
        if (client_[index(r)]->ask(0, 0, one, &found[r][asked[r]]) != status::ok) break;
        ++asked[r];
      }
    }
    move();
  }
  EXPECT_EQ(memory_[1], 2 * count);
  std::vector<bool> seen(2 * count);
  for (int r = 1; r < 3; ++r) {
    for (std::uint64_t i = 0; i < count; ++i) {
      ASSERT_LT(found[r][i], 2 * count);
      EXPECT_FALSE(seen[found[r][i]]) << "two of them found the same";
      seen[found[r][i]] = true;
      if (i > 0) {
        EXPECT_GT(found[r][i], found[r][i - 1]) << "a client's are executed in its order";
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(over, atomics_by_messages,
                         testing::Values(over{"sim", "", false}, over{"sim", "", true}, over{"sim", "seed=7", true},
                                         over{"sim", "manual", true}, over{"sim", "depth1", true},
                                         over{"sim", "delay=40,clog=20", true}),
                         [](const auto& tested) {
                           std::string name = name_of(tested);
                           for (char& c : name) c = c == '=' || c == ',' ? '_' : c;
                           return name;
                         });

// What is not announced is not looked at: pages of a board exist when they were
// touched.
TEST(announced_requests, a_server_of_many_looks_at_those_who_have_written) {
  constexpr int many = 20'000;
  fabric_in_process fabric("sim", "", 2);
  key_list keys(2);
  const amo_places places{many * reply_bytes_per_peer, 0};
  const std::size_t bytes = many * (reply_bytes_per_peer + request_bytes_per_peer);
  board here(fabric.of(0), bytes, keys, 2);
  board there(fabric.of(1), bytes, keys, 2);
  here.announce(true);
  there.announce(true);
  keys.set(0, here.key());
  keys.set(1, there.key());
  region_table table;
  std::uint64_t word = 0;
  ASSERT_EQ(table.add(reinterpret_cast<std::byte*>(&word), sizeof word), 0);
  served_memory served(0, table);
  amo_server server(here, places, 0, many, served);
  amo_client client(there, places, 1, many);
  std::uint64_t found = 0;
  for (std::uint64_t i = 0; i < 100; ++i) {
    const amo_request one{0, 1, 0, 0, 0, static_cast<std::uint16_t>(op_kind::fetch_add)};
    while (client.ask(0, 0, one, &found) != status::ok) fabric.move();
    while (!client.answered(0, i + 1)) {
      for (tobi::transports::notice n; fabric.of(0).poll_notice(n) == status::ok;) server.look(n.rank);
      server.serve();
      fabric.of(1).progress();
      client.take_replies();
    }
    ASSERT_EQ(found, i);
  }
  std::vector<unsigned char> present(bytes / 4096);
  ASSERT_EQ(mincore(here.at(0), bytes / 4096 * 4096, present.data()), 0);
  EXPECT_LE(std::count_if(present.begin(), present.end(), [](unsigned char c) { return (c & 1) != 0; }), 4);
}

// --- small tables
// --------------------------------------------------------------------------------------------------------

TEST(key_list, keeps_keys_of_several_lengths_apart) {
  key_list keys(4);
  std::array<tobi::transports::region_key, 4> all{};
  constexpr std::array<std::size_t, 4> used{3, 40, 17, 128};
  for (std::size_t r = 0; r < 4; ++r) {
    for (std::size_t i = 0; i < used[r]; ++i) all[r].bytes[i] = static_cast<std::byte>(1 + r + i);
    keys.set(r, all[r]);
    for (std::size_t before = 0; before <= r; ++before) EXPECT_EQ(keys.of(before).bytes, all[before].bytes) << before;
  }
  EXPECT_EQ(key_list::used(all[0]), 8u);
  EXPECT_EQ(key_list::used(all[1]), 40u);
  EXPECT_EQ(key_list::used({}), 0u);
  keys.set(3, all[0]);
  EXPECT_EQ(keys.of(3).bytes, all[0].bytes) << "nothing is left of a longer one";
}

}  // namespace
