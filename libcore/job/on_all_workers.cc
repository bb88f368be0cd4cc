// SPDX-License-Identifier: Apache-2.0
// A function that a task has all workers call. It lies in the heap of the worker that asks until the pause is over, and
// each gets it from there. The worker that asks gets rank 0's result.
#include <cstring>
#include <vector>

#include "libcore/base/log.hpp"
#include "libcore/job/first_failure.hpp"
#include "libcore/job/job.hpp"
#include "libcore/task/door.hpp"

namespace tobi::job {

namespace {

// The captures follow.
struct alignas(16) called {
  void (*body)(const void*, void*);
  std::uint32_t closure_bytes;
  std::uint32_t result_bytes;
};

}  // namespace

std::uint64_t job::keep_call(const detail::root& what) {
  warn_of_own_stack(what);
  auto* const kept = static_cast<called*>(objects_->allocate(sizeof(called) + what.closure_bytes));
  if (kept == nullptr) {
    base::fatal("the registered heap is full: no room for what tobi::on_all_workers was given; raise TOBI_HEAP_SIZE.");
  }
  *kept = {what.body, what.closure_bytes, what.result_bytes};
  std::memcpy(kept + 1, what.closure, what.closure_bytes);
  return net_->here(kept).offset();
}

// The frames of tasks lie at the same addresses in every worker, and none of them is there in a pause. Told once.
void job::warn_of_own_stack(const detail::root& what) {
  if (!what.all_set || told_of_own_stack_) return;
  const auto low = reinterpret_cast<std::uintptr_t>(segment_.stack_low());
  const auto high = reinterpret_cast<std::uintptr_t>(segment_.stack_high());
  for (std::size_t i = 0; i + sizeof(std::uintptr_t) <= what.closure_bytes; i += sizeof(std::uintptr_t)) {
    std::uintptr_t word = 0;
    std::memcpy(&word, static_cast<const std::byte*>(what.closure) + i, sizeof word);
    if (word < low || word >= high) continue;
    told_of_own_stack_ = true;
    base::log(base::log_level::warn, "byte " + std::to_string(i) +
                                         " of what a function captures that all workers call is a pointer to a local "
                                         "of a task, which is not there meanwhile: capture by value.");
    return;
  }
}

std::vector<std::byte> job::call_with_all(net::location where) {
  enter(call::on_all_workers);
  called head;
  net_->get(where, &head, sizeof head);
  std::vector<std::byte> closure(head.closure_bytes + 1);
  if (head.closure_bytes != 0) {
    net_->get({where.rank(), where.offset() + sizeof head}, closure.data(), head.closure_bytes);
  }
  compare_code(reinterpret_cast<const void*>(head.body));
  coherent_barrier();
  std::vector<std::byte> result(head.result_bytes);
  std::uint64_t failure = 0;
  tasks::the_door.step_out();
  try {
    head.body(closure.data(), result.data());
    tasks::the_door.step_in();
  } catch (...) {
    tasks::the_door.step_in();
    failure = sched::this_worker().failures().keep();
  }
  enter(call::end_of_on_all_workers);
  coherent_barrier();
  throw_first_failure(failure, *net_, *together_);
  if (head.result_bytes == 0) return {};
  const bool asked = where.rank() == rank();
  std::uint64_t got = 0;
  gathering_->begin(result.data(), rank() == 0 ? result.size() : 0, asked ? 0 : detail::of_none, &got, result.size());
  gathering_->end(asked ? result.data() : nullptr);
  return result;
}

}  // namespace tobi::job
