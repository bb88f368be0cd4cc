// SPDX-License-Identifier: Apache-2.0
// lane: sleeps, 4 s
// TOBI_LABEL: lines of several ranks stay whole, each with its rank and host before it, whatever ends the job.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <sstream>
#include <string>

#include "in_job.hpp"

namespace {

constexpr environment labelled{{"TOBI_LABEL", "1"}};

std::string host() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}
std::string label(int rank) { return "[" + std::to_string(rank) + " " + host() + "] "; }

std::string line_of(int rank, int number) {
  const auto bytes = static_cast<std::size_t>(number * 37 % 3000);
  return "rank " + std::to_string(rank) + " line " + std::to_string(number) + " " +
         std::string(bytes, static_cast<char>('a' + number % 26)) + ".";
}

// Nothing but the kernel's call, so that pieces of lines mix where nobody keeps them apart.
void say(std::string_view what) {
  while (!what.empty()) {
    const ssize_t n = write(STDERR_FILENO, what.data(), what.size());
    if (n <= 0) _exit(9);
    what.remove_prefix(static_cast<std::size_t>(n));
  }
}

TEST(labels, lines_that_are_written_in_pieces_by_several_ranks_stay_whole_and_in_order) {
  constexpr int ranks = 3;
  constexpr int lines = 300;
  const outcome o = in_job(ranks, labelled, [](tobi::runtime& rt) {
    for (int n = 0; n < lines; ++n) {
      const std::string line = line_of(rt.rank(), n) + "\n";
      const std::size_t middle = line.size() * static_cast<std::size_t>(n % 5) / 5;
      say({line.data(), middle});
      say({line.data() + middle, line.size() - middle});
    }
    return 0;
  });
  EXPECT_EQ(o.status, 0);
  std::array<int, ranks> next{};
  std::istringstream all(o.said);
  for (std::string line; std::getline(all, line);) {
    int found = -1;
    for (int r = 0; r < ranks; ++r) {
      if (line == label(r) + line_of(r, next[static_cast<std::size_t>(r)])) found = r;
    }
    ASSERT_NE(found, -1) << line;
    ++next[static_cast<std::size_t>(found)];
  }
  for (const int n : next) EXPECT_EQ(n, lines);
}

TEST(labels, a_line_longer_than_any_buffer_has_one_label_and_the_last_line_an_end) {
  const outcome o = in_job(1, labelled, [](tobi::runtime&) {
    say(std::string(100'000, 'x') + "\nshort\n\nwithout an end");
    return 0;
  });
  EXPECT_EQ(o.status, 0);
  EXPECT_EQ(o.said, label(0) + std::string(100'000, 'x') + "\n" + label(0) + "short\n" + label(0) + "\n" + label(0) +
                        "without an end\n");
}

TEST(labels, what_is_written_after_the_runtime_has_ended_is_labelled_too) {
  const outcome o = in_child([] {
    setenv("TOBI_LABEL", "1", 1);
    { const tobi::runtime alone(tobi::options{.workers = 1}); }
    say("afterwards\n");
    std::exit(7);
  });
  EXPECT_EQ(o.status, 7);
  EXPECT_EQ(o.said, label(0) + "afterwards\n");
}

// A file of the program may have got the number of one of the library's.
TEST(labels, a_program_that_closes_all_descriptors_afterwards_ends_at_once) {
  const outcome o = in_child([] {
    setenv("TOBI_LABEL", "1", 1);
    { const tobi::runtime alone(tobi::options{.workers = 1}); }
    close_range(3, ~0u, 0);
    std::array<int, 8> mine{};
    for (int& fd : mine) fd = memfd_create("program", 0);
    say("afterwards\n");
    std::atexit([] { say("at the end\n"); });  // before the handlers of the library
    on_exit(
        [](int, void* files) {
          for (const int fd : *static_cast<std::array<int, 8>*>(files)) {
            if (lseek(fd, 0, SEEK_END) != 0) _exit(9);
          }
        },
        &mine);
    std::exit(7);
  });
  EXPECT_EQ(o.status, 7);
  EXPECT_EQ(o.said, label(0) + "afterwards\n" + label(0) + "at the end\n");
}

// It may write for longer than the rank lives, and a timer breaks off each wait.
TEST(labels, a_process_of_the_program_that_can_still_write_holds_nobody_up) {
  const outcome o = in_child([] {
    setenv("TOBI_LABEL", "1", 1);
    { const tobi::runtime alone(tobi::options{.workers = 1}); }
    const pid_t rank = getpid();
    if (fork() == 0) {
      while (getppid() == rank) usleep(1000);
      say("later\n");
      _exit(0);
    }
    struct sigaction nothing {};
    nothing.sa_handler = [](int) {};
    sigaction(SIGUSR2, &nothing, nullptr);
    sigevent by{};
    by.sigev_notify = SIGEV_SIGNAL;
    by.sigev_signo = SIGUSR2;
    timer_t timer{};
    const itimerspec often{{0, 500'000}, {0, 500'000}};
    if (timer_create(CLOCK_MONOTONIC, &by, &timer) != 0 || timer_settime(timer, 0, &often, nullptr) != 0) _exit(9);
    std::exit(7);
  });
  EXPECT_EQ(o.status, 7);
  EXPECT_EQ(o.said, label(0) + "later\n");
}

struct ending {
  const char* name;
  void (*end)();
  int rank;
};

class labels_at_the_end : public testing::TestWithParam<ending> {};

// The same status as without labels, and what was said before is there.
TEST_P(labels_at_the_end, last_words_arrive) {
  const auto body = [](tobi::runtime& rt) {
    if (rt.rank() != GetParam().rank) {
      tobi::run([] { return 0; });
      return 0;
    }
    say("last words\n");
    GetParam().end();
    return 0;
  };
  const outcome plain = in_job(3, {}, body);
  const outcome o = in_job(3, labelled, body);
  EXPECT_EQ(o.status, plain.status);
  EXPECT_NE(o.said.find(label(GetParam().rank) + "last words\n"), std::string::npos) << o.said;
  std::istringstream all(o.said);
  for (std::string line; std::getline(all, line);) EXPECT_EQ(line.find('['), 0u) << line;
  EXPECT_EQ(o.said.find("] tobi: ") == std::string::npos, plain.said.find("tobi: ") == std::string::npos)
      << o.said << plain.said;
}

constexpr std::array endings{ending{"abort_of_the_head", [] { std::abort(); }, 0},
                             ending{"abort_of_another", [] { std::abort(); }, 2},
                             ending{"killed", [] { kill(getpid(), SIGKILL); }, 1},
                             ending{"exit_status", [] { std::exit(5); }, 2}, ending{"left", [] { _exit(6); }, 1}};
INSTANTIATE_TEST_SUITE_P(each, labels_at_the_end, testing::ValuesIn(endings),
                         [](const auto& of) { return std::string(of.param.name); });

}  // namespace
