// SPDX-License-Identifier: Apache-2.0
// What the processes of a launcher compare and share out before they are one job.
#include "bootstrap/clients.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include "bootstrap/signed_code.hpp"
#include "libcore/base/plain_text.hpp"

namespace {

using tobi::bootstrap::client_card;
using tobi::bootstrap::difference;
using tobi::bootstrap::layout;
using tobi::bootstrap::plan;
using tobi::bootstrap::spread_workers;

layout example() {
  layout l;
  l.objects = {
      {"app", "aa11", 0x555555554000}, {"libc.so.6", "bb22", 0x7ffff7a00000}, {"libm.so.6", "", 0x7ffff7900000}};
  l.thread_pointer = 0x7ffff7000740;
  l.page_bytes = 4096;
  return l;
}
std::string compared(const layout& theirs) { return difference(example(), theirs, "rank 0 on a", "rank 1 on b"); }
bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(layout, equal_ones_have_no_difference) { EXPECT_EQ(compared(example()), ""); }

TEST(layout, another_build_is_named_with_both_ranks) {
  layout theirs = example();
  theirs.objects[0].build_id = "cc33";
  const std::string said = compared(theirs);
  EXPECT_TRUE(has(said, "rank 1 on b runs another program than rank 0 on a")) << said;
  EXPECT_TRUE(has(said, "aa11") && has(said, "cc33")) << said;
}

TEST(layout, the_same_build_under_another_name_is_the_same_program) {
  layout theirs = example();
  theirs.objects[0].name = "copy-of-app";
  EXPECT_EQ(compared(theirs), "");
}

TEST(layout, programs_without_build_ids_are_told_apart_by_name) {
  layout mine = example();
  layout theirs = example();
  mine.objects[0].build_id = theirs.objects[0].build_id = "";
  EXPECT_EQ(difference(mine, theirs, "m", "t"), "");
  theirs.objects[0].name = "other";
  EXPECT_TRUE(has(difference(mine, theirs, "m", "t"), "another program"));
}

TEST(layout, a_library_at_another_address_is_named_with_both) {
  layout theirs = example();
  theirs.objects[1].address += 4096;
  const std::string said = compared(theirs);
  EXPECT_TRUE(has(said, "libc.so.6 is at address 0x7ffff7a00000 in rank 0 on a and at 0x7ffff7a01000 in rank 1 on b"))
      << said;
}

TEST(layout, another_version_of_a_library_is_named) {
  layout theirs = example();
  theirs.objects[1].build_id = "dd44";
  EXPECT_TRUE(has(compared(theirs), "libc.so.6 differs"));
}

TEST(layout, a_library_that_only_one_has_is_named) {
  layout theirs = example();
  theirs.objects.push_back({"libextra.so", "ee55", 1});
  EXPECT_TRUE(has(compared(theirs), "rank 1 on b has loaded libextra.so and rank 0 on a has not"));
  theirs = example();
  theirs.objects.pop_back();
  EXPECT_TRUE(has(compared(theirs), "rank 0 on a has loaded libm.so.6 and rank 1 on b has not"));
}

TEST(layout, thread_pointer_and_pages_are_compared) {
  layout theirs = example();
  theirs.thread_pointer += 64;
  EXPECT_TRUE(has(compared(theirs), "thread-local data"));
  theirs = example();
  theirs.page_bytes = 65536;
  EXPECT_TRUE(has(compared(theirs), "pages have 4096 bytes"));
}

TEST(layout, that_of_this_process_survives_the_way_as_text) {
  const layout mine = tobi::bootstrap::own_layout();
  ASSERT_GE(mine.objects.size(), 2u);
  EXPECT_EQ(mine.objects[0].name, "clients_test");
  for (const layout::object& o : mine.objects) EXPECT_FALSE(has(o.name, "vdso"));
  const layout back = layout::from_text(mine.to_text());
  EXPECT_EQ(back.objects, mine.objects);
  EXPECT_EQ(difference(mine, back, "m", "t"), "");
}

TEST(layout, text_that_is_none_is_like_nobody) { EXPECT_NE(compared(layout::from_text("garbage")), ""); }

std::vector<client_card> on_nodes(const std::vector<std::string>& nodes, int wanted, int cores) {
  std::vector<client_card> cards;
  for (const std::string& n : nodes) {
    client_card c;
    c.host = {n, n + " boot", ""};
    c.wanted = wanted;
    c.cores = cores;
    cards.push_back(c);
  }
  return cards;
}

TEST(spread_workers, a_client_a_core_is_a_worker_each) {
  std::string wrong;
  const plan p = spread_workers(on_nodes({"a", "a", "b", "b"}, 0, 2), 1, wrong);
  EXPECT_EQ(wrong, "");
  EXPECT_EQ(p.first, (std::vector<int>{0, 1, 2, 3, 4}));
  EXPECT_EQ(p.node, (std::vector<int>{0, 0, 1, 1}));
  EXPECT_EQ(p.client_of(3), 3);
}

TEST(node_page, is_the_one_that_was_offered_and_no_other_file_at_its_place) {
  using namespace tobi::bootstrap;
  constexpr int clients = 3;
  const page_offer offered = offer_node_page(clients);
  ASSERT_GE(offered.fd, 0);
  node_page* page = map_node_page(offered, clients);
  ASSERT_NE(page, nullptr);
  page->finished[2].store(1);
  EXPECT_EQ(map_node_page(offered, clients)->finished[2].load(), 1);
  EXPECT_EQ(map_node_page(offered, 1000), nullptr) << "of another size";
  // The process that offered has ended, and what has its id now has another file under the same number.
  const page_offer later = offer_node_page(clients);
  ASSERT_EQ(dup2(later.fd, offered.fd), offered.fd);
  EXPECT_EQ(map_node_page(offered, clients), nullptr);
  close(offered.fd);
  close(later.fd);
  EXPECT_EQ(map_node_page(offered, clients), nullptr);
}

using tobi::bootstrap::host_card;
using tobi::bootstrap::names_of_hosts;
using names = std::vector<std::string>;

TEST(names_of_hosts, is_the_kernel_s_where_it_is_unique) {
  EXPECT_EQ(names_of_hosts({{"a", "a 1", " 10.0.0.1"}, {"b", "b 1", " 10.0.0.1"}, {"a", "a 1", " 10.0.0.1"}}),
            (names{"a", "b", "a"}));
}

TEST(names_of_hosts, has_an_address_where_two_nodes_have_one_name) {
  const host_card first{"localhost", "localhost 1", " 172.17.0.1 10.0.0.1"};
  const host_card second{"localhost", "localhost 2", " 172.17.0.1 10.0.0.2"};
  EXPECT_EQ(names_of_hosts({first, first, second, {"b", "b 1", " 10.0.0.3"}}),
            (names{"localhost@10.0.0.1", "localhost@10.0.0.1", "localhost@10.0.0.2", "b"}));
}

TEST(names_of_hosts, has_a_number_where_no_address_tells_them_apart) {
  EXPECT_EQ(names_of_hosts({{"b", "b 1", ""}, {"a", "a 1", " 10.0.0.1"}, {"a", "a 2", " 10.0.0.1"}, {"a", "a 3", ""}}),
            (names{"b", "a@node1", "a@node2", "a@node3"}));
}

TEST(names_of_hosts, are_what_a_plan_and_its_objections_say) {
  std::string wrong;
  std::vector<client_card> cards = on_nodes({"a", "a", "b"}, 0, 2);
  cards[1].host = {"a", "a later boot", " 10.0.0.2"};
  EXPECT_EQ(spread_workers(cards, 0, wrong).hosts[1], "a@10.0.0.2");
  EXPECT_EQ(spread_workers(cards, 0, wrong).hosts[0], "a@node0");
  cards.push_back(cards[1]);
  cards[1].wanted = 3;
  (void)spread_workers(cards, 0, wrong);
  EXPECT_NE(wrong.find("3 workers on a@10.0.0.2 cannot be shared"), std::string::npos) << wrong;
}

TEST(spread_workers, a_client_a_node_has_all_its_cores) {
  std::string wrong;
  std::vector<client_card> cards = on_nodes({"a", "b"}, 0, 4);
  cards[1].cores = 8;
  const plan p = spread_workers(cards, 0, wrong);
  EXPECT_EQ(p.first, (std::vector<int>{0, 4, 12}));
  EXPECT_EQ(p.workers(1), 8);
  EXPECT_EQ(p.client_of(3), 0);
  EXPECT_EQ(p.client_of(4), 1);
  EXPECT_EQ(p.client_of(11), 1);
}

TEST(spread_workers, a_number_is_for_the_node_and_is_shared_equally) {
  std::string wrong;
  const plan p = spread_workers(on_nodes({"a", "b", "a", "b"}, 6, 2), 0, wrong);
  EXPECT_EQ(wrong, "");
  EXPECT_EQ(p.first, (std::vector<int>{0, 3, 6, 9, 12}));
  EXPECT_EQ(p.node, (std::vector<int>{0, 1, 0, 1}));
}

TEST(spread_workers, one_per_client_is_that_whatever_their_number_on_a_node) {
  std::string wrong;
  const plan p = spread_workers(on_nodes({"a", "b", "b"}, tobi::bootstrap::one_per_client, 8), 0, wrong);
  EXPECT_EQ(wrong, "");
  EXPECT_EQ(p.first, (std::vector<int>{0, 1, 2, 3}));
}

TEST(spread_workers, one_per_client_and_a_number_on_a_node_are_named) {
  std::string wrong;
  std::vector<client_card> cards = on_nodes({"a", "a"}, tobi::bootstrap::one_per_client, 8);
  cards[1].wanted = 2;
  (void)spread_workers(cards, 0, wrong);
  EXPECT_TRUE(has(wrong, "process 1 on a asks for 2 workers there and process 0 for one worker per process;")) << wrong;
}

TEST(spread_workers, client_0_s_number_is_for_nodes_that_say_none) {
  std::string wrong;
  std::vector<client_card> cards = on_nodes({"a", "b", "b", "c"}, 0, 8);
  cards[0].wanted = 4;
  cards[3].wanted = 6;
  const plan p = spread_workers(cards, 0, wrong);
  EXPECT_EQ(wrong, "");
  EXPECT_EQ(p.first, (std::vector<int>{0, 4, 6, 8, 14}));
}

TEST(spread_workers, a_number_that_one_client_of_a_node_says_is_for_all_of_them) {
  std::string wrong;
  std::vector<client_card> cards = on_nodes({"a", "b", "b"}, 0, 8);
  cards[2].wanted = 6;
  const plan p = spread_workers(cards, 0, wrong);
  EXPECT_EQ(wrong, "");
  EXPECT_EQ(p.first, (std::vector<int>{0, 8, 11, 14}));
}

TEST(spread_workers, clients_of_a_node_that_say_different_numbers_are_named) {
  std::string wrong;
  std::vector<client_card> cards = on_nodes({"a", "b", "b"}, 4, 8);
  cards[2].wanted = 6;
  (void)spread_workers(cards, 0, wrong);
  EXPECT_TRUE(has(wrong, "process 2 on b asks for 6 workers there and process 1 for 4 workers; set TOBI_WORKERS alike"))
      << wrong;
}

TEST(spread_workers, a_number_that_cannot_be_shared_is_an_error_that_says_so) {
  std::string wrong;
  (void)spread_workers(on_nodes({"a", "a"}, 5, 2), 0, wrong);
  EXPECT_TRUE(has(wrong, "5 workers on a cannot be shared equally by the 2 processes")) << wrong;
  (void)spread_workers(on_nodes({"a", "a"}, 1, 2), 0, wrong);
  EXPECT_NE(wrong, "");
}

TEST(plan, travels_as_a_line_for_clients_that_are_alike) {
  std::string wrong;
  std::vector<client_card> cards = on_nodes({"a", "a", "b", "c", "c", "c", "b"}, 6, 2);
  for (client_card& c : cards) c.wanted = c.host.name == "b" ? 4 : 6;
  const plan p = spread_workers(cards, 0, wrong);
  ASSERT_EQ(wrong, "");
  const std::string text = to_text(p);
  EXPECT_EQ(text, "0 2 3 a\n1 1 2 b\n2 3 2 c\n1 1 2 b\n");
  const plan back = tobi::bootstrap::plan_from(text, 4, p.clients());
  EXPECT_EQ(back.self, 4);
  EXPECT_EQ(back.first, p.first);
  EXPECT_EQ(back.node, p.node);
  EXPECT_EQ(back.hosts, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(back.host(6), "b");
}

// The processor's bit, and code that says that it signs; tests/aarch64/signed.sh has both.
TEST(plan, that_is_none_has_no_clients) {
  using tobi::bootstrap::plan_from;
  EXPECT_EQ(plan_from("0 2 3 a\n", 0, 2).clients(), 2);
  // Too many, none, of a node that there is not, without workers, more workers than can be counted.
  for (const char* text :
       {"0 3 3 a\n", "0 0 3 a\n", "1 2 3 a\n", "0 2 0 a\n", "0 2 2000000000 a\n", "0 -1 3 a\n", "", "a"}) {
    EXPECT_EQ(plan_from(text, 0, 2).clients(), 0) << text;
  }
}

TEST(cards, of_another_version_or_cut_off_are_none) {
  const client_card mine = on_nodes({"a"}, 4, 2).front();
  const std::string text = to_text(mine);
  const auto read = [](const std::string& from) {
    tobi::base::text_in in(from);
    client_card c;
    return read_card(in, c);
  };
  EXPECT_TRUE(read(text));
  EXPECT_FALSE(read("tobiuo2" + text.substr(7)));
  for (std::size_t n = 0; n < text.size(); ++n) EXPECT_FALSE(read(text.substr(0, n))) << n;
  client_card wrong = mine;
  wrong.cores = -1;
  EXPECT_FALSE(read(to_text(wrong)));
}

TEST(news, that_is_cut_off_is_none) {
  tobi::bootstrap::news n;
  n.good = true;
  n.spread = "0 1 1 a\n";
  n.settings = "TOBI_STATS=1";
  const std::string text = to_text(n);
  tobi::bootstrap::news back;
  ASSERT_TRUE(read_news(text, back));
  EXPECT_EQ(back.spread, n.spread);
  EXPECT_EQ(back.settings, n.settings);
  const std::size_t plan_ends = text.size() - n.settings.size();
  for (std::size_t cut = 0; cut < plan_ends; ++cut) EXPECT_FALSE(read_news(text.substr(0, cut), back)) << cut;
  EXPECT_FALSE(read_news("1 2 3 4\n" + text, back));
}

TEST(signed_code, is_refused_between_processes_of_a_launcher_alone) {
  using tobi::bootstrap::why_signed_code_cannot_move;
  EXPECT_EQ(why_signed_code_cannot_move(1, true, "rank 0 on a"), "");
  EXPECT_EQ(why_signed_code_cannot_move(4, false, "rank 0 on a"), "");
  const std::string said = why_signed_code_cannot_move(4, true, "rank 2 on b");
  EXPECT_TRUE(has(said, "rank 2 on b") && has(said, "4 processes") && has(said, "-mbranch-protection=none")) << said;
  EXPECT_FALSE(tobi::bootstrap::signs_returns(1ul << 30));  // nothing here was compiled so
  tobi_signed_code();
  EXPECT_TRUE(tobi::bootstrap::signs_returns(1ul << 30));
  EXPECT_FALSE(tobi::bootstrap::signs_returns(0));
}

}  // namespace
