#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lane: beside, 8 s
# The context switch, for this machine and for AArch64 (emulated by qemu-user: a result about instructions, not about time).
. "$(dirname "$0")/../harness.inc"
one() {  # NAME COMPILER ARCH EMULATOR FLAGS
  if ! $2 -std=c++20 $5 -Wall -Wextra -Werror -DTOBI_HEADER_WARNINGS -I"$ROOT" -I"$ROOT/libcore/include" -static -o "$folder/t" "$ROOT/tests/aarch64/context.cc" "$ROOT/arch/$3/context.S" >"$out" 2>&1; then
    not_ok "$1: builds"
    return
  fi
  run $4 "$folder/t"
  sed "s/^ok - /ok - $1: /; s/^not ok - /not ok - $1: /" "$out" | relay
  all "$1: it comes to its end, and has said something" '[ $status -eq 0 ]' '[ -s "$out" ]'
}
native=$($CXX -dumpmachine | cut -d- -f1)
for flags in -O0 -O2; do
  one "$native $flags" "$CXX" "$native" "" "$flags"
  if command -v aarch64-linux-gnu-g++ >/dev/null && command -v qemu-aarch64-static >/dev/null; then
    one "aarch64 $flags" aarch64-linux-gnu-g++ aarch64 qemu-aarch64-static "$flags"
  else
    skip "aarch64 $flags: needs the packages g++-aarch64-linux-gnu and qemu-user-static"
  fi
done

# With landing pads (BTI) that the emulator asks for, and signed return addresses; first a program that has none, which must be stopped.
ulimit -c 0
guarded() {  # PROTECTION: $status of the context switch in pages that are guarded
  aarch64-linux-gnu-g++ -std=c++20 -O2 -Wall -Wextra -Werror -DTOBI_HEADER_WARNINGS -mbranch-protection="$1" -Wl,-z,force-bti -nostartfiles -I"$ROOT" -I"$ROOT/libcore/include" -o "$folder/t" \
    tests/aarch64/{context.cc,start.S} arch/aarch64/context.S bootstrap/signed_code.cc 2>"$err" || { status=building; return; }
  run qemu-aarch64-static -cpu max -L /usr/aarch64-linux-gnu "$folder/t"
}
if command -v aarch64-linux-gnu-g++ >/dev/null && command -v qemu-aarch64-static >/dev/null; then
  guarded none
  equal "aarch64: a program without landing pads is stopped where they are asked for" "$status" 132
  guarded standard
  all "aarch64: with landing pads and signed return addresses" '[ "$status" -eq 0 ]' '! says "^not ok"' '[ "$(grep -c "^ok" "$out")" -ge 10 ]'
  aarch64-linux-gnu-g++ -c -o "$folder/context.o" arch/aarch64/context.S
  first=$(aarch64-linux-gnu-objdump -d --disassemble=tobi_fork "$folder/context.o" | grep -A1 "<tobi_fork>:$" | tail -n 1 | cut -f 3-)
  equal "aarch64: tobi_fork begins with a landing pad" "$first" "$(printf 'bti\tc')"
fi
finish
