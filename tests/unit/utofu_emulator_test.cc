// SPDX-License-Identifier: Apache-2.0
// The emulator of uTofu: it moves bytes, and it catches each breach of the interface's rules that it knows of. A breach
// is tried in a child process, which the emulator is expected to abort with a sentence.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/emulators/utofu/calls.hpp"
#include "tests/limits.hpp"

namespace {

using emulated::code;
namespace utofu = emulated::utofu;
namespace flag = emulated::flag;

std::string machine_of(int pid) { return "test-" + std::to_string(pid); }
std::string folder_of(int pid) { return "/dev/shm/tofu-emulator-" + std::to_string(getuid()) + "-" + machine_of(pid); }

template <class Function>
Function* call(const char* name) {
  static void* library = [] {
    const auto here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    void* so = dlopen((here / "emulators/libtofucom.so").c_str(), RTLD_NOW);
    if (so == nullptr) {
      std::fprintf(stderr, "%s\n", dlerror());
      std::_Exit(99);
    }
    return so;
  }();
  return reinterpret_cast<Function*>(dlsym(library, name));
}
#define CALL(name) call<decltype(utofu_##name)>("utofu_" #name)

struct ended {
  int status = 0;
  std::string said;
  [[nodiscard]] bool well() const { return WIFEXITED(status) && WEXITSTATUS(status) == 0; }
  [[nodiscard]] bool aborted() const { return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT; }
};

// What becomes of a process that does BODY with the emulator in MODE. It returns what is wrong, or nothing.
ended in_child(const std::string& mode, const std::function<std::string()>& body) {
  int out[2];
  EXPECT_EQ(pipe(out), 0);
  const pid_t child = fork();
  if (child == 0) {
    alarm(hang_s());
    const rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    dup2(out[1], STDERR_FILENO);
    setenv("TOFU_EMULATOR", mode.c_str(), 1);
    setenv("TOFU_EMULATOR_MACHINE", machine_of(getpid()).c_str(), 1);
    const std::string wrong = body();
    if (!wrong.empty()) std::fprintf(stderr, "wrong: %s\n", wrong.c_str());
    std::exit(wrong.empty() ? 0 : 1);
  }
  close(out[1]);
  ended e;
  char text[512];
  for (ssize_t n = 0; (n = read(out[0], text, sizeof text)) > 0;) e.said.append(text, static_cast<std::size_t>(n));
  close(out[0]);
  waitpid(child, &e.status, 0);
  if (WIFSIGNALED(e.status) && WTERMSIG(e.status) == SIGALRM)
    std::printf("late - ran for %u s without an end\n", hang_s());
  std::error_code ignored;
  const bool left = std::filesystem::exists(folder_of(child));
  EXPECT_FALSE(e.well() && left) << "files are left behind";
  std::filesystem::remove_all(folder_of(child), ignored);
  return e;
}

constexpr unsigned long both = flag::tcq_notice | flag::local_mrq_notice;

// Two VCQs of one process, and memory of each.
struct pair_of_queues {
  static constexpr std::size_t bytes = 20u << 20;
  utofu::vcq_handle from = 0, to = 0;
  utofu::vcq_id target = 0;
  std::byte *here = nullptr, *there = nullptr;
  utofu::stadd local = 0, remote = 0;

  explicit pair_of_queues(unsigned long flags = 0) {
    CALL(create_vcq)(0, flags, &from);
    CALL(create_vcq)(1, flags, &to);
    CALL(query_vcq_id)(to, &target);
    void* at = mmap(nullptr, 2 * bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    here = static_cast<std::byte*>(at);
    there = here + bytes;
    CALL(reg_mem)(from, here, bytes, 0, &local);
    CALL(reg_mem)(to, there, bytes, 0, &remote);
  }
  ~pair_of_queues() {
    CALL(free_vcq)(from);
    CALL(free_vcq)(to);
  }
  pair_of_queues(const pair_of_queues&) = delete;
  pair_of_queues& operator=(const pair_of_queues&) = delete;

  [[nodiscard]] int put(std::size_t n, unsigned long flags = both, std::uint64_t edata = 0) const {
    return CALL(put)(from, target, local, remote, n, edata, flags, nullptr);
  }
  // The next notice of H's MRQ, with its code.
  static int next(utofu::vcq_handle h, utofu::mrq_notice& n) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(hang_s());
    while (std::chrono::steady_clock::now() < until) {
      const int c = CALL(poll_mrq)(h, 0, &n);
      if (c != code::not_found) return c;
      usleep(100);
    }
    return code::not_found;
  }
};

std::uint64_t word_at(const std::byte* at) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, sizeof word);
  return word;
}

#define NEED(condition) \
  if (!(condition)) return std::string("not so: " #condition)

void breach(const char* mode, const char* words, const std::function<std::string()>& body) {
  const ended e = in_child(mode, body);
  EXPECT_TRUE(e.aborted()) << words << ": status " << e.status << ", " << e.said;
  EXPECT_NE(e.said.find(words), std::string::npos) << e.said;
}
void works(const char* mode, const std::function<std::string()>& body) {
  const ended e = in_child(mode, body);
  EXPECT_TRUE(e.well()) << "status " << e.status << ", " << e.said;
}

TEST(utofu_emulator, puts_and_gets_move_their_bytes_and_tell_both_queues) {
  works("", [] {
    const pair_of_queues q;
    for (const std::size_t n : {std::size_t{1}, std::size_t{8}, std::size_t{5000}, std::size_t{16'777'215}}) {
      for (std::size_t i = 0; i < n; ++i) q.here[i] = static_cast<std::byte>(i * 7 + n);
      NEED(q.put(n, both | flag::remote_mrq_notice, 200) == code::success);
      utofu::mrq_notice own{};
      utofu::mrq_notice theirs{};
      NEED(pair_of_queues::next(q.from, own) == code::success);
      NEED(pair_of_queues::next(q.to, theirs) == code::success);
      NEED(own.type == static_cast<std::uint8_t>(utofu::notice_type::lcl_put) && own.edata == 200);
      NEED(theirs.type == static_cast<std::uint8_t>(utofu::notice_type::rmt_put) && theirs.edata == 200);
      NEED(std::memcmp(q.here, q.there, n) == 0);
      void* cb = nullptr;
      NEED(CALL(poll_tcq)(q.from, 0, &cb) == code::success);
      std::memset(q.here, 0, n);
      NEED(CALL(get)(q.from, q.target, q.local, q.remote, n, 1, both, &cb) == code::success);
      NEED(pair_of_queues::next(q.from, own) == code::success && own.edata == 1);
      NEED(std::memcmp(q.here, q.there, n) == 0);
      NEED(CALL(poll_tcq)(q.from, 0, &cb) == code::success && cb == &cb);
    }
    return std::string();
  });
}

TEST(utofu_emulator, an_armw_leaves_the_old_value_in_the_mrq) {
  works("", [] {
    const pair_of_queues q;
    utofu::mrq_notice n{};
    NEED(CALL(armw8)(q.from, q.target, utofu::armw_op::add, 5, q.remote, 9, both, nullptr) == code::success);
    NEED(pair_of_queues::next(q.from, n) == code::success && n.rmt_value == 0 && n.edata == 9);
    NEED(CALL(cswap8)(q.from, q.target, 5, 77, q.remote, 3, both, nullptr) == code::success);
    NEED(pair_of_queues::next(q.from, n) == code::success && n.rmt_value == 5 && word_at(q.there) == 77);
    NEED(CALL(cswap8)(q.from, q.target, 5, 78, q.remote, 3, both, nullptr) == code::success);
    NEED(pair_of_queues::next(q.from, n) == code::success && n.rmt_value == 77 && word_at(q.there) == 77);
    // Without the flag nobody is told.
    NEED(CALL(armw4)(q.from, q.target, utofu::armw_op::swap, 1, q.remote, 3, flag::tcq_notice, nullptr) ==
         code::success);
    while (word_at(q.there) != 1) usleep(100);
    NEED(CALL(poll_mrq)(q.from, 0, &n) == code::not_found);
    return std::string();
  });
}

// Two puts to one word, 300 times: how often the first one is what remains.
int overtaken(const char* mode, unsigned long second) {
  const ended e = in_child(mode, [second] {
    const pair_of_queues q;
    int first_remains = 0;
    for (int i = 0; i < 300; ++i) {
      std::uint64_t one = 1;
      std::uint64_t two = 2;
      CALL(put_piggyback)(q.from, q.target, &one, q.remote, 8, 0, both, nullptr);
      CALL(put_piggyback)(q.from, q.target, &two, q.remote, 8, 0, both | second, nullptr);
      utofu::mrq_notice n{};
      void* cb = nullptr;
      for (int k = 0; k < 2; ++k) {
        NEED(pair_of_queues::next(q.from, n) == code::success);
        NEED(CALL(poll_tcq)(q.from, 0, &cb) == code::success);
      }
      first_remains += word_at(q.there) == 1 ? 1 : 0;
    }
    return std::to_string(first_remains);
  });
  return std::atoi(e.said.substr(7).c_str());
}

TEST(utofu_emulator, requests_overtake_each_other_unless_strong_order_is_given) {
  EXPECT_GT(overtaken("seed=3", 0), 0);
  EXPECT_EQ(overtaken("seed=3", flag::strong_order), 0);
}

// A get behind a put of the same word, in order as far as ORDER says.
int read_too_early(const char* mode) {
  const ended e = in_child(mode, [] {
    const pair_of_queues q;
    int early = 0;
    for (std::uint64_t i = 1; i <= 300; ++i) {
      CALL(put_piggyback8)(q.from, q.target, i, q.remote, 8, 0, both, nullptr);
      CALL(get)(q.from, q.target, q.local, q.remote, 8, 0, both | flag::strong_order, nullptr);
      utofu::mrq_notice n{};
      void* cb = nullptr;
      for (int k = 0; k < 2; ++k) {
        NEED(pair_of_queues::next(q.from, n) == code::success);
        NEED(CALL(poll_tcq)(q.from, 0, &cb) == code::success);
      }
      early += word_at(q.here) != i ? 1 : 0;
    }
    return std::to_string(early);
  });
  return std::atoi(e.said.substr(7).c_str());
}

TEST(utofu_emulator, strong_order_is_of_writes_unless_it_is_said_to_be_of_all) {
  EXPECT_GT(read_too_early("order=writes"), 0);
  EXPECT_EQ(read_too_early("order=all"), 0);
}

TEST(utofu_emulator, a_full_toq_is_busy_until_the_tcq_is_polled) {
  works("toq=4", [] {
    const pair_of_queues q;
    for (int i = 0; i < 4; ++i) NEED(q.put(8, flag::tcq_notice) == code::success);
    NEED(q.put(8, flag::tcq_notice) == code::busy);
    void* cb = nullptr;
    while (CALL(poll_tcq)(q.from, 0, &cb) == code::not_found) usleep(100);
    NEED(q.put(8, flag::tcq_notice) == code::success);
    NEED(q.put(8, flag::tcq_notice) == code::busy);
    return std::string();
  });
}

TEST(utofu_emulator, a_descriptor_of_several_requests_is_posted_whole_or_not) {
  works("toq=4", [] {
    const pair_of_queues q;
    std::byte all[3 * 64];
    std::size_t at = 0;
    for (int i = 0; i < 3; ++i) {
      std::size_t n = 0;
      NEED(CALL(prepare_put)(q.from, q.target, q.local, q.remote, 8, 0, flag::tcq_notice, all + at, &n) == 0 &&
           n <= 64);
      at += n;
    }
    NEED(CALL(post_toq)(q.from, all, at, nullptr) == code::success);
    NEED(CALL(post_toq)(q.from, all, at, nullptr) == code::busy);
    std::size_t unread = 0;
    while (unread < 3) NEED(CALL(query_num_unread_tcq)(q.from, &unread) == code::success);
    NEED(unread == 3);
    return std::string();
  });
}

TEST(utofu_emulator, tofu_1_has_no_armw_and_no_piggyback) {
  works("tofu1", [] {
    const pair_of_queues q;
    utofu::onesided_caps* caps = nullptr;
    NEED(CALL(query_onesided_caps)(0, &caps) == code::success);
    NEED(caps->armw_ops == 0 && (caps->flags & flag::cap_armw) == 0 && caps->max_piggyback_size == 0);
    NEED(CALL(armw8)(q.from, q.target, utofu::armw_op::add, 5, q.remote, 9, both, nullptr) == code::not_supported);
    NEED(CALL(put_piggyback8)(q.from, q.target, 5, q.remote, 8, 9, both, nullptr) == code::not_supported);
    NEED(q.put(4) == code::success);
    return std::string();
  });
  breach("tofu1", "not of multiples of 4", [] { return pair_of_queues().put(6) == 0 ? "" : "refused"; });
  breach("tofu1", "not of multiples of 4", [] {
    const pair_of_queues q;
    return CALL(get)(q.from, q.target, q.local, q.remote + 2, 4, 0, both, nullptr) == 0 ? "" : "refused";
  });
}

TEST(utofu_emulator, limits_of_a_request_are_kept) {
  breach("", "of 16777216 bytes is not within", [] { return std::to_string(pair_of_queues().put(16'777'216)); });
  breach("", "edata 256, of which one byte", [] { return std::to_string(pair_of_queues().put(8, both, 256)); });
  breach("", "flags 2000", [] { return std::to_string(pair_of_queues().put(8, 0x2000)); });
  breach("", "DELAY_START", [] { return std::to_string(pair_of_queues().put(8, flag::delay_start)); });
  breach("", "piggyback put of 33 bytes", [] {
    const pair_of_queues q;
    char data[64] = {};
    return std::to_string(CALL(put_piggyback)(q.from, q.target, data, q.remote, 33, 0, both, nullptr));
  });
  for (const std::size_t off : {std::size_t{4}, std::size_t{1}}) {
    breach("", "not aligned to them", [off] {
      const pair_of_queues q;
      return std::to_string(CALL(armw8)(q.from, q.target, utofu::armw_op::add, 1, q.remote + off, 0, both, nullptr));
    });
  }
  breach("", "not aligned to them", [] {
    const pair_of_queues q;
    return std::to_string(CALL(armw4)(q.from, q.target, utofu::armw_op::add, 1, q.remote + 2, 0, both, nullptr));
  });
  breach("", "no utofu_prepare_*() has made", [] {
    const pair_of_queues q;
    char nonsense[64] = {};
    return std::to_string(CALL(post_toq)(q.from, nonsense, 64, nullptr));
  });
}

TEST(utofu_emulator, a_breach_is_a_code_where_that_is_asked_for) {
  works("lax", [] {
    const pair_of_queues q;
    NEED(q.put(16'777'216) == code::invalid_size);
    NEED(q.put(8, both, 256) == code::invalid_edata);
    NEED(CALL(armw8)(q.from, q.target, utofu::armw_op::add, 1, q.remote + 4, 0, both, nullptr) == code::invalid_stadd);
    NEED(CALL(put)(q.from, q.target, q.local, q.remote + pair_of_queues::bytes, 8, 6, both, nullptr) == code::success);
    utofu::mrq_notice n{};
    NEED(pair_of_queues::next(q.from, n) == code::mrq_rmt_stadd && n.edata == 6);
    return std::string();
  });
}

TEST(utofu_emulator, memory_that_is_not_registered_is_reported) {
  breach("", "local memory that is not registered", [] {
    const pair_of_queues q;
    return std::to_string(
        CALL(put)(q.from, q.target, q.local + pair_of_queues::bytes - 4, q.remote, 8, 0, both, nullptr));
  });
  breach("", "not registered at its target", [] {
    const pair_of_queues q;
    static_cast<void>(CALL(put)(q.from, q.target, q.local, q.remote + pair_of_queues::bytes - 4, 8, 0, both, nullptr));
    utofu::mrq_notice n{};
    return std::to_string(pair_of_queues::next(q.from, n));
  });
  breach("", "not registered at its target", [] {
    const pair_of_queues q;
    CALL(dereg_mem)(q.to, q.remote, 0);
    static_cast<void>(CALL(get)(q.from, q.target, q.local, q.remote, 8, 0, both, nullptr));
    utofu::mrq_notice n{};
    return std::to_string(pair_of_queues::next(q.from, n));
  });
  breach("", "deregistered and is not registered", [] {
    const pair_of_queues q;
    CALL(dereg_mem)(q.to, q.remote, 0);
    return std::to_string(CALL(dereg_mem)(q.to, q.remote, 0));
  });
  breach("", "not all of them are mapped", [] {
    const pair_of_queues q;
    utofu::stadd out = 0;
    return std::to_string(CALL(reg_mem)(q.from, q.there + pair_of_queues::bytes - 4096, 1u << 30, 0, &out));
  });
}

TEST(utofu_emulator, a_stag_has_an_alignment_and_names_one_region) {
  breach("", "not aligned to 256 bytes", [] {
    const pair_of_queues q;
    utofu::stadd out = 0;
    return std::to_string(CALL(reg_mem_with_stag)(q.from, q.here + 64, 64, 7, 0, &out));
  });
  breach("", "STAG 256 is not below 256", [] {
    const pair_of_queues q;
    utofu::stadd out = 0;
    return std::to_string(CALL(reg_mem_with_stag)(q.from, q.here, 64, 256, 0, &out));
  });
  works("", [] {
    const pair_of_queues q;
    utofu::stadd out = 0;
    utofu::stadd found = 0;
    NEED(CALL(reg_mem_with_stag)(q.to, q.there, 256, 7, 0, &out) == code::success);
    NEED(CALL(query_stadd)(q.target, 7, &found) == code::success && found == out);
    return std::string();
  });
}

TEST(utofu_emulator, an_mrq_that_overflows_is_reported) {
  breach("mrq=8", " overflows: ", [] {
    const pair_of_queues q;
    for (int i = 0; i < 9; ++i) {
      static_cast<void>(q.put(8, both));
      void* cb = nullptr;
      while (CALL(poll_tcq)(q.from, 0, &cb) == code::not_found) usleep(100);
    }
    for (;;) pause();  // until somebody notices
    return std::string();
  });
}

TEST(utofu_emulator, two_threads_in_a_vcq_are_reported) {
  const auto body = [](unsigned long flags, int turns) {
    return [flags, turns] {
      const pair_of_queues q(flags);
      std::atomic<bool> stop{false};
      std::thread other([&] {
        utofu::mrq_notice n{};
        while (!stop) CALL(poll_mrq)(q.from, 0, &n);
      });
      for (int i = 0; turns == 0 || i < turns; i = (i + 1) % 1'000'000) {
        void* cb = nullptr;
        CALL(poll_tcq)(q.from, 0, &cb);
        if (i % 1000 == 0) usleep(1);
      }
      stop = true;
      other.join();
      return std::string();
    };
  };
  breach("", "two threads are in one VCQ at once", body(0, 0));  // until it is
  works("", body(flag::vcq_thread_safe, 200'000));
}

// The target's CPU writes next to a word while a put of that word is under way.
std::string write_next_to_a_put() {
  const pair_of_queues q;
  for (std::uint64_t i = 1; i <= 40; ++i) {
    CALL(put_piggyback8)(q.from, q.target, i, q.remote, 8, 0, both, nullptr);
    utofu::mrq_notice n{};
    auto* next = reinterpret_cast<std::uint64_t*>(q.there + 64);
    int c = code::not_found;
    while ((c = CALL(poll_mrq)(q.from, 0, &n)) == code::not_found) std::atomic_ref(*next).fetch_add(1);
    if (c != code::success) return "a put failed";
    void* cb = nullptr;
    CALL(poll_tcq)(q.from, 0, &cb);
    if (word_at(q.there) != i) return "lost";
  }
  return "";
}

TEST(utofu_emulator, a_line_that_is_shared_with_the_cpu_is_reported_counted_or_lost) {
  works("latency=200000", write_next_to_a_put);
  breach("latency=200000,lines=report", "while a CPU wrote other bytes of that 256-byte line", write_next_to_a_put);
  const ended lost = in_child("latency=200000,lines=lose", write_next_to_a_put);
  EXPECT_NE(lost.said.find("wrong: lost"), std::string::npos) << lost.said;
  const ended counted = in_child("latency=200000,lines=count", write_next_to_a_put);
  EXPECT_TRUE(counted.well()) << counted.said;
  EXPECT_NE(counted.said.find(" of 40 writes came into a 256-byte line"), std::string::npos) << counted.said;
  // Other puts into the line are the device's doing.
  works("latency=200000,lines=report", [] {
    const pair_of_queues q;
    for (std::uint64_t i = 0; i < 16; ++i) {
      CALL(put_piggyback8)(q.from, q.target, i, q.remote + 8 * i, 8, 0, both, nullptr);
    }
    for (int i = 0; i < 16; ++i) {
      utofu::mrq_notice n{};
      NEED(pair_of_queues::next(q.from, n) == code::success);
    }
    return std::string();
  });
}

TEST(utofu_emulator, a_peer_that_was_killed_is_an_error_and_leaves_nothing_that_hurts) {
  works("", [] {
    int told[2];
    NEED(pipe(told) == 0);
    const pid_t peer = fork();
    if (peer == 0) {
      utofu::vcq_handle h = 0;
      utofu::vcq_id id = 0;
      CALL(create_vcq)(0, 0, &h);
      CALL(query_vcq_id)(h, &id);
      static_cast<void>(!write(told[1], &id, sizeof id));
      for (;;) pause();
    }
    utofu::vcq_id target = 0;
    NEED(read(told[0], &target, sizeof target) == sizeof target);
    const pair_of_queues q;
    kill(peer, SIGKILL);
    NEED(CALL(put)(q.from, target, q.local, q.remote, 8, 4, both, nullptr) == code::success);
    utofu::mrq_notice n{};
    NEED(pair_of_queues::next(q.from, n) == code::mrq_peer && n.edata == 4);
    waitpid(peer, nullptr, 0);
    // The dead one's queue is free again.
    std::set<utofu::vcq_id> seen;
    for (int i = 0; i < 12; ++i) {
      utofu::vcq_handle h = 0;
      utofu::vcq_id id = 0;
      if (CALL(create_vcq)(0, 0, &h) != code::success) break;
      CALL(query_vcq_id)(h, &id);
      seen.insert(id);
    }
    NEED(seen.contains(target));
    return std::string();
  });
}

TEST(utofu_emulator, a_mode_that_there_is_not_is_refused) {
  const ended e = in_child("toq=0", [] {
    const pair_of_queues q;
    return std::string();
  });
  EXPECT_TRUE(WIFEXITED(e.status) && WEXITSTATUS(e.status) == 2);
  EXPECT_NE(e.said.find("has \"toq=0\", which is not one of"), std::string::npos);
}

}  // namespace
