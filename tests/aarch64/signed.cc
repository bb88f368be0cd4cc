// SPDX-License-Identifier: Apache-2.0
// Whether a program's signed return addresses are noticed, and why they must be: two executions of one program do not
// sign alike. SIGN prints what the return address 0x400000 becomes on a stack at 0x10000.
#include <sys/auxv.h>

#include <cstdint>
#include <cstdio>
#include <cstring>

#include "bootstrap/signed_code.hpp"
#include "tobi/detail/standard.hpp"

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "sign") == 0) {
#ifdef __aarch64__
    // pacia1716: x17, the address, is signed with x16 in the place of the stack pointer.
    register std::uint64_t address asm("x17") = 0x400000;
    register std::uint64_t stack asm("x16") = 0x10000;
    asm volatile("hint #8" : "+r"(address) : "r"(stack));
    std::printf("%llx\n", static_cast<unsigned long long>(address));
#else
    std::printf("0\n");
#endif
    return 0;
  }
  std::printf("%d\n", tobi::bootstrap::signs_returns() ? 1 : 0);
  return 0;
}
