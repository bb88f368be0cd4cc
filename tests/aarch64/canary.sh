#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lane: beside, 10 s
# The change of the stack protector's canary, for this machine and for AArch64 (emulated by qemu-user), where it is one word for all
# threads.
. "$(dirname "$0")/../harness.inc"
one() {  # NAME COMPILER EMULATOR FLAGS
  if ! $2 -std=c++20 $4 -g -fstack-protector-all -Wall -Wextra -Werror -Wno-restrict -I"$ROOT" -pthread -o "$folder/t" \
      "$ROOT/tests/aarch64/canary.cc" "$ROOT/bootstrap/canary.cc" "$ROOT/bootstrap/other_threads.cc" >"$out" 2>&1; then
    not_ok "$1: builds"
    return
  fi
  run $3 "$folder/t"
  sed "s/^ok - /ok - $1: /; s/^not ok - /not ok - $1: /" "$out" | relay
  all "$1: it comes to its end, and has said something" '[ $status -eq 0 ]' '[ -s "$out" ]'
}
native=$($CXX -dumpmachine | cut -d- -f1)
for flags in ${SOAK:+-O0} -O2; do
  one "$native $flags" "$CXX" "" "$flags"
  if command -v aarch64-linux-gnu-g++ >/dev/null && command -v qemu-aarch64-static >/dev/null; then
    one "aarch64 $flags" aarch64-linux-gnu-g++ "qemu-aarch64-static -L /usr/aarch64-linux-gnu" "$flags"
    one "aarch64 $flags static" aarch64-linux-gnu-g++ qemu-aarch64-static "$flags -static"
  else
    skip "aarch64 $flags: needs the packages g++-aarch64-linux-gnu and qemu-user-static"
  fi
done
finish
