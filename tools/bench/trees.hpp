// SPDX-License-Identifier: Apache-2.0
// The named trees of the UTS benchmark, and the results that are known for them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "tools/bench/apps/tree.hpp"

namespace tobi_bench {

struct named_tree {
  std::string_view name;
  tree shape;
  std::uint64_t nodes;
  std::uint64_t depth;
  std::uint64_t leaves;  // 0: not published
};

std::span<const named_tree> named_trees();
const named_tree* find_tree(std::string_view name);

}  // namespace tobi_bench
