// SPDX-License-Identifier: Apache-2.0
// The limit for what hangs, as tests/limits.inc has it for scripts. A test waits for a state, and loops until what it
// is about has happened, without an end of its own: this limit ends it.
#pragma once

#include <cstdlib>

/// In seconds: at least ten times what any job of the tests takes on an idle machine.
inline unsigned hang_s() {
  const char* given = std::getenv("HANG_S");
  const long s = given != nullptr ? std::atol(given) : 0;
  return s > 0 ? static_cast<unsigned>(s) : 300;
}
