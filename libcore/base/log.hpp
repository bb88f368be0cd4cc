// SPDX-License-Identifier: Apache-2.0
// Messages for people. Every line goes to standard error in one write, so that the lines of several
// workers never interleave, and starts with "tobi: ".
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace tobi::base {

enum class log_level { error, warn, info, debug, trace };

/// What is printed: messages of this level and the graver ones. Set from TOBI_LOG; `warn` before that.
void set_log_level(log_level level) noexcept;
[[nodiscard]] bool log_enabled(log_level level) noexcept;

/// Which rank is speaking. From then on every line says "rank R on HOST". Before it is called no rank is named.
void set_log_identity(int rank);
/// "rank 3 on node17", or "" before set_log_identity. Built once: safe to read in a signal handler.
[[nodiscard]] std::string_view log_identity() noexcept;

/// This machine, as its kernel names it.
[[nodiscard]] std::string host_name();
/// What lines call it, where that is not unique in the job; to be set before the rank.
void set_host_name(const std::string& name);
/// The same as messages do. What the first call returns stays, and may be read in a signal handler.
[[nodiscard]] const char* known_host_name() noexcept;
/// RANK of this job as messages name it: "rank 3 on node17", as NAMES says; "rank 3" where none have been set.
[[nodiscard]] std::string name_of_rank(int rank);
void set_rank_names(std::function<std::string(int rank)> names);

/// One line, "tobi: [LEVEL ]rank R on HOST: MESSAGE\n", in one write(2); errors without the level's name.
void log(log_level level, std::string_view message);
/// The same for what each worker of a node finds, such as what its kernel forbids: the first worker of each says it.
void log_for_node(log_level level, std::string_view message);
/// Whether this worker is the first of its node; each one is until this is called.
void speak_for_node(bool first) noexcept;

/// Prints MESSAGE as an error and ends this process with STATUS, through the job's abort when there is
/// one (so that the other workers end too). `exit_usage` is for what the user typed.
inline constexpr int exit_failure = 1;
inline constexpr int exit_usage = 2;
[[noreturn]] void fatal(std::string_view message, int exit_status = exit_failure);
/// For what every rank of a job finds out by itself, such as a setting that cannot be served: rank 0 says it and ends
/// the job, while the others wait; one that is still there after three seconds has no rank 0 that says it.
[[noreturn]] void fatal_everywhere(int rank, std::string_view message, int exit_status);

/// A peer seems to have died. The bootstrap knows of what, says so and ends this process; it has not where this
/// returns, 0.3 s later.
void let_a_death_be_told() noexcept;
/// A job of several hosts: news of a death travel, and the first call of the above returns after so many seconds.
void give_news_of_death(int seconds) noexcept;

/// A launcher has started this process as number PROCESS, and it is "process PROCESS on HOST" until it has a rank. What
/// is fatal to it until then is most likely fatal to all: process 0 says so at once, and the others wait to be ended.
void set_unjoined_identity(int process);

/// A second line for every fatal error of this process, such as how to have it again.
void set_fatal_note(std::string_view note);
/// For a signal handler that says itself why the process ends.
void log_fatal_note();

/// What fatal() calls after it has printed, instead of _exit: the bootstrap's abort. It must not return. Where SPEAKS
/// is given and returns false, fatal() prints nothing: another worker has said why the job ends, and what several find
/// at once is one mistake.
void set_fatal_hook(void (*hook)(int exit_status), bool (*speaks)() noexcept = nullptr) noexcept;

/// An assertion that stays in release builds: cheap, and it says why.
#define TOBI_ASSERT(condition, why) \
  (__builtin_expect(!!(condition), 1) ? (void)0 : ::tobi::base::assertion_failed(#condition, why, __FILE__, __LINE__))
[[noreturn]] void assertion_failed(const char* condition, const char* why, const char* file, int line);

}  // namespace tobi::base
