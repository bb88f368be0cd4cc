// SPDX-License-Identifier: Apache-2.0
// The lines as tables for people.
#pragma once

#include <vector>

#include "tools/info/gather.hpp"

namespace tobi_info {

void print_for_people(const std::vector<json>& lines);

}  // namespace tobi_info
