#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lane: beside, 20 s
# TOBI_STATS and a trace name the lines of the program for which bytes were fetched, and tobi-report divides them among the program's
# phases (call_sites.cc).
. "$(dirname "$0")/../harness.inc"
lib="${LIB:-$ROOT/$OUT/lib/libtobi.a} -lhwloc -lpthread -ldl -lm"
source=$ROOT/tests/apps/call_sites.cc
compilers=$CXX
if command -v clang++ >/dev/null; then compilers="$CXX clang++"; else skip "clang++: not installed"; fi
line() { echo "call_sites.cc:$(grep -n -- "// $1\$" "$source" | cut -d : -f 1)"; }
# bytes WHAT PLACE: what the statistics say was fetched there.
bytes() { awk -v place="$1" 'index($0, place) && $NF ~ place "$" { print $2 }' "$err"; }
job="TOBI_STATS=1 TOBI_WORKERS=2 TOBI_NODES=2 TOBI_TRANSPORT=sim TOBI_SUB_BLOCK_SIZE=4K TOBI_TRACE=$folder/trace.json"
names=$(grep -q HAVE_dw "$ROOT/build/config.mk" && echo yes)
[ "$names" ] || skip "lines of the program: this build has no libdw, package libdw-dev"
for compiler in $compilers; do
  for flags in "-O0 -g" "-O2 -g" "-O2"; do
    run $compiler $flags -std=c++20 -w -I"$ROOT/libcore/include" "$source" -o "$folder/program" $lib || verdict 1 "$compiler $flags: builds"
    run $job "$folder/program"
    all "$compiler $flags: the job runs and says what was fetched" '[ $status -eq 0 ]' 'complains "bytes fetched  *pieces  *waited, s  at"'
    if [ "$flags" = -O2 ]; then
      all "$compiler $flags: without debug information there are places for addr2line" 'complains "/program+0x[0-9a-f]*\$"'
      continue
    fi
    [ "$names" ] || continue
    for what in checkout load element; do
      case $what in checkout) rule='a checkout' wanted=65536 ;; load) rule='a load' wanted=4096 ;; *) rule='an element' wanted=4096 ;; esac
      all "$compiler $flags: $rule is named, with its bytes" '[ "$(bytes "$(line "$rule")")" = '$wanted' ]'
    done
    [ "$compiler $flags" != "$CXX -O2 -g" ] || all "$compiler $flags: so is what an algorithm calls" '[ "$(bytes "$(line "an algorithm")")" -ge 65536 ]'
  done
done

run "$BIN/tobi-report" "$folder/trace.json" --json
if command -v jq >/dev/null; then
  is() { jq -e "$1" "$out" >"$folder/seen" 2>&1; }
  all "the report has the program's phases, in their order" '[ $status -eq 0 ]' silent \
    'is "[.phases[].name] == [\"in main\", \"near\", \"far\", \"a leaf of an algorithm,\"]"' 'is "[.phases[].times] == [1, 2, 1, 1]"'
  all "and their bytes" 'is "[.phases[0:3][].fetched_bytes] == [0, 0, 73728]"' 'is ".phases[3].fetched_bytes >= 65536"'
  all "the sites have all of them" 'is "([.fetched_at[].bytes] | add) == ([.by_worker[].fetched_bytes] | add)"' \
    'is "([.phases[].fetched_bytes] | add) == ([.by_worker[].fetched_bytes] | add)"'
  all "shares of time are shares" 'is "[.time_shares[]] | add > 0.999 and add < 1.001"' 'is "[.by_worker[].time_shares | [.[]] | add] | all(. > 0.999 and . < 1.001)"'
else
  skip "phases by jq: not installed"
fi
run "$BIN/tobi-report" "$folder/trace.json"
all "for people: what limits the program, phases, places" '[ $status -eq 0 ]' silent 'says "what limits it: [A-Z]"' 'says "^  near (2 times) "' 'says "fetched for"'
run TOBI_WORKERS=2 TOBI_NODES=2 TOBI_TRANSPORT=sim "$folder/program"
all "without a trace a phase is nothing" '[ $status -eq 0 ]' 'lines 1' '[ ! -s "$err" ]'
finish
