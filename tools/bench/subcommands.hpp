// SPDX-License-Identifier: Apache-2.0
// The command line of tobi-bench, part by part: what each subcommand was given goes to its own struct of the arguments.
#pragma once

#include <string>

#include "tools/bench/arguments.hpp"

namespace CLI {
class App;
}

namespace tobi_bench {

/// What each subcommand takes. REPEAT says what is repeated, LINE what has a line with --json.
void common_options(CLI::App& sub, arguments& a, const std::string& repeat, const std::string& line = "run");

/// The programs on global memory but uts-mem, whose options are a tree's. RUN adds what each program takes.
void add_memory_programs(CLI::App& app, arguments& a, void (*run)(CLI::App&, arguments&));
void add_ramp(CLI::App& app, arguments& a);
void add_lb_synthetic(CLI::App& app, arguments& a);

/// What each program over a task collection takes.
void scheme_options_of(CLI::App& sub, arguments& a);
void add_hf(CLI::App& app, arguments& a);
void add_tce(CLI::App& app, arguments& a);

}  // namespace tobi_bench
