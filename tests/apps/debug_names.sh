#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lane: beside, 22 s
# TOBI_DEBUG_MIGRATE names the variable that a task must not touch, and the closure that points to it, where the program has debug
# information and libdw is there; without either the sentence is said all the same (debug_names.cc).
. "$(dirname "$0")/../harness.inc"
lib="${LIB:-$ROOT/$OUT/lib/libtobi.a} -lhwloc -lpthread -ldl -lm"
source=$ROOT/tests/apps/debug_names.cc
compilers=$CXX
if command -v clang++ >/dev/null; then compilers="$CXX clang++"; else skip "clang++: not installed"; fi
if ! grep -q HAVE_dw "$ROOT/build/config.mk"; then skip "names of variables: this build has no libdw, package libdw-dev"; finish; fi
at() { echo "debug_names.cc:$(grep -n -- "// $1\$" "$source" | cut -d : -f 1)"; }
of_main='a task writes to a local of main'
of_a_task='a task touched the stack of another task'
build() { run $compiler $1 -std=c++20 -w -I"$ROOT/libcore/include" "$source" -o "$folder/program" $lib || verdict 1 "$compiler $1: builds"; }
# wrong CASE RULE TEXT...: the job ends with one line that has all of these texts.
wrong() {
  local case=$1 rule=$2 conditions=() text
  shift 2
  for text; do conditions+=("grep -qF -- '$text' \"\$err\""); done
  run TOBI_DEBUG_MIGRATE=1 ${setting:-TOBI_WORKERS=1} "$folder/program" "$case"
  all "$compiler $flags, ${setting:-TOBI_WORKERS=1}: $rule" '[ $status -eq 1 ]' '[ "$(wc -l <"$err")" -eq 1 ]' "${conditions[@]}"
}
for compiler in $compilers; do
  for flags in "-O0 -g" "-O2 -g"; do
    build "$flags"
    for setting in TOBI_WORKERS=1 TOBI_WORKERS=3; do
      # Clang's optimizer forgets where variables are; what captures them knows their names.
      found="found of main, " all="all.sums[9] of main, " total="total of solve, " cells="cells["
      [ "$compiler $flags" = "clang++ -O2 -g" ] && found= all= total= cells=
      wrong local 'a local of main has its name' "$of_main ($found" "the target of word 0 (found) of the closure of tobi::run), and"
      [ -z "$found" ] || wrong local 'and its place' "$(at 'found is declared'); the target of word"
      wrong member 'so has an element of a member' "$of_main ($all" "behind the target of word 0 (all) of the closure"
      wrong caller 'so has a local of another caller of run' "$of_main ($total" "the target of word 0 (total) of the closure"
      wrong array 'a loop'"'"'s closure is named' "$of_main ($cells" "the target of word 0 (cells) of" "; the closure of a task, made at " "$(at "a loop's closure"), holds a pointer to " ' as cells)'
      wrong pointer 'a pointer in a closure is named' "$of_main ($found" "$(at 'a closure with a pointer'), holds a pointer to it at byte " ' as to)'
      wrong bound 'a pointer among the arguments of spawn() is found' "$of_main ($found" "; the closure of a task holds a pointer to it at byte "
      wrong large 'so is one far behind in a large closure' "$of_main ($found" "$(at 'a large closure'), holds a pointer to it at byte 72 as much.to)"
      wrong parent 'a capture of a parent'"'"'s local is named' "$of_a_task" "(the closure of a task, made at " "$(at 'a closure by reference'), holds a pointer to it at byte 0 as mine)"
      if [ "$setting" = TOBI_WORKERS=3 ]; then
        wrong moved 'so it is by a task that has gone on in another worker' "$of_a_task" "$(at 'goes on elsewhere'), holds a pointer to it at byte 0 as mine)"
      fi
      run TOBI_DEBUG_MIGRATE=1 $setting "$folder/program" harmless
      all "$compiler $flags, $setting: words that only look like pointers are nothing" '[ $status -eq 0 ]' silent
    done
  done
done
compiler=${compilers%% *} setting=
flags="-O1 -g0"
build "$flags"
wrong local 'without debug information the sentence is as it was' "$of_main (the target of word 0 of the closure of tobi::run), and"
wrong pointer 'and the closure is spoken of' "$of_main (the target of word 0 of the closure of tobi::run; the closure of a task holds a pointer to it at byte "
flags="-O1 -g"
build "$flags"
mkdir "$folder/broken"
: >"$folder/broken/libdw.so.1"
setting="LD_LIBRARY_PATH=$folder/broken"
wrong local 'so it is without libdw' "$of_main (the target of word 0 of the closure of tobi::run), and"
mkdir "$folder/stuck"
echo '#include <unistd.h>
__attribute__((constructor)) static void stay() { for (;;) pause(); }' >"$folder/stuck/libdw.c"
run $compiler -x c -shared -fPIC "$folder/stuck/libdw.c" -o "$folder/stuck/libdw.so.1" || verdict 1 'a libdw that never returns builds'
setting="TOBI_WORKERS=3 LD_LIBRARY_PATH=$folder/stuck"
wrong local 'and where libdw never returns' "$of_main (the target of word 0 of the closure of tobi::run), and"
rule 'whose process is ended' until_true '! pgrep -f "$folder/program" >/dev/null'
finish
