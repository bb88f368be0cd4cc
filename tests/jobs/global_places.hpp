// SPDX-License-Identifier: Apache-2.0
// The kinds of job on which programs over global memory are tried: mapped and fetched memory, each cache policy, and
// caches of 16 blocks of 4 KiB.
#pragma once

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "in_job.hpp"

struct place {
  const char* name;
  int workers;
  std::vector<std::pair<const char*, const char*>> env;
};

inline std::vector<place> small_caches() {
  const std::pair<const char*, const char*> block{"TOBI_BLOCK_SIZE", "4K"}, sub{"TOBI_SUB_BLOCK_SIZE", "256"},
      cache{"TOBI_CACHE_SIZE", "64K"}, nodes{"TOBI_NODES", "2"}, sim{"TOBI_TRANSPORT", "sim"},
      ofi{"TOBI_TRANSPORT", "ofi"}, tcp{"TOBI_OFI_PROVIDER", "tcp;ofi_rxm"};
  std::vector<place> all{{"alone", 1, {}}, {"shm, 2", 2, {}}, {"shm, 4", 4, {block, sub, cache}}};
  for (const char* policy : {"none", "write_through", "write_back", "write_back_lazy"}) {
    const std::pair<const char*, const char*> how{"TOBI_CACHE_POLICY", policy};
    all.push_back({policy, 2, {nodes, sim, block, sub, cache, how}});
    all.push_back({policy, 4, {nodes, sim, block, sub, cache, how}});
    all.push_back({policy, 2, {nodes, ofi, tcp, block, sub, cache, how}});
  }
  all.push_back({"migrate", 2, {nodes, sim, block, sub, cache, {"TOBI_DEBUG_MIGRATE", "1"}}});
  all.push_back({"adws", 4, {nodes, sim, block, sub, cache, {"TOBI_SCHED", "adws"}}});
  return all;
}

template <class Body>
outcome in_place(const place& p, Body body) {
  return in_job(p.workers, std::span<const std::pair<const char*, const char*>>(p.env), body);
}

/// BODY(rt) as a job in each place: it answers 0, and nobody complains.
template <class Body>
void in_each(const std::vector<place>& all, Body body) {
  for (const place& p : all) {
    std::string trace = p.name;
    for (const auto& [name, value] : p.env) trace.append(" ").append(name).append("=").append(value);
    SCOPED_TRACE(trace);
    const outcome o = in_place(p, body);
    EXPECT_EQ(o.status, 0);
    EXPECT_EQ(o.said, "");
  }
}
