#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Signed return addresses (AArch64) are noticed: by what the program was compiled with, on a processor that signs. And they do
# differ between two executions of one program, so that a frame of one cannot return in the other. Emulated by qemu-user.
. "$(dirname "$0")/../harness.inc"
if ! command -v aarch64-linux-gnu-g++ >/dev/null || ! command -v qemu-aarch64-static >/dev/null; then
  skip "signed return addresses: needs the packages g++-aarch64-linux-gnu and qemu-user-static"; finish
fi
build() {  # NAME FLAGS-OF-THE-PROGRAM FLAGS-OF-TOBIUO
  aarch64-linux-gnu-g++ -std=c++20 -O2 -Wall -Wextra -Werror -DTOBI_HEADER_WARNINGS -Wno-restrict "$3" -I"$ROOT" -I"$ROOT/libcore/include" -c -o "$folder/lib.o" "$ROOT/bootstrap/signed_code.cc" &&
    aarch64-linux-gnu-g++ -std=c++20 -O2 -Wall -Wextra -Werror -DTOBI_HEADER_WARNINGS "$2" -I"$ROOT" -I"$ROOT/libcore/include" -static -o "$folder/$1" "$ROOT/tests/aarch64/signed.cc" "$folder/lib.o" ||
    { not_ok "$1 builds"; finish; }
}
emulated() { qemu-aarch64-static -cpu "$1" "$folder/$2" ${3:-}; }
build none -mbranch-protection=none -mbranch-protection=none
build bti -mbranch-protection=bti -mbranch-protection=none
build standard -mbranch-protection=standard -mbranch-protection=none
build library -mbranch-protection=none -mbranch-protection=pac-ret
equal "a program that signs nothing" "$(emulated max none)" 0
equal "a program with landing pads alone" "$(emulated max bti)" 0
equal "a program that signs its return addresses" "$(emulated max standard)" 1
equal "a library that does" "$(emulated max library)" 1
equal "a processor that ignores it" "$(emulated cortex-a57 standard)" 0
# A signature has few bits, so two executions can agree by chance; twenty cannot.
signatures() { for _ in {1..20}; do emulated max standard sign; done | sort -u | wc -l; }
rule "executions sign with different keys" [ "$(signatures)" -gt 1 ]
finish
