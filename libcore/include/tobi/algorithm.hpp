// SPDX-License-Identifier: Apache-2.0
// Algorithms on ranges of global memory. Each takes an execution_policy first, or uses `par`, and chunks its checkouts
// by itself; the headers of algorithm/ say what each costs.
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

#include "tobi/algorithm/chunks.hpp"
#include "tobi/algorithm/compare.hpp"
#include "tobi/algorithm/find.hpp"
#include "tobi/algorithm/for_each.hpp"
#include "tobi/algorithm/histogram.hpp"
#include "tobi/algorithm/merge.hpp"
#include "tobi/algorithm/minmax.hpp"
#include "tobi/algorithm/nth_element.hpp"
#include "tobi/algorithm/policy.hpp"
#include "tobi/algorithm/reduce.hpp"
#include "tobi/algorithm/reorder.hpp"
#include "tobi/algorithm/scan.hpp"
#include "tobi/algorithm/select.hpp"
#include "tobi/algorithm/shuffle.hpp"
#include "tobi/algorithm/sort.hpp"
