// SPDX-License-Identifier: Apache-2.0
// lane: sleeps, 5 s
// Active messages between processes: over shared memory, the simulated fabric and libfabric.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bootstrap/bootstrap.hpp"
#include "tests/unit/fabric_in_process.hpp"
#include "transports/ofi/settings.hpp"
#include "transports/registry.hpp"
#include "transports/soft/active_messages.hpp"

namespace {

using namespace tobi;
using transports::soft::active_messages;
using message = active_messages::message;

constexpr int ranks = 3;

std::span<const std::byte> bytes_of(const auto& value) { return std::as_bytes(std::span(&value, 1)); }
template <class T>
T read(std::span<const std::byte> payload) {
  T value{};
  if (payload.size() == sizeof value) std::memcpy(&value, payload.data(), sizeof value);
  return value;
}

struct place {
  const char* transport;
  const char* provider;
};

struct stage {
  bootstrap::bootstrap& job;
  transports::transport& fabric;
  active_messages& messages;

  void until(auto condition) {
    for (unsigned turns = 0; !condition(); ++turns) {
      messages.poll();
      if (turns % 16 == 15) sched_yield();
    }
  }
  void send(int to, std::uint8_t number, std::span<const std::byte> payload) {
    status s = status::again;
    until([&] { return (s = messages.send(to, number, payload)) != status::again; });
    if (s != status::ok) base::fatal("send: " + std::string(to_string(s)) + ".");
  }
};

// Runs BODY on each rank of a job in a child process. Answers "" or what went wrong; SAID gets standard error.
std::string in_processes(const place& where, std::string& said, const std::function<std::string(stage&)>& body,
                         const std::function<void(active_messages&, int)>& handlers) {
  int words[2];
  if (pipe(words) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    dup2(words[1], STDERR_FILENO);
    close(words[0]);
    alarm(60);
    base::settings in_force = base::read_settings();
    in_force.of<transports::ofi::settings>().provider = where.provider;
    const auto job = bootstrap::fork_workers(ranks);
    const transports::context context{job->rank(), job->size(), {}, in_force};
    std::unique_ptr<transports::transport> fabric;
    for (const auto& e : transports::registry()) {
      if (e.name == where.transport) fabric = e.create(context);
    }
    active_messages messages(*fabric, job->rank(), job->size());
    handlers(messages, job->rank());
    const std::string address = fabric->address();
    job->put("address", std::as_bytes(std::span(address.data(), address.size())));
    job->put("key", bytes_of(messages.key()));
    job->fence();
    std::vector<std::string> addresses;
    for (int r = 0; r < ranks; ++r) {
      const auto a = job->get(r, "address");
      addresses.emplace_back(reinterpret_cast<const char*>(a.data()), a.size());
    }
    if (fabric->connect(addresses) != status::ok) base::fatal("connecting failed.");
    for (int r = 0; r < ranks; ++r) {
      messages.connect(r, read<transports::region_key>(job->get(r, "key")));
    }
    job->while_waiting([&] { messages.poll(); });
    job->fence();
    stage s{*job, *fabric, messages};
    if (const std::string wrong = body(s); !wrong.empty()) base::fatal(wrong + ".", 3);
    job->fence();  // whoever is done still answers the others
    job->finalize();
    job->while_waiting(nullptr);
    std::exit(0);
  }
  close(words[1]);
  char buffer[4096];
  for (ssize_t n; (n = ::read(words[0], buffer, sizeof buffer)) > 0;) said.append(buffer, static_cast<std::size_t>(n));
  close(words[0]);
  int how = 0;
  waitpid(child, &how, 0);
  if (WIFEXITED(how) && WEXITSTATUS(how) == 0) return "";
  return "status " + std::to_string(how) + ": " + said;
}

class active_messages_over : public testing::TestWithParam<place> {
 protected:
  void SetUp() override {
    base::settings in_force = base::read_settings();
    in_force.of<transports::ofi::settings>().provider = GetParam().provider;
    for (const auto& e : transports::registry()) {
      if (e.name != GetParam().transport) continue;
      const std::string why = transports::unusable_apart(e, {0, ranks, {}, in_force});
      if (!why.empty()) GTEST_SKIP() << why;
    }
  }
};

struct text {
  std::uint64_t number;
  char words[active_messages::payload_max - sizeof(std::uint64_t)];
};
static_assert(sizeof(text) == active_messages::payload_max);

// Every rank floods every rank, itself included; every request is answered, in order, with its own payload.
TEST_P(active_messages_over, requests_and_replies_come_once_and_in_order) {
  constexpr std::uint64_t count = 700;
  std::string said;
  std::uint64_t next_request[ranks] = {};
  std::uint64_t next_reply[ranks] = {};
  std::string wrong;
  const auto handlers = [&](active_messages& m, int) {
    m.on(1, [&](int from, std::span<const std::byte> payload) -> std::optional<message> {
      auto t = read<text>(payload);
      if (t.number != next_request[from]++) wrong = "a request out of order";
      t.number *= 3;
      return message(2, bytes_of(t));
    });
    m.on(2, [&](int from, std::span<const std::byte> payload) -> std::optional<message> {
      const auto t = read<text>(payload);
      if (t.number != 3 * next_reply[from]++ || std::strcmp(t.words, "all 48 bytes are carried along") != 0) {
        wrong = "another reply than expected";
      }
      return std::nullopt;
    });
  };
  const std::string failed = in_processes(
      GetParam(), said,
      [&](stage& s) {
        for (std::uint64_t i = 0; i < count; ++i) {
          text t{i, "all 48 bytes are carried along"};
          for (int to = 0; to < ranks; ++to) s.send(to, 1, bytes_of(t));
        }
        s.until([&] {
          for (int r = 0; r < ranks; ++r) {
            if (next_reply[r] < count || next_request[r] < count) return false;
          }
          return true;
        });
        return wrong;
      },
      handlers);
  EXPECT_EQ(failed, "");
  EXPECT_EQ(said, "");
}

// One that does not poll is told to nobody but by `again`; when it polls, all of it comes.
TEST_P(active_messages_over, a_target_that_does_not_poll_refuses_and_loses_nothing) {
  std::string said;
  std::uint64_t heard = 0;
  const auto handlers = [&](active_messages& m, int) {
    m.on(0, [&](int, std::span<const std::byte> payload) -> std::optional<message> {
      if (!payload.empty()) base::fatal("an empty message has a payload.");
      ++heard;
      return std::nullopt;
    });
  };
  const std::string failed = in_processes(
      GetParam(), said,
      [&](stage& s) -> std::string {
        std::uint64_t sent = 0;
        if (s.job.rank() == 1) {
          // Rank 0 moves its transport, and reads nothing before rank 1 has been refused often.
          for (; sent < 16; sent += s.messages.send(0, 0, {}) == status::ok ? 1 : 0) s.messages.progress();
          for (int refused = 0; refused < 3000; ++refused) {
            if (s.messages.send(0, 0, {}) == status::ok) ++sent;
            s.messages.progress();
          }
          if (sent != 16) return "a ring took " + std::to_string(sent) + " messages, not 16";
        }
        // Not fence(), which polls the messages.
        s.job.while_waiting([&] { s.messages.progress(); });
        s.job.fence();
        if (heard != 0) return "a handler ran outside poll()";
        s.job.while_waiting([&] { s.messages.poll(); });
        if (s.job.rank() == 0) s.until([&] { return heard == 16; });
        if (s.job.rank() == 1) s.send(0, 0, {});
        if (s.job.rank() == 0) s.until([&] { return heard == 17; });
        return "";
      },
      handlers);
  EXPECT_EQ(failed, "");
}

// Stuck replies do not lock up two that flood each other: each answers twice as much as a ring holds before it reads.
TEST_P(active_messages_over, two_that_flood_each_other_both_get_on) {
  constexpr std::uint64_t count = 2000;
  std::string said;
  std::uint64_t replies = 0;
  const auto handlers = [&](active_messages& m, int) {
    m.on(1, [](int, std::span<const std::byte> p) -> std::optional<message> { return message(2, p); });
    m.on(2, [&](int, std::span<const std::byte>) -> std::optional<message> {
      ++replies;
      return std::nullopt;
    });
  };
  const std::string failed = in_processes(
      GetParam(), said,
      [&](stage& s) -> std::string {
        if (s.job.rank() == 2) return "";
        for (std::uint64_t i = 0; i < count; ++i) s.send(1 - s.job.rank(), 1, bytes_of(i));
        s.until([&] { return replies == count; });
        return "";
      },
      handlers);
  EXPECT_EQ(failed, "");
}

INSTANTIATE_TEST_SUITE_P(, active_messages_over,
                         testing::Values(place{"shm", ""}, place{"sim", ""}, place{"ofi", "tcp;ofi_rxm"},
                                         place{"ofi", "shm"}),
                         [](const auto& p) {
                           std::string name = std::string(p.param.transport) + "_" + p.param.provider;
                           for (char& c : name) c = c == ';' ? '_' : c;
                           return name.ends_with('_') ? name + "plain" : name;
                         });

// --- what a handler must not do --------------------------------------------------------------------------------------

struct alone {
  fabric_in_process fabric{"self", "", 1};
  active_messages messages{fabric.of(0), 0, 1};
  alone() { messages.connect(0, messages.key()); }
  void deliver(std::uint8_t number) {
    if (messages.send(0, number, {}) != status::ok) std::abort();
    for (int i = 0; i < 4; ++i) messages.poll();
  }
};
void forbidden(void (*call)(active_messages&)) {
  alone one;
  one.messages.on(5, [&](int, std::span<const std::byte>) -> std::optional<message> {
    call(one.messages);
    return std::nullopt;
  });
  one.deliver(5);
}

TEST(active_messages_DeathTest, a_handler_that_sends_polls_or_makes_progress_is_caught) {
  EXPECT_EXIT(forbidden([](active_messages& m) { (void)m.send(0, 5, {}); }), testing::ExitedWithCode(1),
              "a handler of active messages called send\\(\\)");
  EXPECT_EXIT(forbidden([](active_messages& m) { m.poll(); }), testing::ExitedWithCode(1),
              "a handler of active messages called poll\\(\\)");
  EXPECT_EXIT(forbidden([](active_messages& m) { m.progress(); }), testing::ExitedWithCode(1),
              "a handler of active messages called progress\\(\\)");
}

TEST(active_messages_DeathTest, unknown_handlers_long_payloads_and_replies_to_replies_are_caught) {
  EXPECT_EXIT(alone().deliver(9), testing::ExitedWithCode(1), "rank 0 names the handler 9, which this worker has not");
  const std::byte long_one[active_messages::payload_max + 1] = {};
  EXPECT_EXIT((void)alone().messages.send(0, 0, long_one), testing::ExitedWithCode(1), "carries up to 48 bytes");
  EXPECT_EXIT(alone().messages.on(32, nullptr), testing::ExitedWithCode(1), "handlers have the numbers 0 to 31");
  const auto echo = [](int, std::span<const std::byte>) -> std::optional<message> { return message(3, {}); };
  EXPECT_EXIT(
      {
        alone one;
        one.messages.on(3, echo);
        one.deliver(3);
      },
      testing::ExitedWithCode(1), "only requests are replied to");
}

}  // namespace
