// SPDX-License-Identifier: Apache-2.0
// What schedulers share: parts of the worker, each with a header of its own. A scheduler includes those that it uses.
//
// All of it lies in the worker, at the same address in every process. What the pointers name does not: a task that may
// have moved reads them anew.
#pragma once

#include "libcore/sched/parts.hpp"
#include "tobi/statistics.hpp"

namespace tobi::net {
class fabric;
}
namespace tobi::deque {
class deque;
}
namespace tobi::tasks {
class fences;
class finish_counts;
class poller;
class records;
class region;
class scopes;
class shared_objects;
class standstill;
class task_results;
class task_thread;
}  // namespace tobi::tasks

namespace tobi::sched {

class divisions;
class idler;
class outstanding;
class presence;
class thief;

struct services {
  // Of this process, while a worker is started.
  net::fabric* net;
  deque::deque* work;
  const worker_parts& parts;
  statistics& counts;
  // Tasks and what they leave behind.
  tasks::task_thread& thread;
  tasks::shared_objects& objects;
  tasks::records& records;
  tasks::scopes& scopes;
  tasks::region& region;
  tasks::fences& fences;
  tasks::finish_counts& finishes;
  tasks::task_results& results;
  // The worker among others.
  tasks::standstill& still;
  sched::outstanding& outstanding;
  tasks::poller& poller;
  sched::thief& thief;
  sched::presence& presence;
  sched::idler& idler;
  sched::divisions& divisions;
};

}  // namespace tobi::sched
