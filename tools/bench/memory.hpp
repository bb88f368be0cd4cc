// The programs on global memory: their command lines, their runs, and what is said about them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/bench/apps/memory_program.hpp"

namespace CLI {
class App;
}

namespace tobi_bench {

struct arguments;

/// Adds a subcommand for each program, whose answers go to A.
std::vector<CLI::App*> add_memory_programs(CLI::App& app, arguments& a);
/// Behind the parsing: sets what was not given. Answers what is wrong, or "".
std::string complete_memory_program(arguments& a);
[[nodiscard]] bool is_memory_program(std::string_view app);
/// "n=1048576 ...": as describe() says it for the others.
std::string describe_memory_program(const arguments& a);

/// The exit status: 0, or 1 when something was wrong.
int run_memory_program(const arguments& a);

}  // namespace tobi_bench
