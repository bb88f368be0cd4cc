// SPDX-License-Identifier: Apache-2.0
// What to do where the kernel has refused something. An error number means the same wherever it is met, and most of
// them have a remedy that the call's own sentence would not name.
#pragma once

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

namespace tobi::base {

/// Whether this machine promises no more memory than it has (vm.overcommit_memory is 2).
[[nodiscard]] inline bool counts_promised_memory() noexcept {
  std::FILE* const file = std::fopen("/proc/sys/vm/overcommit_memory", "re");
  if (file == nullptr) return false;
  const int mode = std::fgetc(file);
  std::fclose(file);
  return mode == '2';
}

/// The rest of a sentence whose beginning says what could not be done: " (the reason); a remedy." OTHERWISE is the
/// remedy for reasons that say nothing of their own, such as too little memory. CALL is what a sandbox forbids.
[[nodiscard]] inline std::string refusal(int error, std::string_view call, std::string_view otherwise) {
  std::string rest = std::string(" (") + std::strerror(error) + "); ";
  switch (error) {
    case EMFILE:
      return rest + "raise the limit of open files (ulimit -n).";
    case ENFILE:
      return rest + "all open files of this machine are taken: end other programs, or raise fs.file-max.";
    case EPERM:
    case ENOSYS:
      return rest + "what runs this program, a container maybe, forbids " + std::string(call) +
             ": allow it in its seccomp profile.";
    case EBADF:
      return rest + "the program has closed a descriptor that is the runtime's: it may close only its own.";
    case ENOMEM:
    case EAGAIN:  // of a thread, also where there is no memory for its stack
      return rest + std::string(otherwise) +
             (counts_promised_memory()
                  ? ", or raise vm.overcommit_ratio: this machine promises no more memory than that."
                  : ".");
    default:
      return rest + std::string(otherwise) + ".";
  }
}

}  // namespace tobi::base
