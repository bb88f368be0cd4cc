// SPDX-License-Identifier: Apache-2.0
// What is around a job that begins: threads of the program, which forked workers will not have; another copy of the
// library in the same process; another job, one of whose processes has started this program.
#pragma once

#include <string>
#include <vector>

namespace tobi::bootstrap {

/// The names of this process's other threads, but for main's.
[[nodiscard]] std::vector<std::string> other_threads_here();
/// "" or one sentence: workers that are forked have none of THREADS.
[[nodiscard]] std::string lost_threads(const std::vector<std::string>& threads);

/// Whether a process of a running job has started this program, and it has that process's place in the launcher's
/// environment; or a job lives in this process.
[[nodiscard]] bool has_the_place_of_a_job();
/// A job lives in this process, or will at once: other copies of the library in it, and the programs that it starts,
/// find that out. Fatal, status 2, where a job of another copy lives here. LAUNCHED: fatal too where this program was
/// started by a process of a job, whose launcher's environment it has inherited: it would be taken for that process,
/// and both would wait for ever.
void mark_job(bool launched);
/// The job is over.
void unmark_job() noexcept;

}  // namespace tobi::bootstrap
