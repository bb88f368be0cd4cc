// SPDX-License-Identifier: Apache-2.0
// Prints the breaches, a line each: name, transport, rule, words.
#include <cstdio>

#include "tests/conform/plants/plants.hpp"

int main() {
  for (const auto& p : tobi::conformance::all_plants()) {
    std::printf("%s\t%s\t%s\t%s\n", p.name.data(), p.base.data(), p.rule.data(), p.words.data());
  }
}
