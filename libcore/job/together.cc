// SPDX-License-Identifier: Apache-2.0
// What a program's ranks do together outside of tasks, besides running one: meeting, and counting.
#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <type_traits>

#include "libcore/base/log.hpp"
#include "libcore/base/statistics.hpp"
#include "libcore/job/job.hpp"
#include "libcore/job/limits.hpp"

namespace tobi::job {

namespace {

void keep_least(void* into, const void* from) {
  auto* const least = static_cast<std::uint64_t*>(into);
  const auto* const theirs = static_cast<const std::uint64_t*>(from);
  for (int i = 0; i < 2; ++i) least[i] = std::min(least[i], theirs[i]);
}

struct counted_by_all {
  statistics all;
  std::uint64_t asking;  // ranks that want each one's
};
static_assert(sizeof(counted_by_all) <= combined_max && std::is_trivially_copyable_v<counted_by_all>);

void add_counted(void* into, const void* from) {
  auto& sum = *static_cast<counted_by_all*>(into);
  const auto& one = *static_cast<const counted_by_all*>(from);
  base::add(sum.all, one.all);
  sum.asking += one.asking;
}

}  // namespace

void job::enter(call which) {
  if (sched::this_worker().inside_task()) {
    const std::string name(name_of(which));
    base::fatal(which == call::run ? name + " was called inside a task; a program has one root at a time."
                : which == call::end
                    ? name + " was called inside a task (by exit?); end tasks by returning."
                    : name +
                          " was called inside a task; it is for all ranks, outside of tobi::run. In a task "
                          "tobi::on_all_workers has all ranks call it.",
                base::exit_usage);
  }
  if (collections_ != nullptr && collections_->processing()) {
    base::fatal(std::string(name_of(which)) +
                    " was called inside a task of a collection; it is for all ranks, outside of process().",
                base::exit_usage);
  }
  if (which != call::end && !segment_.has_file()) {
    base::fatal(
        "the program has closed the descriptor of the runtime's memory: it may close only its own, or all of them "
        "before tobi::runtime is made.");
  }
  together_->enter(which);
}

// A rank compares before it can get a task. Code of the program and of its libraries was the same from the start, and
// costs nothing here. Rank 0's words are read only by ranks that know that some rank has others.
void job::compare_code(const void* body) {
  if (code_.holds(body)) return;
  control_->root_code = describe_code(body);
  const std::uint64_t mine = digest_of(control_->root_code);
  std::array<std::uint64_t, 2> all{mine, ~mine};
  together_->combine(all.data(), sizeof all, keep_least);
  if (all[0] == ~all[1] || rank() == 0) return;
  code_words theirs;
  net_->get({0, offsetof(control_block, root_code)}, &theirs, sizeof theirs);
  if (const std::string why = difference(control_->root_code, theirs); !why.empty()) {
    base::fatal(why, base::exit_usage);
  }
}

void job::coherent_barrier() {
  pgas::memory& shared = *global_->memory();
  if (shared.used) {
    shared.nothing_held("barrier");
    shared.release();
  }
  barrier();
  if (shared.used) shared.acquire(0, -1);
}

statistics job::stats(statistics* each) {
  control_->counted = sched::this_worker().counted();
  control_->counted.global = global_->memory()->counted();
  counted_by_all words{control_->counted, each != nullptr ? 1u : 0u};
  together_->combine(&words, sizeof words, add_counted);
  if (words.asking == 0) return words.all;
  for (int r = 0; each != nullptr && r < size(); ++r) {
    net_->get({r, offsetof(control_block, counted)}, &each[r], sizeof each[r]);
  }
  barrier();  // before they count again
  return words.all;
}

std::uint64_t job::most_of_all(std::uint64_t mine) {
  together_->combine(&mine, sizeof mine, [](void* into, const void* from) {
    auto& most = *static_cast<std::uint64_t*>(into);
    most = std::max(most, *static_cast<const std::uint64_t*>(from));
  });
  return mine;
}

void job::reset_stats() {
  sched::this_worker().reset_counts();
  global_->memory()->reset_counts();
  barrier();
}

}  // namespace tobi::job
