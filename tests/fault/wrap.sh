#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lane: sleeps, 7 s
# Decorators: a program does not notice back-pressure and delay, ends with a sentence when a peer is lost, and is measured. How many
# operations go to a rank is decided by who steals: what waits for so many of them goes on until it is lost.
. "$(dirname "$0")/../harness.inc"
conform=$BIN/tobi-conform
cd "$folder" || exit 1  # where traces go
right() { says '"verified":true'; }
program="btc --depth 2 --iter 1000 --workers 3 --verify --json"
on_and_on="uts --tree T1 --workers 3 --repeat 100000"

for transport in shm sim; do
  run TOBI_TRANSPORT=$transport TOBI_WRAP=fault,stats TOBI_FAULT=again=1000 "$bench" $program
  all "after 1,000 refused posts a program over $transport is right" '[ $status -eq 0 ]' right \
    '[ "$(grep -c "stats:.* again 1[0-9][0-9][0-9]" "$err")" -ge 1 ]'
  run TOBI_TRANSPORT=$transport TOBI_WRAP=fault TOBI_FAULT=again-rate=60 "$bench" $program
  all "a program over $transport is right when most posts and flushes are refused" '[ $status -eq 0 ]' right silent
  run TOBI_TRANSPORT=$transport TOBI_WRAP=fault TOBI_FAULT=delay=100 "$bench" $program
  all "a program over $transport is right when every flush takes 100 us" '[ $status -eq 0 ]' right silent

  for after in 0 1 3; do
    run TOBI_TRANSPORT=$transport TOBI_WRAP=fault TOBI_FAULT=lose=1@$after "$bench" $on_and_on
    all "a peer that is lost after $after operations over $transport ends the job with its rank" '[ $status -ne 0 ]' \
      '[ $status -lt 124 ]' 'grep -q "cannot reach rank 1 on [^ ]* over $transport (.*peer_lost); the job ends" "$err"'
  done
  run TOBI_TRANSPORT=$transport TOBI_WRAP=fault TOBI_FAULT=domain-lost@20 "$bench" $on_and_on
  all "a device that is lost over $transport ends the job" '[ $status -ne 0 ]' '[ $status -lt 124 ]' \
    'grep -q "cannot reach rank [0-2] on [^ ]* over $transport (.*domain_lost); the job ends" "$err"'
done

run TOBI_WRAP=stats "$bench" $program
all "stats prints a line for each rank" '[ $status -eq 0 ]' right '[ "$(grep -c "^tobi: rank [0-2] shm stats: " "$err")" -eq 3 ]' \
  '[ "$(wc -l <"$err")" -eq 3 ]'
# A put is a thief's request, so tobi-perf's are counted, which are as many as it is told.
run TOBI_WRAP=stats "$BIN/tobi-perf" put --size 8 -n 1000 --transport shm
all "with counts, bytes and times" '[ $status -eq 0 ]' 'grep -q "stats: .*put [0-9]\{4,\} ([0-9]* bytes, [0-9.]* us)" "$err"'
run TOBI_TRANSPORT=sim TOBI_WRAP=trace "$bench" $program
all "trace writes a file for each rank" '[ $status -eq 0 ]' right silent '[ "$(ls tobi-trace.[0-2].*.txt | wc -l)" -eq 3 ]'
rm tobi-trace.*
run TOBI_WRAP=trace "$BIN/tobi-perf" get --size 8 -n 100 --transport sim
all "with posts and flushes" '[ $status -eq 0 ]' 'grep -q "^[0-9]* post 1 ok.* get [0-9]*+0x" tobi-trace.0.*.txt' \
  'grep -q "^[0-9]* flush 1 ok" tobi-trace.0.*.txt'

refused() {  # the rule, what standard error says, then settings
  local rule=$1 sentence=$2
  shift 2
  run "$@" "$bench" fib --n 5 --workers 3
  all "$rule is refused once, with the good names" '[ $status -eq 2 ]' '[ "$(wc -l <"$err")" -eq 1 ]' 'complains "$sentence"' '[ ! -s "$out" ]'
}
refused 'TOBI_WRAP=stat' '"stat", which is not one of stats, trace, fault\.' TOBI_WRAP=stat
refused 'TOBI_WRAP=stats,,fault' '"", which is not one of stats, trace, fault\.' TOBI_WRAP=stats,,fault
refused 'TOBI_FAULT=agin=3' '"agin=3", which is not one of again=N, .*lose=RANK@N' TOBI_WRAP=fault TOBI_FAULT=agin=3
refused 'TOBI_FAULT=lose=1' '"lose=1", which is not one of again=N' TOBI_WRAP=fault TOBI_FAULT=lose=1
refused 'TOBI_FAULT=again-rate=100' '"again-rate=100", which is not one of' TOBI_WRAP=fault TOBI_FAULT=again-rate=100
refused 'TOBI_SIM=manaul' '"manaul", which is not one of .*manual, .*depth1.*seed=N\.' TOBI_TRANSPORT=sim TOBI_SIM=manaul
refused 'TOBI_SIM=depth=0' '"depth=0", which is not one of' TOBI_TRANSPORT=sim TOBI_SIM=depth=0
run TOBI_FAULT=again=3 "$bench" fib --n 5 --workers 3
all "TOBI_FAULT without its decorator is refused" '[ $status -eq 2 ]' '[ "$(wc -l <"$err")" -eq 1 ]' 'grep -q "add fault to TOBI_WRAP" "$err"'

# The seed is told where it is asked for and where it is needed.
run TOBI_LOG=info TOBI_TRANSPORT=sim TOBI_SIM=manual,seed=71 "$bench" fib --n 20 --workers 2
all "the seed of a simulated run is logged" '[ $status -eq 0 ]' 'grep -q "info: .*seed 71: TOBI_TRANSPORT=sim TOBI_SIM=manual,seed=71" "$err"'
run TOBI_TRANSPORT=sim TOBI_SIM_SEED=72 TOBI_WRAP=fault TOBI_FAULT=lose=1@0 "$bench" fib --n 20 --workers 2
all "a fatal error tells the seed of a simulated run" '[ $status -ne 0 ]' 'grep -q "to replay its decisions: TOBI_TRANSPORT=sim TOBI_SIM_SEED=72" "$err"'
finish
