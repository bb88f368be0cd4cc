#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lane: computes, 9 s
# What tobi-bench prints: a table for people, one JSON object a run for programs, progress on a terminal only.
. "$(dirname "$0")/../harness.inc"
number='-\{0,1\}[0-9][0-9.e+-]*'

run "$bench" fib --n 20 --workers 2 --repeat 3 --warmup 2 --json
all "--json prints one object a measured run, and nothing for the warm-up" '[ $status -eq 0 ]' silent 'lines 3'
for key in '"app":"fib"' '"params":{"n":20}' '"workers":2' '"servers":0' '"nodes":1' '"transport":"[a-z]*"' \
  '"sched":"continuation_greedy"' '"deque":"steal_word"' "\"seconds\":$number" '"result":6765' '"verified":null' '"stats":{'; do
  all "a run has $key" '[ "$(grep -c -- "$key" "$out")" -eq 3 ]'
done
for key in forks joins outstanding_joins steals_ok steals_failed steal_latency_ns round_trips_per_steal stolen_bytes \
  evacuations peak_stack_bytes stolen_per_created; do
  all "its stats have $key" 'says "\"$key\":\($number\|null\)[,}]"'
done
all "forks that were not counted are null" 'says "\"forks\":null,\"joins\":null"'
run TOBI_STATS=1 "$bench" fib --n 20 --workers 2 --json
all "with TOBI_STATS=1 forks and joins are counted: fib(n + 1) - 1 of each" '[ $status -eq 0 ]' \
  'says "\"forks\":10945,\"joins\":10945,"'

run "$bench" uts --tree T1 --json
all "a tree's run has leaves and depth; not asked to verify, it says null" 'says "\"params\":{\"tree\":\"T1\"}"' \
  'says "\"verified\":null"' 'says "\"leaves\":3305118,\"depth\":10"'
run "$bench" uts -t 1 -a 0 -d 8 -r 1 --verify --json
all "own flags have no known answer: null, status 0, and the flags as params" '[ $status -eq 0 ]' \
  'says "\"verified\":null"' 'says "\"result\":1938,"' 'says "\"t\":1,\"a\":0,\"b\":4.0,\"d\":8,\"r\":1,"'
run "$bench" uts -t 1 -a 0 -d 8 -r 1 --verify
all "for people there is a note" 'says "no known answer"'
run "$bench" uts --tree T1 --workers 2 --efficiency --repeat 2 --verify --json
all "--efficiency adds the elision's seconds to each run" '[ $status -eq 0 ]' silent 'lines 2' \
  '[ "$(grep -c "\"serial_seconds\":$number,\"efficiency\":$number}" "$out")" -eq 2 ]'
run "$bench" uts --tree T1 --workers 2 --efficiency --repeat 2 --verify --progress
all "for people: a heading, a row per run, one sentence in the end" '[ $status -eq 0 ]' 'lines 5' \
  '[ "$(grep -c "4130071  *3305118  *10 .* yes" "$out")" -eq 2 ]' 'says "4,130,071 in .* on 2 workers.* efficiency"'
all "--progress prints nothing into a pipe" silent

if script -qec true /dev/null >/dev/null 2>&1 </dev/null; then
  run script -qec "$bench uts -t 1 -a 3 -d 10 -b 4 -r 19 -g 20 --workers 2 --progress" /dev/null
  all "--progress shows the nodes on a terminal" '[ $status -eq 0 ]' 'says "tasks .*M nodes"' 'says "4130071"'
else
  skip "--progress on a terminal: no script(1) here, or no pseudo-terminal for it"
fi
run "$bench" --help
all "--help names the programs" '[ $status -eq 0 ]' silent 'says "^  fib"' 'says "^  btc"' 'says "^  uts"' \
  'says "^  nqueens"' 'says "^  peers"'

# Output that cannot be written is no success, and labels do not hide it.
for tool in 'tobi-bench fib --n 20' 'tobi-bench fib --n 20 --json' 'tobi-bench --help' 'tobi-conform self' 'tobi-conform --help' \
  'tobi-perf get --transport shm -n 1' 'tobi-info --no-measure' 'tobi-info --no-measure --json' 'tobi-report --help'; do
  limited "$BIN/"$tool >/dev/full 2>"$err"
  status=$?
  : >"$out"
  all "$tool on a full disk fails, and says so" '[ $status -eq 1 ]' 'complains "^${tool%% *}: not all of the output could be written"'
done
run "$bench" fib --n 20 --workers 2
lines=$(wc -l <"$out")
run TOBI_LABEL=1 "$bench" fib --n 20 --workers 2
all "TOBI_LABEL=1: when the program has ended its lines are there, with rank and host" '[ $status -eq 0 ]' silent 'lines $lines' \
  '[ "$(grep -c "^\[0 $(hostname)\] " "$out")" -eq "$lines" ]'
limited env TOBI_LABEL=1 "$bench" fib --n 20 >/dev/full 2>"$err"
status=$?
all "TOBI_LABEL=1 on a full disk fails, and says so" '[ $status -eq 1 ]' 'complains "^tobi: rank 0 .*not all of the output could be written"'
for tool in 'tobi-bench fib --n 20' 'tobi-bench --help' 'tobi-conform self' 'tobi-perf get --transport shm -n 1' 'tobi-info --no-measure' \
  'tobi-report --help'; do
  limited "$BIN/"$tool >&- 2>"$err"
  status=$?
  all "$tool without a standard output is no failure" '[ $status -eq 0 ]' silent
done
limited env TOBI_LABEL=1 "$bench" fib --n 20 >&- 2>"$err"
status=$?
all "TOBI_LABEL=1 without a standard output is no failure" '[ $status -eq 0 ]' silent
finish
