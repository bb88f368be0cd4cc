#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The context switch, for this machine and for AArch64 (emulated by qemu-user: a result about instructions, not about time).
. "$(dirname "$0")/../harness.inc"
one() {  # NAME COMPILER ARCH EMULATOR FLAGS
  if ! $2 -std=c++20 $5 -Wall -Wextra -Werror -I"$ROOT" -I"$ROOT/libcore/include" -static -o "$folder/t" "$ROOT/tests/aarch64/context.cc" "$ROOT/arch/$3/context.S" >"$out" 2>&1; then
    not_ok "$1: builds"
    return
  fi
  run 60 $4 "$folder/t"
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
finish
