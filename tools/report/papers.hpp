// SPDX-License-Identifier: Apache-2.0
// The papers' own numbers next to ours. They are in a data file (papers.json), each with the table or figure that it is
// taken from; what of ours stands next to it is said there too, by the fields that a line must have and those that are
// shown. So a program or a scheduler that is new gets its rows by lines of that file.
#pragma once

#include <string>
#include <vector>

#include "tools/report/curves.hpp"
#include "tools/report/results.hpp"

namespace tobi_report {

struct value {
  std::string name;
  std::string text;
};

struct compared_row {
  std::string label;
  std::vector<value> values;
};

struct comparison {
  std::string source, where, what, differs;
  std::vector<compared_row> paper;
  std::vector<compared_row> ours;  // of the lines that fit; none: not measured
  std::vector<chart> curves;
  std::vector<line> bars;  // runs on global memory, to be drawn as bars of where their time went
  std::vector<line> from;  // the lines of all rows and points
  struct wanted_figure {
    std::string trace, figure;  // the trace's file without ending, and one of figure_names
  };
  std::vector<wanted_figure> figures;
};

/// Throws bad_input when FILE is not such a data file.
std::vector<comparison> compare(const std::string& file, const std::vector<line>& ours);

/// What FILE asks for and none of the lines has, a sentence each. Throws bad_input as well.
std::vector<std::string> not_found(const std::string& file, const std::vector<line>& ours);

/// What kind of machine made the lines, and when, where a line says it: "AMD EPYC, 2 usable cores (host vm),
/// 2026-11-22".
std::string measured_on(const std::vector<line>& lines);

}  // namespace tobi_report
