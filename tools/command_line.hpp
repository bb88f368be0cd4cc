// SPDX-License-Identifier: Apache-2.0
// How a tool ends that was not understood, the same for all: one sentence on standard error, status 2.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace tobi_tools {

[[noreturn]] inline void refuse(const char* tool, std::string why) {
  for (char& c : why) c = c == '\n' ? ' ' : c;  // the user's own words may have line ends
  std::fprintf(stderr, "%s: %s (%s --help says more)\n", tool, why.c_str(), tool);
  std::exit(2);
}

/// What CLI11 says, but for an option of one value, of which it would count the values.
[[nodiscard]] inline std::string sentence_of(const CLI::ParseError& e) {
  const std::string text = e.what();
  if (e.get_name() != "ArgumentMismatch") return text;
  return text.substr(0, text.find(':')) + " takes one value, and is given once";
}

/// Parses, or ends the tool: well behind --help, else with SENTENCE of what is wrong.
template <class Sentence>
void parse(CLI::App& app, int argc, char** argv, Sentence sentence) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {
    std::exit(app.exit(e));
  } catch (const CLI::ParseError& e) {
    refuse(app.get_name().c_str(), sentence(e));
  }
}

}  // namespace tobi_tools
