// SPDX-License-Identifier: Apache-2.0
// The public face of the job.
#include "tobi/runtime.hpp"

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "libcore/base/file_limit.hpp"
#include "libcore/base/log.hpp"
#include "libcore/job/job.hpp"
#include "libcore/task/door.hpp"
#include "libcore/task/memory_or_end.hpp"
#include "tobi/detail/collection.hpp"
#include "tobi/on_all_workers.hpp"
#include "tobi/per_worker.hpp"
#include "tobi/phase.hpp"

namespace tobi {

namespace {

// No object of C++: the runtime may be a global variable, which may live longer than those of this library.
job::job* the_job = nullptr;
runtime* the_face = nullptr;  // of it

// The program is outside before and after. A job's start and its end make files, most of them without a name.
struct start_or_end {
  start_or_end() noexcept { tasks::the_door.step_in(); }
  ~start_or_end() { tasks::the_door.step_out(); }
  start_or_end(const start_or_end&) = delete;
  start_or_end& operator=(const start_or_end&) = delete;

  base::file_limit_as_error files;
};

job::job& need_job(const char* what = "tobi::run was called") {
  if (the_job == nullptr)
    base::fatal(std::string(what) + " without a tobi::runtime alive; make one in main.", base::exit_usage);
  return *the_job;
}

}  // namespace

runtime::runtime(int, char**) : runtime(options{}) {}
runtime::runtime(const options& chosen) {
  const start_or_end now;
  tasks::memory_or_end::begin();
  the_job = new job::job(chosen);
  the_face = this;
}
runtime::~runtime() {
  const start_or_end now;
  delete std::exchange(the_job, nullptr);
  tasks::memory_or_end::end();
}

int runtime::rank() const noexcept { return the_job->rank(); }
int runtime::size() const noexcept { return the_job->size(); }
int runtime::computing() const noexcept { return the_job->computing(); }
int runtime::nodes() const noexcept { return the_job->nodes(); }
void runtime::barrier() {
  const tasks::indoors now;
  need_job().enter(job::call::barrier);
  the_job->coherent_barrier();
}
void runtime::print(std::string_view text) {
  const std::vector<char> all = gather(text);
  if (rank() != 0) return;
  std::fwrite(all.data(), 1, all.size(), stdout);
  std::fflush(stdout);
}
statistics runtime::stats(statistics* each) {
  const tasks::indoors now;
  need_job().enter(job::call::stats);
  return the_job->stats(each);
}
void runtime::reset_stats() {
  const tasks::indoors now;
  need_job().enter(job::call::reset_stats);
  the_job->reset_stats();
}
std::string_view runtime::transport_name() const noexcept { return the_job->transport_name(); }
std::string_view runtime::sched_name() const noexcept { return the_job->sched_name(); }
std::string_view runtime::deque_name() const noexcept { return the_job->deque_name(); }
bool runtime::local_collection() const noexcept { return the_job->local_collection(); }

namespace detail {
void run_root(const root& what, void* result) {
  const tasks::indoors now;
  tasks::memory_or_end::worker_is_here();
  need_job().run(what, result);
}
runtime& the_runtime() {
  (void)need_job("the runtime was asked for");
  return *the_face;
}

namespace {

// Another task's pause may come first. The task may go on in another process each time: nothing of one is kept.
template <class Ask>
void pause_run(Ask ask, void* result, std::uint32_t bytes) {
  for (;;) {
    job::pause_asked asked{};
    {
      const tasks::indoors now;
      asked = ask(need_job());
    }
    if (asked.is_own) return tobi_future_join(asked.ends, result, bytes);
    tobi_future_join(asked.ends, nullptr, 0);
  }
}

pool::collection& part(void* of) noexcept { return *static_cast<pool::collection*>(of); }

}  // namespace

extern "C" {

void tobi_gather_begin(const void* mine, std::uint64_t bytes, int of, std::uint64_t* sizes, std::uint64_t each) {
  const tasks::indoors now;
  need_job().enter(job::call::gather);
  the_job->gathers().begin(mine, bytes, of, sizes, each);
}
void tobi_gather_end(void* into) {
  const tasks::indoors now;
  the_job->gathers().end(into);
}
void tobi_gather_check_root(const char* call, int root) {
  if (root >= 0 && root < need_job().size()) return;
  base::fatal(std::string("rt.") + call + " was given rank " + std::to_string(root) +
                  " as its root; there are ranks 0 to " + std::to_string(the_job->size() - 1) + ".",
              base::exit_usage);
}
void* tobi_own_objects[most_own_objects];
std::uint32_t tobi_own_object_keep(void* object) noexcept {
  const auto free = std::find(std::begin(tobi_own_objects), std::end(tobi_own_objects), nullptr);
  if (free == std::end(tobi_own_objects)) {
    base::fatal("the program has " + std::to_string(most_own_objects) +
                    " objects of tobi::per_worker (or shared_min, shared_max, stop_flag) at once, and makes another "
                    "one; end some of them first.",
                base::exit_usage);
  }
  *free = object;
  return static_cast<std::uint32_t>(free - std::begin(tobi_own_objects));
}
void tobi_own_object_drop(std::uint32_t number) noexcept { tobi_own_objects[number] = nullptr; }
void tobi_no_own_object() noexcept {
  base::fatal("a task uses an object of each worker here, and rank " + std::to_string(need_job().rank()) +
                  " has made no tobi::per_worker (or shared_min, shared_max, stop_flag) of that number, or has ended "
                  "it; make it in main, on all workers.",
              base::exit_usage);
}
void tobi_begin_phase(const char* name, std::size_t bytes) {
  if (the_job == nullptr) return;
  const tasks::indoors now;
  the_job->begin_phase({name, bytes});
}

void* tobi_collection_make(const collection_type* type, const collection_options* how) {
  const tasks::indoors now;
  return need_job("a tobi::task_collection was made").task_collections().make(*type, *how);
}
void tobi_collection_end(void* collection) {
  const tasks::indoors now;
  need_job("a tobi::task_collection ended").task_collections().end(&part(collection));
}
void tobi_collection_add(void* collection, std::uint32_t function, const void* task) {
  const tasks::indoors now;
  part(collection).add(function, task);
}
void tobi_collection_process(void* collection) {
  const tasks::indoors now;
  need_job().task_collections().process(part(collection));
}
void tobi_collection_restore(void* collection) {
  const tasks::indoors now;
  part(collection).restore();
}
void tobi_collection_rebalance(void* collection, const balance_options* how) {
  const tasks::indoors now;
  need_job().task_collections().rebalance(part(collection), *how);
}
void tobi_collection_balanced(const void* collection, balance_statistics* what) {
  *what = static_cast<const pool::collection*>(collection)->balanced();
}
void tobi_collection_clear(void* collection) {
  const tasks::indoors now;
  part(collection).clear();
}
void tobi_collection_counted(const void* collection, collection_statistics* counts) {
  *counts = static_cast<const pool::collection*>(collection)->counted();
}

std::uint32_t tobi_collection_number(const void* collection) {
  return static_cast<std::uint32_t>(static_cast<const pool::collection*>(collection)->number());
}
void tobi_collection_in_run(std::uint32_t number, int restores) {
  pause_run([=](job::job& here) { return here.ask_to_process(number, restores != 0); }, nullptr, 0);
}
int tobi_in_task() noexcept {
  const tasks::indoors now;
  if (the_job == nullptr) return 0;
  if (the_job->task_collections().processing()) {
    base::fatal(
        "tobi::on_all_workers (or allocate_all, free_all, set_read_only, set_writable) was called inside a task of a "
        "collection, where the other workers are not; call it outside of process().",
        base::exit_usage);
  }
  return sched::this_worker().inside_task() ? 1 : 0;
}

}  // extern "C"

void call_everywhere(const root& what, void* result) {
  pause_run([&what](job::job& here) { return here.ask_to_call(what); }, result, what.result_bytes);
}
}  // namespace detail

}  // namespace tobi
