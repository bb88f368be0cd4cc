// SPDX-License-Identifier: Apache-2.0
// What the transport verbs does when its device's queues are full, cannot be read, or take nothing: it goes on, or it
// says what is the matter and answers peer_lost or domain_lost, by which the job ends. Over a device that is played.
#include <gtest/gtest.h>

#if __has_include(<infiniband/verbs.h>)
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <functional>
#include <optional>
#include <string>

#include "arch/clock.hpp"
#include "tests/unit/fabric_in_process.hpp"
#include "tests/unit/played_device.hpp"

// Calls of a thread that sleeps on an event descriptor. While it is slow, a call that it has seen is read together with
// the next one.
namespace slow_reader {
std::atomic<bool> on{false};
std::atomic<int> descriptor{-1};  // of the first call
std::atomic<int> calls{0};
std::atomic<bool> reading{false};

bool is_event(int fd, std::size_t bytes) {
  char name[64];
  if (!on.load() || bytes != sizeof(std::uint64_t)) return false;
  const ssize_t n = readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), name, sizeof name);
  return n > 0 && std::string(name, static_cast<std::size_t>(n)) == "anon_inode:[eventfd]";
}
}  // namespace slow_reader

extern "C" {
ssize_t write(int fd, const void* from, std::size_t bytes) {
  // The descriptor is known before its reader can wake up, and a call is counted when it can be read.
  int none = -1;
  const bool counts = slow_reader::is_event(fd, bytes) &&
                      (slow_reader::descriptor.compare_exchange_strong(none, fd) || slow_reader::descriptor == fd);
  const ssize_t n = syscall(SYS_write, fd, from, bytes);
  if (counts) ++slow_reader::calls;
  return n;
}
ssize_t read(int fd, void* to, std::size_t bytes) {
  if (slow_reader::is_event(fd, bytes) && slow_reader::descriptor == fd) {
    slow_reader::reading = true;
    while (slow_reader::calls < 2) usleep(100);
  }
  return syscall(SYS_read, fd, to, bytes);
}
}

namespace {

using played::queue;
using tobi::status;
using tobi::transports::notice;
using tobi::transports::op;
using tobi::transports::op_kind;
using tobi::transports::region_id;
using tobi::transports::transport;

constexpr std::uint64_t patience_ns = 20'000'000'000;

// Repeats what is to come again.
status done(const std::function<status()>& ask) {
  const std::uint64_t begin = tobi::arch::now_ns();
  for (;;) {
    const status s = ask();
    if (s != status::again) return s;
    if (tobi::arch::now_ns() - begin > patience_ns) return status::again;
    usleep(100);
  }
}

struct workers {
  fabric_in_process fabric;
  std::vector<std::array<std::uint64_t, 64>> memory;
  std::vector<region_id> regions;  // of rank 0: those of all

  explicit workers(int n) : fabric("verbs", "", n), memory(static_cast<std::size_t>(n)) {
    for (int r = 0; r < n; ++r) {
      auto& words = memory[static_cast<std::size_t>(r)];
      words.fill(static_cast<std::uint64_t>(100 + r));
      tobi::transports::region_key key;
      region_id id = 0;
      EXPECT_EQ(fabric.of(r).register_memory({words.data(), sizeof words, -1, 0}, key), status::ok);
      EXPECT_EQ(first().attach(r, key, id), status::ok);
      regions.push_back(id);
    }
  }
  [[nodiscard]] transport& first() const { return fabric.of(0); }
  [[nodiscard]] region_id of(int rank) const { return regions[static_cast<std::size_t>(rank)]; }

  /// What rank 0's posting a get to RANK, and its end, are answered. It is checked where that is ok.
  status read(int rank) {
    std::uint64_t found = 0;
    status s = done([&] { return first().get(rank, of(rank), 0, &found, 8); });
    if (s == status::ok) s = done([&] { return first().flush(rank); });
    EXPECT_TRUE(s != status::ok || found == static_cast<std::uint64_t>(100 + rank)) << found;
    return s;
  }
  /// Rank 0 tells RANK something.
  status tell(int rank, std::uint64_t data) {
    const op o = op::put(of(rank), 8, &data, 8);
    return done([&] { return first().put_notify(rank, o, data); });
  }
};

class verbs_faults : public testing::Test {
 protected:
  verbs_faults() {
    played::now = {};
    tobi::transports::verbs::play(played::functions());
  }
  void begin() { testing::internal::CaptureStderr(); }
  // One line was said since begin(), and it has PART.
  static void said_once(const std::string& part) {
    const std::string text = testing::internal::GetCapturedStderr();
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
  static void said_nothing() { EXPECT_EQ(testing::internal::GetCapturedStderr(), ""); }
};

TEST_F(verbs_faults, without_any_all_works) {
  begin();
  workers w(3);
  EXPECT_EQ(w.read(1), status::ok);
  EXPECT_EQ(w.read(2), status::ok);
  ASSERT_EQ(w.tell(1, 7), status::ok);
  notice n;
  EXPECT_EQ(done([&] { return w.fabric.of(1).poll_notice(n); }), status::ok);
  EXPECT_EQ(n.rank, 0);
  EXPECT_EQ(n.data, 7u);
  std::uint64_t old = 0;
  ASSERT_EQ(done([&] { return w.first().fetch_add(2, w.of(2), 0, 5, &old); }), status::ok);
  EXPECT_EQ(done([&] { return w.first().flush(2); }), status::ok);
  EXPECT_EQ(old, 102u);
  said_nothing();
}

// --- completion queues ---

TEST_F(verbs_faults, a_completion_queue_that_cannot_be_read_is_the_end_of_the_device) {
  workers w(2);
  ASSERT_EQ(w.read(1), status::ok);
  begin();
  played::queue_of(0, queue::sends).unreadable = true;
  EXPECT_EQ(w.read(1), status::domain_lost);
  EXPECT_EQ(w.read(1), status::domain_lost);
  said_once("played0 port 1: its completion queue cannot be read; the network of this worker is gone");
}

TEST_F(verbs_faults, so_is_that_of_messages) {
  workers w(2);
  begin();
  played::queue_of(1, queue::notices).unreadable = true;
  notice n;
  EXPECT_EQ(w.fabric.of(1).poll_notice(n), status::domain_lost);
  EXPECT_EQ(w.fabric.of(1).flush(0), status::domain_lost);
  said_once("its completion queue of messages cannot be read");
}

// Rank 1 does nothing: its thread alone sees it.
TEST_F(verbs_faults, so_is_that_of_requests_to_connect) {
  workers w(2);
  begin();
  played::queue_of(1, queue::datagrams).unreadable = true;
  std::uint64_t found;
  EXPECT_EQ(w.first().get(1, w.of(1), 0, &found, 8), status::again);
  EXPECT_EQ(done([&] { return w.fabric.of(1).flush(0) == status::ok ? status::again : status::ok; }), status::ok);
  EXPECT_EQ(w.fabric.of(1).flush(0), status::domain_lost);
  said_once("its completion queue of requests to connect cannot be read");
}

TEST_F(verbs_faults, and_that_of_requests_that_were_sent) {
  workers w(2);
  begin();
  played::queue_of(0, queue::sent_datagrams).unreadable = true;
  EXPECT_EQ(w.read(1), status::domain_lost);
  said_once("its completion queue of requests to connect cannot be read");
}

TEST_F(verbs_faults, an_overrun_that_the_device_reports_is_its_end) {
  workers w(2);
  ASSERT_EQ(w.read(1), status::ok);
  begin();
  {
    const std::lock_guard hold(played::all);
    auto& q = played::queue_of(0, queue::sends);
    played::raise(q.context, IBV_EVENT_CQ_ERR, &q);
    played::raise(q.context, IBV_EVENT_CQ_ERR, &q);
  }
  EXPECT_EQ(done([&] { return w.first().flush(1) == status::ok ? status::again : status::ok; }), status::ok);
  EXPECT_EQ(w.read(1), status::domain_lost);
  notice n;
  EXPECT_EQ(w.first().poll_notice(n), status::domain_lost);
  said_once("the device reports: CQ error");
}

TEST_F(verbs_faults, so_is_an_error_of_the_queue_pair_for_requests_to_connect) {
  workers w(2);
  begin();
  {
    const std::lock_guard hold(played::all);
    played::raise(&played::contexts[0]->context, IBV_EVENT_QP_FATAL, nullptr, played::datagrams_of(0));
  }
  EXPECT_EQ(done([&] { return w.first().flush(1) == status::ok ? status::again : status::ok; }), status::ok);
  said_once("of the queue pair for requests to connect");
}

// When connections break each of their requests comes back, whether it was to or not.
TEST_F(verbs_faults, a_small_completion_queue_is_never_overrun) {
  played::now.max_cqe = 512;
  constexpr int peers = 7;
  workers w(1 + peers);
  for (int r = 1; r <= peers; ++r) ASSERT_EQ(w.read(r), status::ok);
  begin();
  played::now.holds = true;
  std::array<std::uint64_t, 16> found;
  std::size_t posted = 0;
  for (int r = 1; r <= peers; ++r) {
    std::vector<op> ops;
    for (auto& f : found) ops.push_back(op::get(w.of(r), 0, &f, 8));
    while (w.first().post(r, ops) == status::ok) posted += ops.size();
  }
  EXPECT_EQ(posted, 512u);
  played::break_all(0, IBV_WC_RETRY_EXC_ERR);
  played::now.holds = false;
  usleep(50'000);  // an overrun's event would be heard now
  int lost = 0;
  for (int r = 1; r <= peers; ++r) lost += w.read(r) == status::peer_lost ? 1 : 0;
  EXPECT_EQ(lost, peers);
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), peers) << text;
  EXPECT_EQ(text.find("is gone"), std::string::npos) << text;
}

TEST_F(verbs_faults, and_goes_on_when_it_was_full) {
  played::now.max_cqe = 512;
  workers w(8);
  for (int r = 1; r < 8; ++r) ASSERT_EQ(w.read(r), status::ok);
  begin();
  std::array<std::uint64_t, 16> found;
  for (int turn = 0; turn < 100; ++turn) {
    for (int r = 1; r < 8; ++r) {
      std::vector<op> ops;
      for (auto& f : found) ops.push_back(op::get(w.of(r), 0, &f, 8));
      ASSERT_EQ(done([&] { return w.first().post(r, ops); }), status::ok);
    }
  }
  for (int r = 1; r < 8; ++r) EXPECT_EQ(done([&] { return w.first().flush(r); }), status::ok);
  said_nothing();
}

using verbs_faults_DeathTest = verbs_faults;
TEST_F(verbs_faults_DeathTest, one_that_is_too_small_for_messages_is_a_sentence) {
  played::now.max_cqe = 100;
  EXPECT_EXIT(workers(1), testing::ExitedWithCode(1), "making a completion queue failed on played0 .*\\.");
}

// Its server is a thread, with a device opened of its own, and makes no operations but replies.
TEST_F(verbs_faults_DeathTest, a_server_of_atomics_without_a_network_ends_the_job) {
  played::now.atomics = false;
  setenv("TOBI_AMO_SERVER", "thread", 1);
  EXPECT_EXIT(
      {
        workers w(2);
        std::uint64_t old = 0;
        const auto add = [&] {
          const status s = done([&] { return w.first().fetch_add(1, w.of(1), 0, 1, &old); });
          return s != status::ok ? s : done([&] { return w.first().flush(1); });
        };
        if (add() != status::ok || old != 101) _exit(2);
        for (std::size_t i = played::contexts.size() / 2; i < played::contexts.size(); ++i) {
          played::queue_of(static_cast<int>(i), queue::sends).unreadable = true;
        }
        // The first may still be replied to. What finds the server without its queue ends the job.
        const std::uint64_t until = tobi::arch::now_ns() + patience_ns;
        while (tobi::arch::now_ns() < until) add();
        _exit(3);
      },
      testing::ExitedWithCode(1), "the server of atomics is without a network .*; the job ends\\.");
  unsetenv("TOBI_AMO_SERVER");
}

// --- send queues ---

TEST_F(verbs_faults, a_send_queue_that_is_full_for_a_while_is_waited_for) {
  workers w(2);
  begin();
  for (const int times : {1, 2, 300}) {
    played::now.refused_posts = times;
    EXPECT_EQ(w.read(1), status::ok) << times;
    EXPECT_EQ(played::now.refused_posts, 0);
  }
  said_nothing();
}

TEST_F(verbs_faults, one_that_stays_full_with_nothing_in_it_is_a_lost_peer) {
  workers w(2);
  ASSERT_EQ(w.read(1), status::ok);
  begin();
  played::now.refused_posts = played::always;
  EXPECT_EQ(w.read(1), status::peer_lost);
  said_once("the send queue to rank 1 on played0 is empty and has been refusing operations for 3 seconds");
}

// The thread for connections is told of the close of a lost peer's connection, and then, before it has read that, to
// end.
TEST_F(verbs_faults, the_end_is_heard_together_with_a_call_before_it) {
  std::optional<workers> w(2);
  ASSERT_EQ(w->read(1), status::ok);
  begin();
  played::now.refused_posts = played::always;
  slow_reader::on = true;
  EXPECT_EQ(w->read(1), status::peer_lost);
  EXPECT_EQ(done([] { return slow_reader::reading ? status::ok : status::again; }), status::ok);
  w.reset();  // returns
  slow_reader::on = false;
  EXPECT_GE(slow_reader::calls, 2);
  said_once("the send queue to rank 1 on played0");
}

TEST_F(verbs_faults, one_that_takes_a_part_of_a_chain_is_a_lost_peer) {
  workers w(3);
  ASSERT_EQ(w.read(1), status::ok);
  begin();
  played::now.refused_posts = 1;
  played::now.refused_at = 1;
  std::uint64_t a = 0, b = 0;
  const op ops[] = {op::get(w.of(1), 0, &a, 8), op::get(w.of(1), 8, &b, 8)};
  EXPECT_EQ(w.first().post(1, ops), status::peer_lost);
  EXPECT_EQ(w.read(2), status::ok);
  EXPECT_EQ(w.read(1), status::peer_lost);
  said_once("an operation to rank 1 was refused by played0");
}

// --- receivers that are not ready ---

TEST_F(verbs_faults, a_message_waits_for_a_receive) {
  workers w(2);
  begin();
  constexpr std::uint64_t many = 600;  // there are 512 receives
  std::uint64_t told = 0;
  const auto tell_one = [&] {
    const op o = op::put(w.of(1), 8, &told, 8);
    const status s = w.first().put_notify(1, o, told);
    if (s == status::ok) ++told;
    return s;
  };
  ASSERT_EQ(done(tell_one), status::ok);
  while (tell_one() == status::ok && told < 10 * many) {
  }
  EXPECT_GE(told, 512u);
  EXPECT_LT(told, 10 * many);
  EXPECT_EQ(w.first().flush(1), status::again);
  notice n;
  for (std::uint64_t i = 0; i < many; ++i) {
    if (told < many) tell_one();
    ASSERT_EQ(done([&] { return w.fabric.of(1).poll_notice(n); }), status::ok);
    EXPECT_EQ(n.data, i);
  }
  said_nothing();
}

// Where such a receiver is an error to the device.
TEST_F(verbs_faults, a_receiver_that_was_never_ready_is_a_lost_peer) {
  workers w(2);
  ASSERT_EQ(w.read(1), status::ok);
  begin();
  played::now.fails = IBV_WC_RNR_RETRY_EXC_ERR;
  ASSERT_EQ(w.tell(1, 1), status::ok);
  EXPECT_EQ(w.first().flush(1), status::peer_lost);
  EXPECT_EQ(w.tell(1, 2), status::peer_lost);
  said_once("rank 1 takes no messages from played0 port 1 (RNR retry counter exceeded, vendor code 0)");
}

TEST_F(verbs_faults, receives_that_are_refused_for_a_while_are_posted_later) {
  workers w(2);
  begin();
  notice n;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    if (i % 1000 == 0) played::now.refused_receives = 400;
    ASSERT_EQ(w.tell(1, i), status::ok) << i;
    ASSERT_EQ(done([&] { return w.fabric.of(1).poll_notice(n); }), status::ok) << i;
    EXPECT_EQ(n.data, i);
  }
  EXPECT_EQ(played::now.refused_receives, 0);
  said_nothing();
}

TEST_F(verbs_faults, receives_that_are_refused_for_good_are_the_end_of_the_device) {
  workers w(2);
  ASSERT_EQ(w.tell(1, 0), status::ok);
  begin();
  played::now.refused_receives = played::always;
  notice n;
  status heard = status::ok;
  for (std::uint64_t i = 1; i < 1000 && heard == status::ok; ++i) {
    const op o = op::put(w.of(1), 8, &i, 8);
    w.first().put_notify(1, o, i);
    heard = w.fabric.of(1).poll_notice(n);
  }
  EXPECT_EQ(w.fabric.of(1).poll_notice(n), status::domain_lost);
  said_once("it takes no receives for messages");
}

// --- requests to connect ---

TEST_F(verbs_faults, datagrams_that_are_lost_are_sent_again) {
  workers w(2);
  begin();
  played::now.lost_datagrams = 4;
  EXPECT_EQ(w.read(1), status::ok);
  EXPECT_EQ(played::now.lost_datagrams, 0);
  said_nothing();
}

TEST_F(verbs_faults, datagrams_that_are_refused_are_sent_again_and_that_is_said) {
  workers w(2);
  begin();
  played::now.refused_datagrams = 2;
  EXPECT_EQ(w.read(1), status::ok);
  EXPECT_EQ(played::now.refused_datagrams, 0);
  said_once("played0 has refused to send a request to connect");
}

TEST_F(verbs_faults, receives_of_datagrams_that_are_refused_are_posted_later) {
  workers w(3);
  begin();
  played::now.refused_datagram_receives = 3;
  EXPECT_EQ(w.read(1), status::ok);
  EXPECT_EQ(w.read(2), status::ok);
  said_nothing();
}

}  // namespace
#else
TEST(verbs_faults, is_part_of_this_build) { GTEST_SKIP() << "needs the package libibverbs-dev, at build time"; }
#endif
