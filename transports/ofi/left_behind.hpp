// SPDX-License-Identifier: Apache-2.0
// Files that libfabric's provider shm has left in /dev/shm.
#pragma once

#include <string>
#include <string_view>

namespace tobi::transports::ofi {

/// The provider has a file for each endpoint, PID:UID:NUMBER, and cannot remove it when its process is killed. Peers
/// map it when they first talk to it, so it cannot lose its name before. What processes of this user have left that are
/// gone, this removes from FOLDER.
void remove_what_the_dead_left(const char* folder = "/dev/shm");
/// The file of an endpoint whose ADDRESS is "fi_shm://PID:UID:NUMBER", or "".
[[nodiscard]] std::string file_of(std::string_view address);

}  // namespace tobi::transports::ofi
