// SPDX-License-Identifier: Apache-2.0
#include "libcore/base/log.hpp"

#include <time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <string>
#include <utility>

#include "libcore/base/leave.hpp"
#include "libcore/base/text_line.hpp"

namespace tobi::base {

namespace {

constexpr std::array<std::string_view, 5> level_words{"", "warning: ", "info: ", "debug: ", "trace: "};

// What a pipe takes in one piece (PIPE_BUF): longer lines of several workers could interleave.
constexpr std::size_t line_max = 4096;

log_level threshold = log_level::warn;
bool speaks_for_node = true;
void (*fatal_hook)(int) = nullptr;
bool (*fatal_speaks)() noexcept = nullptr;
// A plain array, not a string: signal handlers read it.
std::array<char, 320> identity{};
std::array<char, 256> known_host{};
std::size_t identity_bytes = 0;
std::array<char, 512> fatal_note{};
std::size_t fatal_note_bytes = 0;

bool waits_for_process_0 = false;
std::atomic<int> news_take_s{0};

std::function<std::string(int)>& rank_names() {
  static auto& names = *new std::function<std::string(int)>;  // threads that name a rank may outlive static objects
  return names;
}

// Also where signals come: of the deaths that are about to be told.
void sleep_through(long ms) noexcept {
  timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_sec += ms / 1000;
  until.tv_nsec += ms % 1000 * 1'000'000;
  if (until.tv_nsec >= 1'000'000'000) {
    ++until.tv_sec;
    until.tv_nsec -= 1'000'000'000;
  }
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
  }
}

void set_identity(const std::string& who) {
  identity_bytes = (who + " on " + known_host_name()).copy(identity.data(), identity.size());
}

void leave_the_word() { sleep_through(3000); }  // mpirun takes one second to end the others

}  // namespace

void set_log_level(log_level level) noexcept { threshold = level; }
bool log_enabled(log_level level) noexcept { return level <= threshold; }

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown host";
}

void set_host_name(const std::string& name) { known_host[name.copy(known_host.data(), known_host.size() - 1)] = '\0'; }

const char* known_host_name() noexcept {
  if (known_host[0] == '\0') set_host_name(host_name());
  return known_host.data();
}

void set_log_identity(int rank) {
  set_identity("rank " + std::to_string(rank));
  waits_for_process_0 = false;
}

void set_unjoined_identity(int process) {
  set_identity("process " + std::to_string(process));
  waits_for_process_0 = process != 0;
}

std::string_view log_identity() noexcept { return {identity.data(), identity_bytes}; }

std::string name_of_rank(int rank) { return rank_names() ? rank_names()(rank) : "rank " + std::to_string(rank); }
void set_rank_names(std::function<std::string(int)> names) { rank_names() = std::move(names); }

void log(log_level level, std::string_view message) {
  if (!log_enabled(level)) return;
  constexpr std::string_view whole = "\n", cut = "...\n";
  text_buffer<line_max, cut.size()> line;
  line << "tobi: " << level_words[static_cast<std::size_t>(level)];
  if (identity_bytes != 0) line.printable(log_identity()) << ": ";
  line.printable(message).end(whole, cut).write_to(STDERR_FILENO);
}

void log_for_node(log_level level, std::string_view message) {
  if (speaks_for_node) log(level, message);
}
void speak_for_node(bool first) noexcept { speaks_for_node = first; }

void set_fatal_note(std::string_view note) { fatal_note_bytes = note.copy(fatal_note.data(), fatal_note.size()); }

void log_fatal_note() {
  if (fatal_note_bytes != 0) log(log_level::error, {fatal_note.data(), fatal_note_bytes});
}

void set_fatal_hook(void (*hook)(int exit_status), bool (*speaks)() noexcept) noexcept {
  fatal_hook = hook;
  fatal_speaks = speaks;
}

void fatal(std::string_view message, int exit_status) {
  if (waits_for_process_0) leave_the_word();
  if (fatal_speaks == nullptr || fatal_speaks()) {
    log(log_level::error, message);
    log_fatal_note();
  } else {
    sleep_through(200);  // ending the job at once would end the worker that is about to say it
  }
  if (at_last != nullptr) at_last();  // before the job is ended from outside
  if (fatal_hook != nullptr) fatal_hook(exit_status);
  leave(exit_status);
}

void fatal_everywhere(int rank, std::string_view message, int exit_status) {
  if (rank != 0) leave_the_word();
  fatal(message, exit_status);
}

void give_news_of_death(int seconds) noexcept { news_take_s.store(seconds, std::memory_order_relaxed); }

void let_a_death_be_told() noexcept {
  const int seconds = news_take_s.exchange(0, std::memory_order_relaxed);  // once: it has been told by then
  sleep_through(seconds == 0 ? 300 : 1000L * seconds);
}

void assertion_failed(const char* condition, const char* why, const char* file, int at_line) {
  fatal(std::string("an internal check has failed: ") + why + " (" + condition + " at " + file + ":" +
        std::to_string(at_line) + "); this is a defect of Tobiuo: please report this line.");
}

}  // namespace tobi::base
