#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lane: computes, 32 s
# The headers warn of nothing in right programs, whatever is optimized. Those that a compiler finds in its last passes
# come and go with the types, so the programs are of words, of less, of more, and of nothing. A user sees no warning of
# the headers, whichever warnings are asked for and whatever the program's globals are called, and sees all of those of
# the program's own lines. In a soak: clang++ at each level too, though it warns before it optimizes, and the serial
# elision as a user sees it.
. "$(dirname "$0")/../harness.inc"
headers=$ROOT/libcore/include
is_clang() { "$1" --version | grep -q clang; }
compilers=()
for compiler in $CXX clang++; do
  if command -v "$compiler" >/dev/null; then compilers+=("$compiler"); else skip "$compiler: not installed"; fi
done

# --- what we see ---
warns() { $1 -std=c++20 $2 -Wall -Wextra -Wconversion -Wshadow -Werror -DTOBI_HEADER_WARNINGS -I"$headers" -S tests/packaging/warnings.cc -o /dev/null >"$out" 2>&1; }
for compiler in "${compilers[@]}"; do
  levels='-O0 -O1 -O2 -O3' elided=-O2
  if ! in_soak && is_clang "$compiler"; then levels=-fsyntax-only elided=-fsyntax-only; fi
  for level in $levels; do
    warns "$compiler" $level; verdict $? "$compiler $level: no warning"
  done
  warns "$compiler" "$elided -DTOBI_ELIDE"; verdict $? "$compiler $elided, elided: no warning"
done

# The tests are compiled by one compiler. Programs written for Itoyori are to be right for the other one, too.
if command -v clang++ >/dev/null; then
  for program in tests/jobs/ityr_*_job_test.cc; do
    clang++ -std=c++20 -fsyntax-only -Wall -Wextra -Wshadow -Werror -DTOBI_HEADER_WARNINGS -I. -I"$headers" "$program" >"$out" 2>&1
    verdict $? "clang++: no warning in $program"
  done
fi

# --- what a user sees ---
# Each word of the headers that can be a global's name is one: what the language, the standard headers and the library have is not.
find "$headers" -name '*.hpp' -exec cat {} + >"$folder/text"
grep -oE '^#include <[a-z_.]+>' "$folder/text" | sort -u >"$folder/standard.hpp"
sed -E 's|//.*||; s/"(\\.|[^"\\])*"//g; /^ *#/d' "$folder/text" | grep -oE '\b[a-z][a-z0-9_]*' | grep -vE '^tobi(_|$)' | sort -u |
  sed 's/.*/extern int &;/' >"$folder/globals.hpp"
cat >"$folder/program.cc" <<END
#include "standard.hpp"
#include "globals.hpp"
#ifndef GLOBALS_ALONE
#include <tobi/tobi.hpp>
// For this file alone, whose one warning is of the result that it drops.
#ifdef __clang__
#pragma clang diagnostic ignored "-Weverything"
#pragma clang diagnostic warning "-Wunused-result"
#else
#pragma GCC diagnostic ignored "-Wpadded"
#pragma GCC diagnostic ignored "-Wshadow"
#endif
namespace user {
#include "$ROOT/tests/packaging/warnings.cc"
inline void drops() { tobi::spawn([] { return 1; }); }
}
#endif
END
dropped=$(grep -n drops "$folder/program.cc" | cut -d : -f 1)
! is_clang "${compilers[0]}" || unlimited=-ferror-limit=0
"${compilers[0]}" -std=c++20 -fsyntax-only ${unlimited:-} -DGLOBALS_ALONE "$folder/program.cc" 2>&1 |
  sed -nE 's/^[^ ]*globals\.hpp:([0-9]+):.*(warning|error):.*/\1d/p' | sort -u >"$folder/taken"
sed -i -f "$folder/taken" "$folder/globals.hpp"
nothing "there are many names" "$(names=$(wc -l <"$folder/globals.hpp"); [ "$names" -ge 700 ] || echo "$names")"

told() { $1 -std=c++20 $2 -I"$headers" -S "$folder/program.cc" -o /dev/null 2>&1 | grep -E '(warning|error):' >"$out"; }
for compiler in "${compilers[@]}"; do
  levels='-O0 -O2' every='-Wall -Wextra -Wconversion -Wshadow -Wold-style-cast -Wuseless-cast -Wsign-conversion -Wdouble-promotion
    -Wfloat-equal -Weffc++ -Wpadded -Wnoexcept -Wundef -Wredundant-decls -Wswitch-enum -Wpedantic' here=Wshadow
  if is_clang "$compiler"; then every='-Weverything -Wno-c++98-compat' here=Wfloat-equal; in_soak || levels=-fsyntax-only; fi
  for level in $levels ${SOAK:+'-DTOBI_ELIDE'}; do
    told "$compiler" "$level $every"
    all "$compiler $level: a user sees one warning, of the result that the program drops" 'lines 1' "says 'program.cc:$dropped:.*ignoring return.*Wunused-result'"
  done
  told "$compiler" "-fsyntax-only -DTOBI_HEADER_WARNINGS $every"
  rule "$compiler: there would be others, which we see" says "include/tobi/.*$here"
done
finish
