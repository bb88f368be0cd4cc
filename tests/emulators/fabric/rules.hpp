// SPDX-License-Identifier: Apache-2.0
// What happens where a program breaks a rule of libfabric's manual.
#pragma once

#include <string>

namespace tobi::emulators::fabric {

/// Says on stderr what was done and which page forbids it. Then the process aborts; with FI_STRICT_BROKEN=error the
/// caller gets the libfabric error to return.
int broken(const char* page, const std::string& what);
/// The same, and ERROR in place of -FI_EINVAL.
int broken(const char* page, const std::string& what, int error);

}  // namespace tobi::emulators::fabric
