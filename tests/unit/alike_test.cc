// SPDX-License-Identifier: Apache-2.0
// What each rank has found on its machine, compared with rank 0's.
#include "libcore/job/alike.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace {

using tobi::job::alike;

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

alike example() {
  alike a;
  std::string_view("shm+ofi").copy(a.transport.data(), 15);
  std::string_view("provider tcp").copy(a.dialect.data(), 47);
  a.memory_at = 0x2000'0000'0000;
  a.stack_at = 0x2001'0000'0000;
  a.heap_bytes = 1u << 30;
  a.stack_bytes = 64u << 20;
  a.chain_max = 1;
  a.scope = tobi::transports::amo_scope::host;
  a.fetch_add = a.compare_swap = true;
  return a;
}
std::string found(const alike& theirs) { return difference(example(), theirs, "rank 0 on a", "rank 7 on c"); }

TEST(alike, equal_ranks_differ_in_nothing) { EXPECT_EQ(found(example()), ""); }

TEST(alike, every_difference_names_the_rank_and_both_values) {
  const auto expect = [](auto change, const std::string& theirs, const std::string& first) {
    alike a = example();
    change(a);
    const std::string what = found(a);
    EXPECT_TRUE(has(what, "rank 7 on c has " + theirs + ", and rank 0 on a has " + first + ": all ranks need the same"))
        << what;
  };
  expect([](alike& a) { a.transport = {'v', 'e', 'r', 'b', 's'}; }, "the transport verbs", "the transport shm+ofi");
  expect([](alike& a) { a.dialect = {'p', 's', 'm'}; }, "shm+ofi with psm", "shm+ofi with provider tcp");
  expect([](alike& a) { a.scope = tobi::transports::amo_scope::domain; },
         "atomics that are atomic among themselves only", "atomics that are atomic with the CPU's");
  expect([](alike& a) { a.compare_swap = false; }, "no atomics", "atomics that are atomic with the CPU's");
  expect([](alike& a) { a.passive_rma = true; },
         "a fabric that moves by itself and whose targets must poll for atomics",
         "a fabric that moves by itself and whose targets must poll");
  expect([](alike& a) { a.passive_rma = a.passive_amo = true; }, "a fabric that moves by itself",
         "a fabric that moves by itself and whose targets must poll");
  expect([](alike& a) { a.needs_progress = true; }, "a fabric that must be polled and whose targets must poll",
         "a fabric that moves by itself and whose targets must poll");
  expect([](alike& a) { a.chain_max = 16; }, "chains of 16 operations", "chains of 1 operations");
  expect([](alike& a) { a.heap_bytes = 1u << 29; }, "a heap region of 512M", "a heap region of 1G");
  expect([](alike& a) { a.heap_at_first = 1u << 27; }, "a heap region of 1G that grows from 128M",
         "a heap region of 1G");
  expect([](alike& a) { a.stack_bytes = 32u << 20; }, "a stack region of 32M", "a stack region of 64M");
  expect([](alike& a) { a.stack_at += 4096; }, "its heap at 0x200000000000 and its stack at 0x200100001000",
         "its heap at 0x200000000000 and its stack at 0x200100000000");
  expect([](alike& a) { a.memory_at += 4096; }, "its heap at 0x200000001000 and its stack at 0x200100000000",
         "its heap at 0x200000000000 and its stack at 0x200100000000");
}

TEST(alike, it_is_some_bytes_a_rank) { EXPECT_LE(sizeof(alike), 128u); }

}  // namespace
