// SPDX-License-Identifier: Apache-2.0
// The programs over task collections: which there are, and how one is run and reported on.
#pragma once

#include <memory>
#include <string_view>
#include <tobi/runtime.hpp>

#include "tools/bench/arguments.hpp"
#include "tools/bench/collection_program.hpp"
#include "tools/bench/collection_schemes.hpp"

namespace tobi_bench {

/// Collective: makes the program that the arguments ask for.
using collection_maker = std::unique_ptr<collection_program> (*)(tobi::runtime& rt, const arguments& a);
/// Returns what makes the program that a subcommand names, or null: it is no program over a collection.
collection_maker find_collection(std::string_view app);

/// Runs the program as often as asked, each time from its beginning. The exit status: 0, or 1 when an answer was wrong.
int run_collection(const arguments& a);

/// What is said about a run: a table for people, or an object for programs. VERIFIED is null where nobody asked.
void report_collection(const arguments& a, tobi::runtime& rt, const collection_program& program,
                       const collection_run& r, const bool* verified);

}  // namespace tobi_bench
