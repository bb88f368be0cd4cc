#!/bin/sh
# The context switch, for this machine and for AArch64 (emulated by qemu-user: a result about instructions, not about time).
set -u
: "${ROOT:=$PWD}" "${CXX:=g++}"
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
failed=0
one() {  # NAME COMPILER ARCH EMULATOR FLAGS
  if ! $2 -std=c++20 $5 -Wall -Wextra -Werror -I"$ROOT" -I"$ROOT/libcore/include" -static -o "$work/t" "$ROOT/tests/aarch64/context.cc" "$ROOT/arch/$3/context.S" >"$work/log" 2>&1; then
    echo "not ok - $1: does not build"; cat "$work/log"; failed=1; return
  fi
  $4 "$work/t" >"$work/out" 2>&1 || failed=1
  sed "s/^ok - /ok - $1: /; s/^not ok - /not ok - $1: /" "$work/out"
}
native=$($CXX -dumpmachine | cut -d- -f1)
for flags in -O0 -O2; do
  one "$native $flags" "$CXX" "$native" "" "$flags"
  if command -v aarch64-linux-gnu-g++ >/dev/null && command -v qemu-aarch64-static >/dev/null; then
    one "aarch64 $flags" aarch64-linux-gnu-g++ aarch64 qemu-aarch64-static "$flags"
  else
    echo "skip - aarch64 $flags: needs the packages g++-aarch64-linux-gnu and qemu-user-static"
  fi
done
exit $failed
