// SPDX-License-Identifier: Apache-2.0
// A test of what settings do starts without any.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

/// Takes every TOBI_ name out of the environment, known or not.
inline void unset_settings() {
  std::vector<std::string> names;  // first all of them: to unset one moves the others
  for (char** e = environ; *e != nullptr; ++e) {
    const std::string entry = *e;
    if (entry.starts_with("TOBI_")) names.push_back(entry.substr(0, entry.find('=')));
  }
  for (const std::string& name : names) unsetenv(name.c_str());
}
