// SPDX-License-Identifier: Apache-2.0
#include "arch/heavy_fence.hpp"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "libcore/base/log.hpp"

namespace tobi::arch {

namespace {

long membarrier(int command) noexcept { return syscall(SYS_membarrier, command, 0, 0); }

}  // namespace

std::string prepare_heavy_fence() {
  if (membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0) return "";
  return std::string("the kernel refuses membarrier (") + std::strerror(errno) + ")";
}

void heavy_fence() noexcept {
  // The caller's own side, also for ThreadSanitizer, which knows nothing of the system call.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  // The kernel may have no memory for the list of cores at this moment.
  while (membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0) {
    if (errno == ENOMEM || errno == EINTR) continue;
    base::fatal(std::string("the kernel has allowed membarrier and refuses it now (") + std::strerror(errno) +
                "): a seccomp filter that comes later than tobi::runtime must allow it.");
  }
}

}  // namespace tobi::arch
