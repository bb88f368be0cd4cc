// SPDX-License-Identifier: Apache-2.0
// PMIx: how the processes of srun --mpi=pmix, Open MPI's mpirun and prterun find each other. The library is loaded when
// it is needed, so that programs have no link to it.
#pragma once

#include <memory>
#include <string>

#include "bootstrap/bootstrap.hpp"

namespace tobi::bootstrap::pmix {

/// Joins the launcher's job. Fatal, with what to do, when that cannot be.
[[nodiscard]] std::unique_ptr<exchange> join();

/// Ends this process with STATUS before it has joined, and the job of its launcher with it where that can be told.
[[noreturn]] void end_unjoined(int status) noexcept;

struct library_facts {
  std::string version;  // as the library says it
  std::string why_not;  // "" when it can be loaded
};
[[nodiscard]] library_facts facts();

}  // namespace tobi::bootstrap::pmix
