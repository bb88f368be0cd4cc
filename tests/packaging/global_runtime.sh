#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lane: beside, 8 s
# A runtime that is a global variable of the program, with either library: its constructor may run before the library's and its
# destructor after them, so the library has no object that needs one.
. "$(dirname "$0")/../harness.inc"
lib=$ROOT/$OUT/lib
flags="-std=c++20 -O1 -Wall -Wextra -Werror -I$ROOT/libcore/include"
{ $CXX $flags -c tests/packaging/global_runtime.cc -o "$folder/program.o" &&
  $CXX "$folder/program.o" -o "$folder/static" "$lib/libtobi.a" -lhwloc -lpthread -ldl -lm &&
  $CXX "$folder/program.o" -o "$folder/shared" -L"$lib" -ltobi -Wl,-rpath,"$lib"; } >"$out" 2>&1; verdict $? "the programs build"
for how in static shared; do
  for schedule in continuation_greedy continuation_stalling child_full child_rtc; do
    run TOBI_WORKERS=3 TOBI_SCHED=$schedule "$folder/$how"; all "libtobi, $how: $schedule" '[ $status -eq 0 ]' '[ "$(cat "$out")" = "3 workers: 6765" ]' silent
  done
  run TOBI_WORKERS=4 TOBI_NODES=2 TOBI_DEBUG_MIGRATE=1 "$folder/$how"; all "libtobi, $how: two nodes, main's stack is watched" '[ $status -eq 0 ]' '[ "$(cat "$out")" = "4 workers: 6765" ]' silent
  if command -v mpirun.openmpi >/dev/null; then
    run mpirun.openmpi --allow-run-as-root --oversubscribe -n 2 "$folder/$how"; all "libtobi, $how: mpirun" '[ $status -eq 0 ]' 'says " workers: 6765"'
  fi
  if command -v mpiexec.mpich >/dev/null; then
    run LD_LIBRARY_PATH="$lib" mpiexec.mpich -n 2 "$folder/$how"; all "libtobi, $how: mpiexec of MPICH" '[ $status -eq 0 ]' 'says " workers: 6765"'
  fi
done

# What the linker calls before main and after it, in whatever order: the C++ library's own counter of streams, and nothing else.
objdump -drC --no-show-raw-insn "$lib/libtobi.a" | awk '
  /^[0-9a-f]+ <_GLOBAL__sub_I/ { inside = 1; next }
  /^$/ { inside = 0 }
  inside && /R_[A-Z0-9_]*(PLT32|GOTPCREL|CALL26)/ && !/std::ios_base::Init|__cxa_atexit/ { print $NF }' >"$folder/called"
objdump -d "$lib/libtobi.a" | grep -c '^[0-9a-f]* <_GLOBAL__sub_I' >"$folder/count"
nothing "no object of the library is made before main or destroyed behind it" "$(cat "$folder/called")"
equal "one of its objects includes <iostream>, and has that counter" "$(cat "$folder/count")" 1
finish
