// SPDX-License-Identifier: Apache-2.0
#include "libcore/base/log.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <string>
#include <vector>

namespace {

using namespace tobi::base;

/// Standard error as a socket that keeps messages apart: one receive is one write of the sender.
class writes_to_stderr {
 public:
  writes_to_stderr() {
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends_.data()) != 0)
      throw std::runtime_error("socketpair");
    former_ = dup(STDERR_FILENO);
    dup2(ends_[1], STDERR_FILENO);
  }
  ~writes_to_stderr() {
    dup2(former_, STDERR_FILENO);
    for (const int fd : {former_, ends_[0], ends_[1]}) close(fd);
  }
  std::vector<std::string> all() const {
    std::vector<std::string> found;
    std::vector<char> room(1 << 16);
    for (ssize_t n; (n = recv(ends_[0], room.data(), room.size(), MSG_DONTWAIT)) > 0;) {
      found.emplace_back(room.data(), static_cast<std::size_t>(n));
    }
    return found;
  }

 private:
  std::array<int, 2> ends_{};
  int former_ = -1;
};

class log_test : public testing::Test {
 protected:
  void SetUp() override { set_log_level(log_level::warn); }
  void TearDown() override {
    set_log_level(log_level::warn);
    set_fatal_hook(nullptr);
  }
};

TEST_F(log_test, a_line_is_one_write_and_names_its_level) {
  const writes_to_stderr err;
  log(log_level::error, "first");
  log(log_level::warn, "second");
  EXPECT_EQ(err.all(), (std::vector<std::string>{"tobi: first\n", "tobi: warning: second\n"}));
}

TEST_F(log_test, levels_below_the_threshold_are_silent) {
  const writes_to_stderr err;
  log(log_level::info, "no");
  set_log_level(log_level::error);
  log(log_level::warn, "no");
  log(log_level::error, "yes");
  set_log_level(log_level::trace);
  log(log_level::trace, "all");
  EXPECT_EQ(err.all(), (std::vector<std::string>{"tobi: yes\n", "tobi: trace: all\n"}));
}

TEST_F(log_test, control_characters_cannot_break_the_line) {
  const writes_to_stderr err;
  log(log_level::error, "a\nb\x1b[31mc\x7f");
  EXPECT_EQ(err.all(), std::vector<std::string>{"tobi: a?b?[31mc?\n"});
}

TEST_F(log_test, a_line_too_long_for_one_write_is_cut_visibly) {
  const writes_to_stderr err;
  log(log_level::error, std::string(100'000, 'x'));
  const std::vector<std::string> lines = err.all();
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].size(), 4096u);
  EXPECT_TRUE(lines[0].ends_with("xxx...\n"));
}

TEST_F(log_test, nothing_is_lost_of_a_line_that_just_fits) {
  const writes_to_stderr err;
  const std::string message(4096 - 4 - 6, 'x');  // without the ending "...\n" and the start "tobi: "
  log(log_level::error, message);
  EXPECT_EQ(err.all(), std::vector<std::string>{"tobi: " + message + "\n"});
}

using log_DeathTest = log_test;

TEST_F(log_DeathTest, fatal_prints_and_ends_with_the_status) {
  EXPECT_EXIT(fatal("it broke.", 7), testing::ExitedWithCode(7), "^tobi: it broke\\.\n$");
  EXPECT_EXIT(fatal("it broke."), testing::ExitedWithCode(exit_failure), "it broke");
}

TEST_F(log_DeathTest, fatal_is_heard_at_every_level) {
  set_log_level(log_level::error);
  EXPECT_EXIT(fatal("it broke."), testing::ExitedWithCode(1), "it broke");
}

TEST_F(log_DeathTest, fatal_leaves_through_the_hook) {
  set_fatal_hook([](int status) { _exit(status + 40); });
  EXPECT_EXIT(fatal("it broke.", 2), testing::ExitedWithCode(42), "it broke");
}

TEST_F(log_DeathTest, messages_name_rank_and_host_once_they_are_known) {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  const std::string who = std::string("rank 3 on ") + host.data();
  EXPECT_EQ(log_identity(), "");
  EXPECT_EXIT(
      {
        set_log_identity(3);
        if (log_identity() != who) _exit(9);
        fatal("it broke.");
      },
      testing::ExitedWithCode(1), "^tobi: " + who + ": it broke\\.\n$");
}

TEST_F(log_DeathTest, a_broken_promise_says_why_and_where) {
  const int answer = 41;
  EXPECT_EXIT(TOBI_ASSERT(answer == 42, "the answer is known"), testing::ExitedWithCode(exit_failure),
              "the answer is known \\(answer == 42 at .*log_test\\.cc:[0-9]+\\)");
}

TEST_F(log_test, a_kept_promise_is_silent) {
  const writes_to_stderr err;
  TOBI_ASSERT(1 + 1 == 2, "arithmetic");
  EXPECT_TRUE(err.all().empty());
}

}  // namespace
