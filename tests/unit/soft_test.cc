// SPDX-License-Identifier: Apache-2.0
// The software protocols: cells, mailboxes, the table of regions, and the server that executes other workers' atomics.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <numeric>

#include "tests/unit/boards_in_process.hpp"
#include "transports/soft/amo_server.hpp"
#include "transports/soft/mailbox.hpp"

namespace {

using namespace tobi::transports::soft;
using tobi::status;
using tobi::transports::op_kind;

// Sizes around the seven bytes that a word carries.
template <std::size_t Bytes>
struct blob {
  std::array<unsigned char, Bytes> byte;
  bool operator==(const blob&) const = default;
};
template <std::size_t Bytes>
blob<Bytes> pattern(unsigned first) {
  blob<Bytes> b;
  for (std::size_t i = 0; i < Bytes; ++i) b.byte[i] = static_cast<unsigned char>(first + 37 * i);
  return b;
}

template <class T>
class cells : public testing::Test {};
using sizes = testing::Types<blob<1>, blob<6>, blob<7>, blob<8>, blob<14>, blob<15>, blob<48>, blob<56>>;
TYPED_TEST_SUITE(cells, sizes);

TYPED_TEST(cells, every_turn_brings_what_was_packed_and_no_other_turn_does) {
  constexpr std::size_t bytes = sizeof(TypeParam);
  for (unsigned turn = 1; turn <= 255; ++turn) {
    const auto sent = pattern<bytes>(turn);
    auto c = cell<TypeParam>::pack(sent, static_cast<std::uint8_t>(turn));
    for (unsigned asked = 0; asked <= 255; ++asked) {
      TypeParam got = pattern<bytes>(turn + 1);
      ASSERT_EQ(c.unpack(static_cast<std::uint8_t>(asked), got), asked == turn);
      ASSERT_EQ(got, asked == turn ? sent : pattern<bytes>(turn + 1)) << "a refusal leaves the message alone";
    }
  }
}

TYPED_TEST(cells, a_message_of_which_any_word_is_missing_has_not_arrived) {
  constexpr std::size_t bytes = sizeof(TypeParam);
  for (unsigned turn = 1; turn <= 255; ++turn) {
    const auto before = static_cast<std::uint8_t>(turn == 1 ? 255 : turn - 1);
    const auto old = cell<TypeParam>::pack(pattern<bytes>(3), before);
    const auto fresh = cell<TypeParam>::pack(pattern<bytes>(9), static_cast<std::uint8_t>(turn));
    for (std::size_t missing = 0; missing < cell<TypeParam>::words; ++missing) {
      auto c = fresh;
      TypeParam got{};
      c.word[missing] = old.word[missing];
      ASSERT_FALSE(c.unpack(static_cast<std::uint8_t>(turn), got)) << "word " << missing << " is of the turn before";
      c.word[missing] = 0;
      ASSERT_FALSE(c.unpack(static_cast<std::uint8_t>(turn), got)) << "word " << missing << " was never written";
      c.word[missing] = fresh.word[missing];
      ASSERT_TRUE(c.unpack(static_cast<std::uint8_t>(turn), got));
      ASSERT_EQ(got, pattern<bytes>(9));
    }
  }
}

TEST(cells_turn, is_never_zero_and_changes_with_every_lap_of_the_ring) {
  for (const std::uint64_t slots : {1u, 8u, 16u}) {
    for (std::uint64_t i = 0; i < 600 * slots; ++i) {
      ASSERT_NE(turn_of(i, slots), 0);
      ASSERT_NE(turn_of(i, slots), turn_of(i + slots, slots));
      ASSERT_EQ(turn_of(i, slots), turn_of(i / slots * slots, slots)) << "one lap, one turn";
    }
  }
}

// --- mailboxes -----------------------------------------------------------------------------------------------------

class mailboxes : public boards {
 protected:
  using box = mailbox<std::uint64_t>;
  std::vector<std::unique_ptr<box>> box_;

  void SetUp() override {
    constexpr std::size_t before = 24;  // it need not begin where the board does
    make_boards(before + box::bytes(3));
    for (int r = 0; r < 3; ++r) box_.push_back(std::make_unique<box>(*board_[index(r)], before, r, 3));
  }
  void move() {
    for (int r = 0; r < 3; ++r) {
      boards::move(r, [&](const tobi::transports::notice& n) {
        ASSERT_EQ(n.data, static_cast<std::uint64_t>(announced::message));
        box_[index(r)]->look(n.rank);
      });
    }
  }
  // Until the receiver has its next message, or has had every chance to.
  status receive(int rank, int& from, std::uint64_t& m) {
    for (int tries = 0; tries < 20'000; ++tries) {
      move();
      if (box_[index(rank)]->receive(from, m) == status::ok) return status::ok;
    }
    return status::again;
  }
  status send(int from, int to, std::uint64_t m) {
    status s = status::again;
    for (int tries = 0; tries < 2'000 && s == status::again; ++tries) {
      s = box_[index(from)]->send(to, m);
      move();
    }
    return s;
  }
};

TEST_P(mailboxes, messages_of_a_sender_come_in_order_and_once_over_many_laps) {
  constexpr std::uint64_t count = 16 * 255 * 2 + 5;  // every turn more than once
  std::uint64_t sent[2] = {};
  std::uint64_t got[3] = {};
  while (got[0] < count || got[1] < count) {
    for (int s = 0; s < 2; ++s) {
      // Bursts of all lengths.
      for (std::uint64_t n = sent[s] % 19; sent[s] < count && n > 0; --n) {
        if (box_[index(s)]->send(2, sent[s] << 1 | static_cast<std::uint64_t>(s)) != status::ok) break;
        ++sent[s];
      }
      if (sent[s] < count && sent[s] % 19 == 0 &&
          send(s, 2, sent[s] << 1 | static_cast<std::uint64_t>(s)) == status::ok) {
        ++sent[s];
      }
    }
    int from = -1;
    std::uint64_t m = 0;
    for (int reads = 0; reads < 40; ++reads) {
      move();
      if (box_[2]->receive(from, m) != status::ok) continue;
      ASSERT_TRUE(from == 0 || from == 1);
      ASSERT_EQ(m, got[from] << 1 | static_cast<std::uint64_t>(from));
      ++got[from];
    }
  }
  int from = -1;
  std::uint64_t m = 0;
  for (int tries = 0; tries < 2'000; ++tries) {
    move();
    ASSERT_EQ(box_[2]->receive(from, m), status::again) << "nothing comes twice";
  }
}

TEST_P(mailboxes, a_ring_that_nobody_reads_refuses_and_loses_nothing) {
  for (std::uint64_t i = 0; i < box::slots; ++i) ASSERT_EQ(send(0, 1, i), status::ok);
  for (int tries = 0; tries < 2'000; ++tries) {
    ASSERT_EQ(box_[0]->send(1, 99), status::again);
    move();
  }
  ASSERT_EQ(send(2, 1, 7), status::ok) << "the ring of another sender is another ring";
  // Credit comes back for half a ring at once, not before.
  int from = -1;
  std::uint64_t m = 0;
  std::uint64_t next = 0;
  bool other = false;
  while (next < box::slots || !other) {
    ASSERT_EQ(receive(1, from, m), status::ok);
    if (from == 2) {
      ASSERT_EQ(m, 7u);
      other = true;
      continue;
    }
    ASSERT_EQ(from, 0);
    ASSERT_EQ(m, next++);
    if (next < box::slots / 2) {
      ASSERT_EQ(box_[0]->send(1, 99), status::again);
    }
  }
  // The two counts of what was read may have landed in the wrong order; who finds nothing puts that right.
  for (int tries = 0; tries < 2'000; ++tries) {
    ASSERT_EQ(box_[1]->receive(from, m), status::again);
    move();
  }
  for (std::uint64_t i = 0; i < box::slots; ++i) ASSERT_EQ(send(0, 1, 1000 + i), status::ok) << i;
  for (std::uint64_t i = 0; i < box::slots; ++i) {
    ASSERT_EQ(receive(1, from, m), status::ok);
    ASSERT_EQ(m, 1000 + i);
  }
}

TEST_P(mailboxes, one_that_is_flooded_still_reads_the_others) {
  for (std::uint64_t i = 0; i < 10; ++i) ASSERT_EQ(send(0, 2, i), status::ok);
  ASSERT_EQ(send(1, 2, 77), status::ok);
  for (int i = 0; i < 20'000; ++i) move();
  int from = -1;
  std::uint64_t m = 0;
  int before = 0;
  do {
    ASSERT_EQ(receive(2, from, m), status::ok);
    ++before;
  } while (from != 1);
  EXPECT_LE(before, 2);
}

INSTANTIATE_TEST_SUITE_P(over, mailboxes,
                         testing::Values(over{"shm", "", false}, over{"sim", "", false}, over{"sim", "manual", false},
                                         over{"sim", "depth1", false}, over{"sim", "", true},
                                         over{"sim", "manual", true}, over{"sim", "depth1", true}),
                         name_of);

TEST(mailbox, a_worker_may_write_to_itself) {
  fabric_in_process fabric("self", "", 1);
  key_list keys(1);
  board own(fabric.of(0), mailbox<std::uint32_t>::bytes(1), keys, 1);
  keys.set(0, own.key());
  mailbox<std::uint32_t> box(own, 0, 0, 1);
  int from = -1;
  std::uint32_t m = 0;
  for (std::uint32_t i = 0; i < 5000; ++i) {
    ASSERT_EQ(box.receive(from, m), status::again);
    ASSERT_EQ(box.send(0, i), status::ok);
    ASSERT_EQ(box.receive(from, m), status::ok);
    ASSERT_EQ(from, 0);
    ASSERT_EQ(m, i);
  }
}

// --- the table of regions --------------------------------------------------------------------------------------------

TEST(region_table, finds_aligned_words_inside_a_region_and_nothing_else) {
  alignas(8) std::array<std::byte, 64> memory{};
  region_table table;
  const int n = table.add(memory.data(), memory.size());
  ASSERT_EQ(n, 0);
  for (std::uint64_t offset = 0; offset < 200; ++offset) {
    std::uint64_t* found = table.word(0, offset);
    if (offset % 8 == 0 && offset + 8 <= memory.size()) {
      ASSERT_EQ(reinterpret_cast<std::byte*>(found), memory.data() + offset);
    } else {
      ASSERT_EQ(found, nullptr) << offset;
    }
  }
  // Offsets whose end wraps around.
  for (std::uint64_t back = 1; back <= 64; ++back) ASSERT_EQ(table.word(0, std::uint64_t{0} - back), nullptr);
  for (const std::size_t number : {std::size_t{1}, std::size_t{255}, std::size_t{256}, ~std::size_t{0}}) {
    ASSERT_EQ(table.word(number, 0), nullptr);
  }
}

TEST(region_table, a_region_smaller_than_a_word_has_none) {
  alignas(8) std::array<std::byte, 8> memory{};
  region_table table;
  const int n = table.add(memory.data(), 7);
  EXPECT_EQ(table.word(static_cast<std::size_t>(n), 0), nullptr);
}

TEST(region_table, forgets_what_is_removed_and_says_when_it_is_full) {
  alignas(8) std::array<std::byte, 16> memory{};
  region_table table;
  int last = 0;
  for (int i = 0; i < 256; ++i) ASSERT_EQ(last = table.add(memory.data(), memory.size()), i);
  EXPECT_EQ(table.add(memory.data(), memory.size()), -1);
  EXPECT_NE(table.word(static_cast<std::size_t>(last), 8), nullptr);
  table.remove(static_cast<std::size_t>(last));
  EXPECT_EQ(table.word(static_cast<std::size_t>(last), 8), nullptr);
  EXPECT_NE(table.word(0, 8), nullptr);
  table.remove(999);  // no such region: nothing happens
}

// --- the server
// --------------------------------------------------------------------------------------------------------

// One worker that is client and server, with the wire in the hands of the test.
class server : public testing::Test {
 protected:
  fabric_in_process fabric_{"self", "", 1};
  region_table table_;
  alignas(8) std::array<std::uint64_t, 4> memory_{10, 20, 30, 40};
  served_memory served_{0, table_};
  key_list keys_{1};
  board board_{fabric_.of(0), reply_bytes_per_peer + request_bytes_per_peer, keys_, 1};
  const amo_places places_{reply_bytes_per_peer, 0};
  amo_server server_{board_, places_, 0, 1, served_};
  std::uint64_t asked_ = 0;

  void SetUp() override {
    ASSERT_EQ(table_.add(reinterpret_cast<std::byte*>(memory_.data()), sizeof memory_), 0);
    keys_.set(0, board_.key());
  }
  void put(const amo_request& r) {
    const auto packed = request_cell::pack(r, turn_of(asked_, amo_slots));
    ASSERT_EQ(board_.write(0, places_.request(0, asked_), &packed, sizeof packed, announced::request), status::ok);
    ++asked_;
  }
  bool reply(std::uint64_t index, std::uint64_t& value) {
    return reinterpret_cast<reply_cell*>(board_.at(places_.reply(0, index)))->unpack(turn_of(index, amo_slots), value);
  }
  std::uint64_t ask(const amo_request& r) {
    put(r);
    EXPECT_TRUE(server_.serve());
    std::uint64_t value = 0;
    EXPECT_TRUE(reply(asked_ - 1, value)) << "every request is answered";
    return value;
  }
  static amo_request request(op_kind kind, std::uint64_t offset, std::uint64_t operand, std::uint64_t expected = 0,
                             std::uint16_t region = 0, std::uint32_t target = 0) {
    return {offset, operand, expected, target, region, static_cast<std::uint16_t>(kind)};
  }
};

TEST_F(server, executes_and_answers_what_it_found) {
  EXPECT_FALSE(server_.serve()) << "nothing was asked";
  EXPECT_EQ(ask(request(op_kind::fetch_add, 8, 5)), 20u);
  EXPECT_EQ(ask(request(op_kind::fetch_add, 8, ~std::uint64_t{0})), 25u);
  EXPECT_EQ(ask(request(op_kind::compare_swap, 16, 99, 31)), 30u) << "refused";
  EXPECT_EQ(ask(request(op_kind::compare_swap, 16, 99, 30)), 30u) << "done";
  EXPECT_EQ(memory_, (std::array<std::uint64_t, 4>{10, 24, 99, 40}));
  EXPECT_FALSE(server_.serve()) << "nothing is executed twice";
}

TEST_F(server, a_full_ring_is_served_in_order) {
  for (int lap = 0; lap < 300; ++lap) {  // past every turn
    for (std::uint64_t i = 0; i < amo_slots; ++i) put(request(op_kind::fetch_add, 0, 1));
    ASSERT_TRUE(server_.serve());
    for (std::uint64_t i = 0; i < amo_slots; ++i) {
      const std::uint64_t index = asked_ - amo_slots + i;
      std::uint64_t value = 0;
      ASSERT_TRUE(reply(index, value));
      ASSERT_EQ(value, 10 + index);
    }
  }
}

TEST_F(server, bad_requests_change_nothing_and_are_answered) {
  const auto before = memory_;
  EXPECT_EQ(ask(request(op_kind::fetch_add, sizeof memory_, 1)), 0u) << "behind the region";
  EXPECT_EQ(ask(request(op_kind::fetch_add, ~std::uint64_t{0} - 7, 1)), 0u) << "before it";
  EXPECT_EQ(ask(request(op_kind::fetch_add, 4, 1)), 0u) << "misaligned";
  EXPECT_EQ(ask(request(op_kind::fetch_add, 0, 1, 0, 1)), 0u) << "no such region";
  EXPECT_EQ(ask(request(op_kind::compare_swap, 0, 1, 10, 0xffff)), 0u) << "no region has such a number";
  EXPECT_EQ(ask(request(op_kind::put, 0, 10, 10)), 0u) << "not an atomic";
  EXPECT_EQ(ask({0, 10, 10, 0, 0, 77}), 0u) << "no operation at all";
  EXPECT_EQ(ask(request(op_kind::fetch_add, 0, 1, 0, 0, 1)), 0u) << "memory of a rank that is not served here";
  EXPECT_EQ(ask(request(op_kind::fetch_add, 0, 1, 0, 0, ~0u)), 0u) << "of a rank that there is not";
  table_.remove(0);
  EXPECT_EQ(ask(request(op_kind::fetch_add, 0, 1)), 0u) << "a region that is gone";
  EXPECT_EQ(memory_, before);
}

}  // namespace
