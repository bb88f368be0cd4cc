// SPDX-License-Identifier: Apache-2.0
// lane: beside, 18 s
// The hosts of a job watch each other: doors that let one host in and nobody else, and rings of processes of which one
// is lost.
#include "bootstrap/ring/ring.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "bootstrap/tcp/door.hpp"
#include "tests/limits.hpp"

namespace {

using namespace tobi::bootstrap;
using namespace std::chrono_literals;
using std::chrono::steady_clock;

bool comes_true(const std::function<bool()>& condition) {
  const auto end = steady_clock::now() + std::chrono::seconds(hang_s());
  while (!condition()) {
    if (steady_clock::now() > end) return false;
    std::this_thread::sleep_for(2ms);
  }
  return true;
}

// --- doors ---

// All that is to be read on both sides; true when both have met.
struct meeting {
  tcp::file inside, outside;
  bool turn(tcp::door& in, tcp::guest& out) {
    in.answer();
    for (const int fd : in.unknown()) {
      if (tcp::file known = in.hear(fd)) inside = std::move(known);
    }
    for (const auto& a : out.attempts()) {
      if (tcp::file known = out.hear(a.fd)) outside = std::move(known);
    }
    return inside && outside;
  }
};
// The loopback's address is everybody's, as docker0's is.
std::string only_loopback(const tcp::door& of) {
  const std::string text = of.text();
  std::size_t words = 0;
  std::size_t end = 0;
  for (; words < 3; ++words) end = text.find(' ', end) + 1;
  return text.substr(0, end) + "127.0.0.1";
}

TEST(door, lets_in_the_one_that_has_its_text) {
  tcp::door in({});
  ASSERT_TRUE(in.is_open());
  tcp::guest out(only_loopback(in));
  out.knock();
  meeting m;
  EXPECT_TRUE(comes_true([&] { return m.turn(in, out); }));
}

TEST(door, is_tried_at_all_its_addresses_and_one_is_enough) {
  tcp::door in({});
  // Of TEST-NET-1, where nobody is, and one that is no address.
  std::string text = only_loopback(in);
  text.replace(text.rfind(' '), 1, " 192.0.2.1 nonsense ");
  tcp::guest out(text);
  out.knock();
  meeting m;
  EXPECT_TRUE(comes_true([&] { return m.turn(in, out); }));
}

TEST(door, stays_closed_for_another_secret) {
  tcp::door in({});
  tcp::door other({});
  std::string text = only_loopback(other);  // another's secret, at this one's port
  text.replace(0, text.find(' '), only_loopback(in).substr(0, only_loopback(in).find(' ')));
  tcp::guest out(text);
  out.knock();
  meeting m;
  EXPECT_TRUE(comes_true([&] { return m.turn(in, out) || out.error() != 0; }));
  EXPECT_FALSE(m.inside);
  EXPECT_FALSE(m.outside);
}

TEST(door, is_not_kept_shut_by_many_strangers_that_say_nothing) {
  tcp::door in({});
  const auto port = static_cast<std::uint16_t>(std::stoi(in.text()));
  std::vector<tcp::file> strangers;
  for (int i = 0; i < 40; ++i) {
    strangers.push_back(tcp::begin_connection("127.0.0.1", port));
    in.answer();
  }
  tcp::guest out(only_loopback(in));
  out.knock();
  meeting m;
  EXPECT_TRUE(comes_true([&] { return m.turn(in, out); }));
}

TEST(door, reads_a_secret_that_comes_in_pieces) {
  tcp::door in({});
  const std::string text = in.text();
  const auto port = static_cast<std::uint16_t>(std::stoi(text));
  const std::uint64_t secret = std::stoull(text.substr(text.find(' ') + 1));
  const tcp::file slow = tcp::begin_connection("127.0.0.1", port);
  tcp::file known;
  const auto listen_to_all = [&] {
    in.answer();
    for (const int fd : in.unknown()) {
      if (tcp::file one = in.hear(fd)) known = std::move(one);
    }
  };
  for (std::size_t i = 0; i < sizeof secret; ++i) {
    EXPECT_FALSE(known);
    ASSERT_TRUE(
        comes_true([&] { return send(slow.fd(), reinterpret_cast<const char*>(&secret) + i, 1, MSG_NOSIGNAL) == 1; }));
    listen_to_all();
  }
  EXPECT_TRUE(comes_true([&] { return listen_to_all(), static_cast<bool>(known); }));
}

TEST(door, takes_a_port_of_the_range_and_says_where_none_is_free) {
  tcp::door first({});
  const auto port = static_cast<std::uint16_t>(std::stoi(first.text()));
  EXPECT_FALSE(tcp::door({port, port}).is_open());
  EXPECT_EQ(errno, EADDRINUSE);
  const auto last = static_cast<std::uint16_t>(std::min(65535, port + 20));
  tcp::door second({port, last});
  ASSERT_TRUE(second.is_open());
  EXPECT_GT(std::stoi(second.text()), port);
  EXPECT_LE(std::stoi(second.text()), last);
}

TEST(door, of_a_text_that_is_none_is_tried_in_vain) {
  for (const char* text : {"", "nonsense", "99999999 1 2 127.0.0.1", "1", "0 0 0 0 0 0"}) {
    tcp::guest out(text);
    out.knock();
    for (const auto& a : out.attempts()) EXPECT_FALSE(out.hear(a.fd)) << text;
  }
}

// --- rings ---

struct told {
  std::atomic<int> seated;
  std::atomic<int> lost;    // calls of lost(), of all
  std::atomic<int> silent;  // those where it was silent
  std::atomic<int> node;    // the last node that was lost
  std::atomic<int> ended;   // calls of told()
  std::atomic<int> status;  // what was told last
};
told* board = nullptr;

// Processes of one machine in place of hosts.
class ring_of_processes : public ::testing::Test {
 protected:
  void SetUp() override {
    board = new (mmap(nullptr, sizeof(told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) told{};
  }
  void TearDown() override {
    for (const pid_t p : processes_) {
      kill(p, SIGKILL);
      waitpid(p, nullptr, 0);
    }
    munmap(board, sizeof(told));
  }

  // NODES processes, each of which sits down and, when all have, does AFTER, with its node, before it waits for its
  // end.
  void start(int nodes, int timeout_s, const std::function<void(int, ring::member&)>& after = {}) {
    std::vector<ring::member*> members;
    std::vector<std::string> doors;
    for (int n = 0; n < nodes; ++n) {
      members.push_back(new ring::member(tobi::base::port_range{}));  // its listener is the child's alone, below
      doors.push_back(members.back()->door_text());
    }
    for (int n = 0; n < nodes; ++n) {
      const pid_t pid = fork();
      if (pid == 0) {
        const auto of = [nodes](int i) { return static_cast<std::size_t>((i + nodes) % nodes); };
        for (int other = 0; other < nodes; ++other) {
          if (other != n) delete members[of(other)];
        }
        ring::member& self = *members[of(n)];
        self_ = &self;
        self.sit_down({static_cast<int>(of(n - 1)), static_cast<int>(of(n + 1)), "another", n == 0}, doors[of(n + 1)],
                      timeout_s, {lost, told_to_end});
        while (!self.is_seated()) std::this_thread::sleep_for(1ms);
        ++board->seated;
        comes_true([&] { return board->seated >= nodes; });
        if (after) after(n, self);
        for (;;) pause();
      }
      processes_.push_back(pid);
    }
    for (ring::member* m : members) delete m;
    ASSERT_TRUE(comes_true([&] { return board->seated >= nodes; }));
  }
  std::vector<pid_t> processes_;
  static inline std::atomic<bool> ends_ = false;  // of a child: by itself

 private:
  static void lost(int node, bool silent) noexcept {
    board->node = node;
    board->silent += silent ? 1 : 0;
    ++board->lost;
    self_->say_end(3);
    _exit(0);
  }
  static void told_to_end(int status) noexcept {
    if (ends_) _exit(0);  // a neighbour hands on what it has from here
    board->status = status;
    ++board->ended;
    _exit(0);
  }
  static inline ring::member* self_ = nullptr;
};
class ring_of : public ring_of_processes, public ::testing::WithParamInterface<int> {};

TEST_P(ring_of, nodes_reports_one_that_has_ended_once_and_tells_all_others) {
  const int nodes = GetParam();
  start(nodes, 30);
  const int gone = nodes / 2;
  kill(processes_[static_cast<std::size_t>(gone)], SIGKILL);
  EXPECT_TRUE(comes_true([&] { return board->lost + board->ended == nodes - 1; }));
  // By one node. The one behind has a second more, in which this machine may have stood still.
  EXPECT_GE(board->lost, 1);
  EXPECT_LE(board->lost, 2);
  EXPECT_EQ(board->silent, 0);
  EXPECT_EQ(board->node, gone);
  EXPECT_EQ(board->status, board->ended > 0 ? 3 : 0);
}

TEST_P(ring_of, nodes_are_all_told_that_one_ends_and_with_which_status) {
  const int nodes = GetParam();
  start(nodes, 30, [](int n, ring::member& self) {
    if (n != 1) return;
    ends_ = true;
    self.say_end(7);
    _exit(0);
  });
  EXPECT_TRUE(comes_true([&] { return board->ended == nodes - 1; }));
  EXPECT_EQ(board->lost, 0);
  EXPECT_EQ(board->status, 7);
}

TEST_P(ring_of, nodes_takes_nothing_for_a_loss_that_happens_when_all_have_left) {
  const int nodes = GetParam();
  start(nodes, 30, [nodes](int, ring::member& self) {
    self.leave();
    ++board->seated;  // as behind a fence: none ends before all have left
    comes_true([&] { return board->seated == 2 * nodes; });
    _exit(0);
  });
  for (const pid_t p : processes_) waitpid(p, nullptr, 0);
  processes_.clear();
  EXPECT_EQ(board->lost, 0);
  EXPECT_EQ(board->ended, 0);
}

INSTANTIATE_TEST_SUITE_P(sizes, ring_of, ::testing::Values(2, 3, 8));

// Its kernel answers for it. This machine may stand still for seconds, so a host may be silent for longer than that.
class ring_of_three : public ring_of_processes {};
TEST_F(ring_of_three, waits_for_one_that_is_stopped_longer_than_a_host_may_be_silent) {
  start(3, 8);
  kill(processes_[0], SIGSTOP);
  std::this_thread::sleep_for(12s);
  EXPECT_EQ(board->lost, 0);
  kill(processes_[0], SIGCONT);
  std::this_thread::sleep_for(100ms);
  EXPECT_EQ(board->lost, 0);
  EXPECT_EQ(board->ended, 0);
}

}  // namespace
