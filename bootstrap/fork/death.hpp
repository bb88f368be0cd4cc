// How a job of forked processes ends when something goes wrong: watched by signals alone, so that a worker deep in
// computation is as good a watchman as an idle one.
//
//   a child dies           rank 0's SIGCHLD handler reaps it, says so, kills the others, and ends with its status.
//   rank 0 dies            the kernel sends each child the death signal; the first one says so, all end.
//   rank 0 gets SIGTERM... it marks the page, kills the children, and dies of that very signal, as one program would.
//   a child gets SIGINT... it hands it to rank 0: the terminal sends Ctrl-C to every process of the group.
//
// Everything here is called from handlers: only system calls and the job page.
#pragma once

#include "bootstrap/fork/job_page.hpp"

namespace tobi::bootstrap::forked {

/// Of every process, after the fork, with the signals below still blocked. RANK 0 watches its children, the others
/// their parent.
void watch(job_page& page, std::uint32_t rank) noexcept;
/// The signals that must be blocked from before the first fork until watch().
void block_signals(bool block) noexcept;
/// Ends the job from any rank, with STATUS.
[[noreturn]] void end_job(int status) noexcept;
/// Rank 0, at exit: waits for the children; answers the status of the first one that failed, or 0.
int reap_finalized() noexcept;
/// Rank 0: kills and reaps all children.
void kill_children() noexcept;

}  // namespace tobi::bootstrap::forked
