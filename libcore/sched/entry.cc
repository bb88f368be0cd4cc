// SPDX-License-Identifier: Apache-2.0
// The C names: what the assembly and the templates of the public headers call. Each goes in by the door.
#include "libcore/sched/worker.hpp"
#include "libcore/task/door.hpp"
#include "libcore/trace/work_span.hpp"
#include "tobi/detail/measured_pieces.hpp"
#include "tobi/detail/one_error.hpp"
#include "tobi/finish.hpp"
#include "tobi/future.hpp"
#include "tobi/placement.hpp"
#include "tobi/task.hpp"
#include "tobi/task_group.hpp"

using tobi::sched::this_worker;
using tobi::tasks::indoors;
using tobi::trace::not_measured;

extern "C" {

void tobi_on_fork(std::uintptr_t sp, std::uint64_t* words) noexcept {
  const not_measured still;
  const indoors now;
  this_worker().on_fork(sp, words);
}
void tobi_on_return(std::uintptr_t sp, std::uint64_t a, std::uint64_t b) noexcept {
  const indoors now;
  this_worker().on_return(sp, a, b);
}

}  // extern "C"

namespace tobi::detail {

extern "C" {

void* tobi_result_slot(std::uint32_t bytes, std::uint32_t offset) noexcept {
  const indoors now;
  return this_worker().results().slot(bytes, offset);
}
void tobi_task_failed() noexcept {
  const indoors now;
  this_worker().results().fail();
}
void tobi_rethrow() {
  const indoors now;
  this_worker().failures().rethrow();
}
void tobi_join(handle* h, void* result, std::uint32_t bytes) {
  const not_measured still;
  const indoors now;
  this_worker().joins().join(h->record, result, bytes);
}
void tobi_abandon(handle* h) noexcept {
  const not_measured still;
  const indoors now;
  this_worker().joins().take(h->record, nullptr, 0);
}
int tobi_take(handle* h, void* result, std::uint32_t bytes) noexcept {
  const not_measured still;
  const indoors now;
  return this_worker().joins().take(h->record, result, bytes) ? 1 : 0;
}

future_name tobi_future_create(std::uint32_t consumers, int promise) noexcept {
  const not_measured still;
  const indoors now;
  return this_worker().futures().create(consumers, promise != 0);
}
void tobi_future_set(future_name which, const void* value, std::uint32_t bytes, int checked) noexcept {
  const not_measured still;
  const indoors now;
  this_worker().futures().set(which, value, bytes, checked != 0);
}
void tobi_future_fail(future_name which, int checked) noexcept {
  const not_measured still;
  const indoors now;
  this_worker().futures().fail(which, checked != 0);
}
void tobi_future_join(future_name which, void* value, std::uint32_t bytes) {
  const not_measured still;
  const indoors now;
  this_worker().futures().join(which, value, bytes);
}

void tobi_go_to(int rank, int tied) {
  const indoors now;
  this_worker().travel().go_to(rank, tied != 0);
}
int tobi_part_begins() noexcept {
  const indoors now;
  return this_worker().travel().part_begins() ? 1 : 0;
}
void tobi_part_ends(int inside) noexcept {
  const indoors now;
  this_worker().travel().part_ends(inside != 0);
}
int tobi_here() noexcept {
  const indoors now;
  return this_worker().travel().here();
}
int tobi_on_many_nodes(int first, int count) noexcept {
  const indoors now;
  return this_worker().travel().on_many_nodes(first, count) ? 1 : 0;
}
void tobi_division_get(division* range) noexcept {
  const indoors now;
  *range = this_worker().divisions().current();
}
void tobi_division_set(const division* range) noexcept {
  const indoors now;
  this_worker().divisions().set(*range);
}
int tobi_division_sends(const division* range, const division* there) noexcept {
  const indoors now;
  return this_worker().divisions().sends(*range, *there) ? 1 : 0;
}
void tobi_division_go(const division* range) {
  const indoors now;
  this_worker().divisions().go(*range);
}
int tobi_division_begins(const division* range) noexcept {
  const indoors now;
  return this_worker().divisions().begins(*range) ? 1 : 0;
}
void tobi_division_watch(watched_work* now) noexcept {
  const indoors inside;
  *now = this_worker().divisions().watch();
}
int tobi_division_recall(const division* range, const void* loop, std::size_t n, loop_loads* loads) noexcept {
  const indoors now;
  return this_worker().divisions().recall(*range, loop, n, *loads);
}
void tobi_division_learn(const division* range, const void* loop, std::size_t n, const loop_seen* seen) noexcept {
  const indoors now;
  this_worker().divisions().learn(*range, loop, n, *seen);
}
int tobi_child_runs_first() noexcept {
  const indoors now;
  return this_worker().travel().child_runs_first() ? 1 : 0;
}

void tobi_finish_begin(scope_marker* marker) noexcept {
  const not_measured still;
  const indoors now;
  this_worker().finishes().begin(*marker);
}
void tobi_finish_fail(std::uint64_t finish) noexcept {
  const indoors now;
  this_worker().finishes().fail(finish);
}
void tobi_finish_end(scope_marker* marker) {
  const not_measured still;
  const indoors now;
  this_worker().finishes().end(*marker);
}
std::uint64_t tobi_async_finish() noexcept {
  const not_measured still;
  const indoors now;
  return this_worker().finishes().async_finish();
}
void tobi_async_begin(scope_marker* marker, std::uint64_t finish) noexcept {
  const not_measured still;
  const indoors now;
  this_worker().finishes().async_begin(*marker, finish);
}
void tobi_async_end(scope_marker* marker, std::uint64_t finish) noexcept {
  const not_measured still;
  const indoors now;
  this_worker().finishes().async_end(*marker, finish);
}
void tobi_async_parted(handle* h, std::uint64_t finish) noexcept {
  const indoors now;
  this_worker().finishes().async_parted(h->record, finish);
}

std::uint64_t tobi_group_begin() noexcept {
  const not_measured still;
  const indoors now;
  return this_worker().finishes().begin_group();
}
std::uint64_t tobi_group_async(std::uint64_t finish) noexcept {
  const not_measured still;
  const indoors now;
  return this_worker().finishes().new_async(finish);
}
void tobi_group_end(std::uint64_t finish) {
  const not_measured still;
  const indoors now;
  this_worker().finishes().end(finish);
}

}  // extern "C"

}  // namespace tobi::detail

namespace tobi {
void poll() noexcept {
  const indoors now;
  this_worker().poll();
}
}  // namespace tobi
