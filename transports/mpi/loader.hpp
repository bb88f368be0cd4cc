// SPDX-License-Identifier: Apache-2.0
// mpi: MPI-3 RMA, as a fallback where nothing else drives the fabric. Loaded as a plugin for the library whose launcher
// started the job (libcore/base/mpi_plugin.hpp).
#pragma once

#include "transports/transport.hpp"

namespace tobi::transports::mpi {

std::string unusable(const context& where);
std::unique_ptr<transport> create(const context& where);
std::vector<device> devices();

}  // namespace tobi::transports::mpi
