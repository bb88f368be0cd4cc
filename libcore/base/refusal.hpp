// SPDX-License-Identifier: Apache-2.0
// What to do where the kernel has refused something. An error number means the same wherever it is met, and most of
// them have a remedy that the call's own sentence would not name.
#pragma once

#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>

namespace tobi::base {

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
    default:
      return rest + std::string(otherwise) + ".";
  }
}

}  // namespace tobi::base
