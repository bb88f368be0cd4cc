// SPDX-License-Identifier: Apache-2.0
// A collection whose tasks add tasks, and the kinds of fabric over which it is processed.
#pragma once

#include <vector>

#include "tests/jobs/tallied_collections.hpp"

namespace tallied {

struct item {
  std::uint32_t number;
  std::uint32_t children;  // that it adds, numbered behind it
};

struct here {
  tally* counts;
  int rank;
  unsigned spins = 0;
  bool throws = false;
};
using collection = tobi::task_collection<item, here>;

inline void work_on(const item& task, const collection::context& at) {
  at.local().counts->times[task.number].fetch_add(1, std::memory_order_relaxed);
  at.local().counts->by_rank[at.local().rank].fetch_add(1, std::memory_order_relaxed);
  for (volatile unsigned i = 0; i < at.local().spins;) i = i + 1;
  // A binary tree of them: the first child has half of the rest.
  if (task.children == 0) return;
  const std::uint32_t left = (task.children - 1) / 2;
  at.add({task.number + 1, left});
  if (task.children > 1) at.add({task.number + 2 + left, task.children - 2 - left});
}

inline void nothing(const item&, const collection::context&) {}

inline std::vector<way> ways() {
  return some_of<way>(
      {way{"one_worker", 1, {}}, way{"shm", 4, {}}, way{"shm_many", 16, {}},
       way{"sim", 4, {{"TOBI_TRANSPORT", "sim"}, {"TOBI_NODES", "2"}}},
       way{"sim_manual", 2, {{"TOBI_TRANSPORT", "sim"}, {"TOBI_SIM", "manual"}, {"TOBI_NODES", "2"}}},
       way{"sim_nochain", 3, {{"TOBI_TRANSPORT", "sim"}, {"TOBI_SIM", "nochain"}, {"TOBI_NODES", "3"}}},
       way{"ofi", 4, {{"TOBI_TRANSPORT", "ofi"}, {"TOBI_NODES", "2"}}},
       way{"ofi_inline", 3, {{"TOBI_TRANSPORT", "ofi"}, {"TOBI_NODES", "3"}, {"TOBI_AMO_SERVER", "inline"}}},
       way{"ofi_server", 4, {{"TOBI_TRANSPORT", "ofi"}, {"TOBI_NODES", "2"}, {"TOBI_AMO_SERVER", "worker"}}},
       way{"shm_asking", 4, {}, tobi::steal_by::messages}, way{"shm_many_asking", 16, {}, tobi::steal_by::messages},
       way{"sim_asking", 4, {{"TOBI_TRANSPORT", "sim"}, {"TOBI_NODES", "2"}}, tobi::steal_by::messages},
       way{"sim_manual_asking",
           3,
           {{"TOBI_TRANSPORT", "sim"}, {"TOBI_SIM", "manual,depth1"}, {"TOBI_NODES", "3"}},
           tobi::steal_by::messages},
       way{"ofi_asking", 3, {{"TOBI_TRANSPORT", "ofi"}, {"TOBI_NODES", "3"}}, tobi::steal_by::messages},
       way{"ofi_inline_one_sided",
           3,
           {{"TOBI_TRANSPORT", "ofi"}, {"TOBI_NODES", "3"}, {"TOBI_AMO_SERVER", "inline"}},
           tobi::steal_by::one_sided},
       way{"ofi_server_asking",
           4,
           {{"TOBI_TRANSPORT", "ofi"}, {"TOBI_NODES", "2"}, {"TOBI_AMO_SERVER", "worker"}},
           tobi::steal_by::messages}},
      {"one_worker", "shm_many", "sim", "sim_manual", "ofi_inline", "ofi_server", "shm_many_asking",
       "sim_manual_asking"});
}

}  // namespace tallied
