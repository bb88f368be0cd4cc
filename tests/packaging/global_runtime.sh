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
  for schedule in continuation_greedy continuation_stalling child_full child_rtc adws; do
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

# early FILE: what objects of namespace scope call before main, or register for its end, but the C++ library's counter of streams, which
# registers itself. A compiler may have it or not.
early() {
  objdump -drC --no-show-raw-insn "$1" | awk '
    function tell() { if (registers > counters) print "a destructor" }
    /^[0-9a-f]+ <_GLOBAL__sub_I/ { inside = 1; registers = counters = 0; next }
    inside && /^$/ { inside = 0; tell() }
    !inside || !/(call|bl|R_[A-Z0-9_]*(PLT32|GOTPCREL|CALL26))/ { next }
    /__cxa_atexit/ && /R_/ { registers++; next }
    /std::ios_base::Init::Init/ && /R_/ { counters++; next }
    /std::ios_base::Init/ { next }
    /R_/ { print $NF }
    END { if (inside) tell() }'
}
echo 'struct has { ~has(); static void end(); }; inline has::~has() { end(); } has one;' >"$folder/destroyed.cc"
echo 'int made(); int one = made();' >"$folder/made.cc"
printf '#include <iostream>\nstd::ostream& here = std::cout;\n' >"$folder/counted.cc"
for one in destroyed made counted; do $CXX $flags -fPIC -c "$folder/$one.cc" -o "$folder/$one.o" || not_ok "$one.cc compiles"; done
[ -n "$(early "$folder/destroyed.o")" ]; verdict $? "an object that is destroyed behind main is seen"
[ -n "$(early "$folder/made.o")" ]; verdict $? "one that is made before main is seen"
nothing "the counter of streams is neither" "$(early "$folder/counted.o")"
nothing "no object of the library is made before main or destroyed behind it" "$(early "$lib/libtobi.a")"
finish
