// SPDX-License-Identifier: Apache-2.0
// What the job layer gives a worker.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "alloc/remote_objects.hpp"
#include "libcore/base/per_rank.hpp"
#include "libcore/base/settings.hpp"
#include "libcore/deque/arrivals.hpp"
#include "libcore/deque/incoming_image.hpp"
#include "libcore/deque/the_deque.hpp"
#include "libcore/deque/window.hpp"
#include "libcore/net/fabric.hpp"
#include "libcore/net/incoming_frees.hpp"
#include "libcore/sched/sights.hpp"
#include "libcore/sched/victims.hpp"
#include "libcore/task/closure_watch.hpp"
#include "libcore/task/coherence.hpp"
#include "libcore/task/standstill.hpp"

namespace tobi::sched {

/// All of it outlives the worker.
struct worker_parts {
  net::fabric* net;
  alloc::remote_objects* objects;
  net::incoming_frees* incoming;  // null: local collection
  deque::steal_window* window;
  deque::arrival_area* arrivals;
  tasks::idle_board* board;
  node_sights* sights;
  deque::the_area* the;
  std::byte* stack_low;
  std::byte* stack_high;
  std::uintptr_t* slot_memory;
  deque::image_room* images;       // in the registered heap
  tasks::closure_watch* closures;  // at one offset in every worker's region
  victims* choice;
  const base::per_rank<int>* hosts;  // of each rank: where clocks agree
  const base::per_rank<int>* nodes;  // of each rank
  tasks::coherence* memory;          // the fences of the global memory; null: there is none
  base::sched_kind sched;
  bool measures;                 // TOBI_WORK_SPAN, instead
  std::size_t task_stack_bytes;  // of a task that has a stack of its own
  bool use_the;                  // the paper's THE deque instead of the default
  bool count_forks;              // TOBI_STATS
  bool debug_migrate;            // TOBI_DEBUG_MIGRATE
  bool runs_tasks;               // false: it serves others (job/server.cc)
  bool oversubscribed;           // more workers than cores: give the core away when idle
  int cores;                     // of this node, for all of its workers
  unsigned workers_per_core;     // at least 1
  std::vector<int> near;         // the other ranks of this node that run tasks
};

}  // namespace tobi::sched
