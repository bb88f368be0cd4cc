// SPDX-License-Identifier: Apache-2.0
// Debug information read by libdw. In a process that does nothing else: this allocates, opens files and takes its time.
#pragma once

#include "libcore/job/debug_info.hpp"

namespace tobi::job {

/// What INTO does not get stays as it is.
void read_dwarf(const debug_question& about, debug_names& into);

}  // namespace tobi::job
