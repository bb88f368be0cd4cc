// SPDX-License-Identifier: Apache-2.0
#include "libcore/task/joins.hpp"

#include "libcore/deque/image.hpp"

namespace tobi::tasks {

void joins::come_to(const char* what) noexcept {
  thread_.must_run_tasks_here(what);
  poller_.keep_moving();
  fences_.may_move("join");
}

void joins::wait_for(std::uint64_t where, record& copy) {
  come_to("a join");
  if (!records_.finished(where, copy)) sched_->wait(where, copy);
  // Perhaps another process by now. `copy` is on the stack and moved along.
  goes_on_behind(copy);
}

void joins::join(std::uint64_t& handle_record, void* result, std::uint32_t bytes) {
  const std::uint64_t where = handle_record;
  if ((where & failure_tag) != 0) {
    handle_record = 0;
    throw_task_error(failures_.take(net::location{where & ~deque::location_tags}));
  }
  record copy;
  wait_for(where, copy);
  handle_record = 0;
  if (copy.status == record_status::error) records_.throw_failure(where, copy);
  records_.take_result(copy, result, bytes);
  records_.consume(where, copy);
}

bool joins::take(std::uint64_t& handle_record, void* result, std::uint32_t bytes) noexcept {
  const std::uint64_t where = handle_record;
  handle_record = 0;
  if ((where & failure_tag) != 0) {
    objects_.free(net::location{where & ~deque::location_tags});
    return false;
  }
  record copy;
  wait_for(where, copy);
  const bool made = copy.status != record_status::error;
  if (made && bytes != 0) records_.take_result(copy, result, bytes);
  records_.consume(where, copy);
  return made;
}

// The child's side: DIE of CLUSTER 2022, figures 3 and 4. The scheduler says how it gets there.
void joins::complete(std::uint64_t where, record_status status, const void* value, std::uint32_t bytes,
                     std::uint32_t serial) noexcept {
  const net::location at{where};
  // SC'23, figure 5: Release #2. The joiner may be elsewhere; a task that is tied to this worker is not.
  const bool joined_here = !sched_->moves_tasks() && serial == 0 && net_->is_local(at);
  if (!joined_here) fences_.release();
  record made = records_.compose(status, value, bytes, serial);
  sched_->conclude(at, made);
}

}  // namespace tobi::tasks
