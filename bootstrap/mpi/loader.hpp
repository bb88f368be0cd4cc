// SPDX-License-Identifier: Apache-2.0
// mpi: the processes that an MPI launcher started, by MPI itself. For launchers that speak no PMIx.
#pragma once

#include <memory>

#include "bootstrap/bootstrap.hpp"

namespace tobi::bootstrap::mpi {

/// Joins the launcher's processes. Fatal, with what to do, where there is no such launcher or no plugin for it.
[[nodiscard]] std::unique_ptr<exchange> join();
/// "" or why a job could not start this way, whatever its launcher.
[[nodiscard]] std::string why_not();

}  // namespace tobi::bootstrap::mpi
