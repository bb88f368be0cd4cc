// SPDX-License-Identifier: Apache-2.0
// The files that libfabric's provider shm has in /dev/shm: their names, and those that the dead have left.
#pragma once

#include <rdma/fabric.h>

#include <string>
#include <string_view>

namespace tobi::transports::ofi {

/// The provider has a file for each endpoint, and names it NAME:UID:NUMBER. Its own NAME is the process id, which two
/// namespaces of process ids give twice: two containers with one /dev/shm would take each other's endpoints. This gives
/// INFO the name PID.TOKEN, with a token by chance. To be called before fi_endpoint; other providers are left alone.
void name_endpoint(fi_info& info);
/// The file of an endpoint whose ADDRESS is "fi_shm://NAME:UID:NUMBER", or "".
[[nodiscard]] std::string file_of(std::string_view address);
/// The provider cannot remove its file when its process is killed. Peers map it when they first talk to it, so it
/// cannot lose its name before. What processes of this user have left that are gone, this removes from FOLDER.
void remove_what_the_dead_left(const char* folder = "/dev/shm");

}  // namespace tobi::transports::ofi
