#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lane: beside, 15 s
# With TOBI_DEBUG_GLOBAL a mistake with global memory is told with its line, where the program has debug information and libdw is
# there; else with what addr2line wants (debug_global.cc).
. "$(dirname "$0")/../harness.inc"
lib="${LIB:-$ROOT/$OUT/lib/libtobi.a} -lhwloc -lpthread -ldl -lm"
source=$ROOT/tests/apps/debug_global.cc
names=$(grep -q HAVE_dw "$ROOT/build/config.mk" && echo yes)
[ "$names" ] || skip "lines of the program: this build has no libdw, package libdw-dev"
# The line that ends with "// WHAT", or the place in the program.
at() { [ "$lines" ] && echo "debug_global.cc:$(grep -n -- "// $1\$" "$source" | cut -d : -f 1)" || echo 'program+0x[0-9a-f]*'; }
wrong() {  # rule, argument, what is said
  run TOBI_WORKERS=2 TOBI_DEBUG_GLOBAL=1 "$folder/program" "$2"
  all "$flags: $1" '[ $status -eq 1 ]' "complains \"$3\""
}
for flags in "-O0 -g" "-O2 -g" "-O2"; do
  lines=$names
  [ "$flags" != -O2 ] || lines=
  run $CXX $flags -std=c++20 -w -I"$ROOT/libcore/include" "$source" -o "$folder/program" $lib || verdict 1 "$flags: builds"
  run TOBI_WORKERS=2 TOBI_DEBUG_GLOBAL=1 "$folder/program"
  all "$flags: a program without a mistake ends as it should" '[ $status -eq 0 ]' silent '[ ! -s "$out" ]'
  wrong "an object that was freed is used" freed "a checkout of 16 bytes, at .*$(at freed), names an object of global memory that was freed"
  wrong "an object is left at its end" beyond "a checkout of 44 bytes, at .*$(at beyond), goes beyond its object of global memory: it begins 0 bytes into one of 40"
  wrong "a checkout is held across a fork" held "a checkout of 800 bytes, at .*$(at held), is held across a fork"
  wrong "tasks race" race "one task \(reads 400 bytes on rank [01] at .*$(at reads), while another writes 800 bytes on rank [01] at .*$(at writes)\|writes 800 bytes on rank [01] at .*$(at writes), while another reads 400 bytes on rank [01] at .*$(at reads)\); order them"
done
run TOBI_WORKERS=2 "$folder/program" held
all "without it a checkout that is held across a fork has no place" '[ $status -eq 1 ]' 'complains "a checkout of 800 bytes is held across a fork"'
finish
