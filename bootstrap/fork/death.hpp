// SPDX-License-Identifier: Apache-2.0
// How a job ends when something goes wrong: watched by signals alone, so that a worker deep in computation is as good a
// watchman as an idle one. The head is the process that forked the others.
//
//   a child dies           the head's SIGCHLD handler reaps it, says so, kills the others, and ends with its status.
//   the head dies          the kernel sends each child the death signal; the first one says so, all end.
//   the head gets SIGTERM  (or SIGINT...) it marks the page, kills the children, and dies of that very signal, as one
//                          program would.
//   a child gets SIGINT... it hands it to the head: the terminal sends Ctrl-C to every process of the group.
//   another client dies    see lost.hpp.
//
// Everything here is called from handlers: only system calls, the job page, and the launcher's abort.
#pragma once

#include <string_view>

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/fork/job_page.hpp"

namespace tobi::bootstrap::forked {

/// Of every process, after the fork, with the signals below still blocked. Member 0, the head, watches its children,
/// the others the head.
void watch(job_page& page, std::uint32_t member, const plan& spread) noexcept;
/// The head: ENDS_BY ends the rest of the job when its own part of it ends, and TELLS is called before, also in signal
/// handlers. Null: from now on there is nobody to tell.
void set_rest_of_job(exchange* ends_by, void (*tells)(int status) noexcept) noexcept;
/// The head: the job is lost for a reason outside of its own processes. SENTENCE is said where nobody on this node has
/// spoken. BY_LAUNCHER: the launcher is asked to end all others.
[[noreturn]] void end_from_outside(std::string_view sentence, int status, bool by_launcher) noexcept;
/// The head needs the others no more.
[[nodiscard]] bool is_finalized() noexcept;
[[nodiscard]] std::string_view own_host() noexcept;
/// True for the one caller on this node that is to print why the job ends.
bool claim_report() noexcept;
/// The signals that must be blocked from before the first fork until watch().
void block_signals(bool block) noexcept;
/// Ends the job from any rank, with STATUS.
[[noreturn]] void end_job(int status) noexcept;
/// The head, at exit with OWN_STATUS: waits for the children. Returns the status of the first one that failed, or 0.
/// Names the first one that has ended otherwise than the head: a program that returns 3 does so on every rank.
int reap_finalized(int own_status) noexcept;
/// The head: kills and reaps all children, and removes what they and it would leave behind: the job ends.
void kill_children() noexcept;

}  // namespace tobi::bootstrap::forked
