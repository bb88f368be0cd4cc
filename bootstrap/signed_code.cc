// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/signed_code.hpp"

#include <sys/auxv.h>

namespace {

#ifdef __ARM_FEATURE_PAC_DEFAULT
bool code_signs = true;  // Tobiuo's own: frames of a join move too
#else
bool code_signs = false;
#endif

// HWCAP_PACA of the kernel's asm/hwcap.h: return addresses can be signed with the key that compilers use, or with the
// other one. Elsewhere the bit means something else, and no code says that it signs.
constexpr unsigned long processor_signs = 1ul << 30;

}  // namespace

void tobi_signed_code() noexcept { code_signs = true; }

namespace tobi::bootstrap {

bool signs_returns(unsigned long hwcap) noexcept { return code_signs && (hwcap & processor_signs) != 0; }
bool signs_returns() noexcept { return signs_returns(getauxval(AT_HWCAP)); }

std::string why_signed_code_cannot_move(int processes, bool signs, const std::string& who) {
  if (!signs || processes < 2) return "";
  return "the code of " + who +
         " signs its return addresses (-mbranch-protection), with keys that differ between the " +
         std::to_string(processes) +
         " processes that the launcher started, so no task could move between them; compile the program and Tobiuo "
         "with "
         "-mbranch-protection=none (or bti), or start one process and let it fork the workers.";
}

}  // namespace tobi::bootstrap
