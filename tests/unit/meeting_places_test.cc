// SPDX-License-Identifier: Apache-2.0
// Processes that meet over TCP and want a place: who gets which rank.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "bootstrap/tcp/meeting.hpp"
#include "bootstrap/tcp/sockets.hpp"
#include "libcore/base/log.hpp"
#include "libcore/base/settings.hpp"
#include "tests/limits.hpp"

namespace {

namespace tcp = tobi::bootstrap::tcp;

// A process that meets the others, each with its number; its exit status is its rank, and 99 where a rank or the number
// of one is missing.
pid_t process(const tobi::base::settings& how, int place, int number) {
  const pid_t child = fork();
  if (child != 0) return child;
  alarm(hang_s());
  tcp::set_manner({"places", false, place});
  const auto met = tcp::join(how);
  const std::byte own{static_cast<unsigned char>(number)};
  met->put("number", std::span(&own, 1));
  met->fence();
  std::vector<bool> came(static_cast<std::size_t>(met->size()));
  for (int rank = 0; rank < met->size(); ++rank) came[static_cast<std::size_t>(met->get(rank, "number")[0])] = true;
  const bool all = std::find(came.begin(), came.end(), false) == came.end();
  const int rank = met->rank();
  met->finalize();
  _exit(all ? rank : 99);
}

int status_of(pid_t child) {
  int how = 0;
  waitpid(child, &how, 0);
  return WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how);
}

// The ranks of those that connect with these wishes. Where another program has taken the port that was free, once more.
std::vector<int> ranks_of(const std::vector<int>& wishes) {
  for (;;) {
    tobi::base::settings hub = tobi::base::read_settings();
    hub.listen = static_cast<int>(wishes.size()) + 1;
    hub.connect.clear();
    const std::uint16_t port = tcp::port_of(tcp::listen_on({}));
    hub.ports = {port, port};
    tobi::base::settings other = hub;
    other.listen = 0;
    other.connect = "127.0.0.1:" + std::to_string(port);
    const pid_t listens = process(hub, 0, 0);
    std::vector<pid_t> all;
    for (const int wish : wishes) all.push_back(process(other, wish, static_cast<int>(all.size()) + 1));
    const int ended = status_of(listens);
    if (ended == tobi::base::exit_usage) {
      for (const pid_t child : all) kill(child, SIGKILL);
    }
    std::vector<int> ranks;
    for (const pid_t child : all) ranks.push_back(status_of(child));
    if (ended == tobi::base::exit_usage) continue;
    EXPECT_EQ(ended, 0);
    return ranks;
  }
}

TEST(meeting_places, are_those_that_were_wanted) {
  EXPECT_EQ(ranks_of({3, 1, 2}), (std::vector{3, 1, 2}));
  EXPECT_EQ(ranks_of({2, 1}), (std::vector{2, 1}));
}

TEST(meeting_places, that_nobody_wants_are_for_the_others) {
  EXPECT_EQ(ranks_of({0, 1}), (std::vector{2, 1}));
  const std::vector<int> ranks = ranks_of({0, 3, 0});
  EXPECT_EQ(ranks[1], 3);
  EXPECT_EQ(ranks[0] + ranks[2], 3);
}

TEST(meeting_places, that_two_want_or_that_there_are_not_are_no_reason_to_stop) {
  for (const std::vector<int>& wishes : {std::vector{1, 1}, {7, -1}, {2, 2}}) {
    const std::vector<int> ranks = ranks_of(wishes);
    EXPECT_EQ(ranks[0] + ranks[1], 3);
    EXPECT_EQ(ranks[0] * ranks[1], 2);
  }
}

}  // namespace
