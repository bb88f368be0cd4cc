// SPDX-License-Identifier: Apache-2.0
// A site's description of its machines, which hwloc reads.
#include "arch/topology.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  static const int fd = memfd_create("input", MFD_CLOEXEC);
  static const std::string file = "/proc/self/fd/" + std::to_string(fd);
  if (ftruncate(fd, 0) != 0 || pwrite(fd, data, bytes, 0) != static_cast<ssize_t>(bytes)) return 0;
  setenv("HWLOC_XMLFILE", file.c_str(), 1);
  setenv("HWLOC_HIDE_ERRORS", "2", 1);
  const tobi::arch::machine m = tobi::arch::read_machine();
  if (m.cores.empty()) std::abort();
  return 0;
}
