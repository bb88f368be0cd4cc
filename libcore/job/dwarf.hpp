// SPDX-License-Identifier: Apache-2.0
// Debug information read by libdw. This allocates, opens files and takes its time.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "libcore/job/debug_info.hpp"

namespace tobi::job {

/// What INTO does not get stays as it is. In a process that does nothing else.
void read_dwarf(const debug_question& about, debug_names& into);

/// Of each of CALLS, addresses behind calls of the library: the line of the program, "prog.cc:7", or "" where debug
/// information does not say. It must be in the program's own files.
std::vector<std::string> read_lines(std::span<const std::uintptr_t> calls);

}  // namespace tobi::job
