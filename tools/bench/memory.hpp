// SPDX-License-Identifier: Apache-2.0
// The command lines of the programs on global memory.
#pragma once

#include <string>
#include <vector>

#include "tools/bench/apps/memory_program.hpp"

namespace CLI {
class App;
}

namespace tobi_bench {

struct arguments;

/// Adds a subcommand for each program, whose values go to A.
std::vector<CLI::App*> add_memory_programs(CLI::App& app, arguments& a);
/// Behind the parsing: sets what was not given. Answers what is wrong, or "".
std::string complete_memory_program(arguments& a);

}  // namespace tobi_bench
