// SPDX-License-Identifier: Apache-2.0
// AArch64's signed return addresses. A function that was compiled with -mbranch-protection=standard or pac-ret signs
// its return address with a key of its process, and the kernel makes a new key at each exec. Workers that were forked
// from one process share it; the processes of a launcher do not, so a frame that moved between them could not return.
#pragma once

#include <string>

/// What every public header calls, as the program is loaded, from code that signs (tobi/detail/standard.hpp).
extern "C" void tobi_signed_code() noexcept;

namespace tobi::bootstrap {

/// Whether return addresses are signed here: the processor does it, and code of the program or of Tobiuo asks for it.
[[nodiscard]] bool signs_returns() noexcept;
/// The same of a processor whose AT_HWCAP is HWCAP.
[[nodiscard]] bool signs_returns(unsigned long hwcap) noexcept;
/// What is wrong where WHO, of so many processes of a launcher, signs them. A sentence, or "".
[[nodiscard]] std::string why_signed_code_cannot_move(int processes, bool signs, const std::string& who);

}  // namespace tobi::bootstrap
