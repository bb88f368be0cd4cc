#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lane: computes, 15 s
# The headers warn of nothing in right programs, whatever is optimized. Those that a compiler finds in its last passes come and go with
# the types, so the programs are of words, of less, of more, and of nothing.
. "$(dirname "$0")/../harness.inc"
warns() { $1 -std=c++20 "$2" -Wall -Wextra -Wconversion -Wshadow -Werror -I"$ROOT/libcore/include" $3 -c "$ROOT/tests/packaging/warnings.cc" -o /dev/null >"$out" 2>&1; }
for compiler in $CXX clang++; do
  if ! command -v "$compiler" >/dev/null; then skip "$compiler: not installed"; continue; fi
  for level in -O0 -O1 -O2 -O3; do
    warns "$compiler" $level ''; verdict $? "$compiler $level: no warning"
  done
  warns "$compiler" -O2 -DTOBI_ELIDE; verdict $? "$compiler -O2, elided: no warning"
done
finish
