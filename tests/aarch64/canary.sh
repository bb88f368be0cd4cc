#!/bin/sh
# The change of the stack protector's canary, for this machine and for AArch64 (emulated by qemu-user), where it is one word for all
# threads.
set -u
: "${ROOT:=$PWD}" "${CXX:=g++}"
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
failed=0
one() {  # NAME COMPILER EMULATOR FLAGS
  if ! $2 -std=c++20 $4 -g -fstack-protector-all -Wall -Wextra -Werror -Wno-restrict -I"$ROOT" -pthread -o "$work/t" \
      "$ROOT/tests/aarch64/canary.cc" "$ROOT/bootstrap/canary.cc" "$ROOT/bootstrap/other_threads.cc" >"$work/log" 2>&1; then
    echo "not ok - $1: does not build"; cat "$work/log"; failed=1; return
  fi
  timeout 60 $3 "$work/t" >"$work/out" 2>&1 || failed=1
  [ -s "$work/out" ] || echo "not ok - $1: it says nothing"
  sed "s/^ok - /ok - $1: /; s/^not ok - /not ok - $1: /" "$work/out"
}
native=$($CXX -dumpmachine | cut -d- -f1)
for flags in -O0 -O2; do
  one "$native $flags" "$CXX" "" "$flags"
  if command -v aarch64-linux-gnu-g++ >/dev/null && command -v qemu-aarch64-static >/dev/null; then
    one "aarch64 $flags" aarch64-linux-gnu-g++ "qemu-aarch64-static -L /usr/aarch64-linux-gnu" "$flags"
    one "aarch64 $flags static" aarch64-linux-gnu-g++ qemu-aarch64-static "$flags -static"
  else
    echo "skip - aarch64 $flags: needs the packages g++-aarch64-linux-gnu and qemu-user-static"
  fi
done
exit $failed
