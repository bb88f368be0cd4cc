// SPDX-License-Identifier: Apache-2.0
// The cost sheet of a transport (tobi-perf all): its rows in sections, each with a sentence of what it is, and what all
// of it means for a program.
#pragma once

#include <string>
#include <vector>

#include "tools/perf/arguments.hpp"
#include "tools/perf/meaning.hpp"
#include "tools/perf/work.hpp"

namespace tobi_perf {

struct sheet_section {
  std::string title;
  std::string about;
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> lines;  // of cells
};

struct sheet {
  std::string transport;
  std::vector<std::string> notes;  // which processes, cores and library
  std::vector<row> rows;
  std::vector<sheet_section> sections;
  std::vector<finding> meaning;
};

/// ROWS and NOTES are of one transport.
[[nodiscard]] sheet make_sheet(const std::string& transport, std::vector<row> rows, std::vector<std::string> notes);
/// With --json what it means, a line each: the rows have been printed as they came. Else all of it.
void print_sheet(const arguments& a, const sheet& s);
/// False when FILE cannot be written. ORIGIN is the first line of --json.
[[nodiscard]] bool write_sheets(const std::string& file, const std::string& origin, const std::vector<sheet>& sheets);

}  // namespace tobi_perf
