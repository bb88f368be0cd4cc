// SPDX-License-Identifier: Apache-2.0
// Which raw loops this build has: each says so itself before main begins.
#include "tools/perf/lane.hpp"
#include "transports/registry.hpp"

namespace tobi_perf {

namespace {

const raw_loop* newest = nullptr;  // set without a constructor, so before any raw_loop's

}  // namespace

raw_loop::raw_loop(std::string_view of, make_function with) noexcept : transport(of), make(with), older(newest) {
  newest = this;
}

std::unique_ptr<lane> raw_lane(std::string_view transport, const scene& s, calls by, std::string& why_not) {
  for (const raw_loop* loop = newest; loop != nullptr; loop = loop->older) {
    if (loop->transport == transport) return loop->make(s, by, why_not);
  }
  why_not = "there is no raw loop for " + std::string(transport);
  for (const auto& entry : tobi::transports::registry()) {
    if (entry.name == transport && entry.create == nullptr) why_not = entry.unusable({});
  }
  return nullptr;
}

}  // namespace tobi_perf
