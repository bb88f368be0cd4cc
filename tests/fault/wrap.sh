#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Decorators: a program does not notice back-pressure and delay, ends with a sentence when a peer is lost, and is measured.
. "$(dirname "$0")/../harness.inc"
conform=$BIN/tobi-conform
cd "$folder" || exit 1  # where traces go
right() { says '"verified":true'; }
program="btc --depth 2 --iter 1000 --workers 3 --verify --json"

for transport in shm sim; do
  run 60 TOBI_TRANSPORT=$transport TOBI_WRAP=fault,stats TOBI_FAULT=again=1000 "$bench" $program
  all "after 1,000 refused posts a program over $transport is right" '[ $status -eq 0 ]' right \
    '[ "$(grep -c "stats:.* again 1[0-9][0-9][0-9]" "$err")" -ge 1 ]'
  run 60 TOBI_TRANSPORT=$transport TOBI_WRAP=fault TOBI_FAULT=again-rate=60 "$bench" $program
  all "a program over $transport is right when most posts and flushes are refused" '[ $status -eq 0 ]' right silent
  run 60 TOBI_TRANSPORT=$transport TOBI_WRAP=fault TOBI_FAULT=delay=100 "$bench" $program
  all "a program over $transport is right when every flush takes 100 us" '[ $status -eq 0 ]' right silent

  for after in 0 1 3; do
    run 60 TOBI_TRANSPORT=$transport TOBI_WRAP=fault TOBI_FAULT=lose=1@$after "$bench" $program
    all "a peer that is lost after $after operations over $transport ends the job with its rank" '[ $status -ne 0 ]' \
      '[ $status -lt 124 ]' 'grep -q "cannot reach rank 1 on [^ ]* over $transport (.*peer_lost); the job ends" "$err"'
  done
  run 60 TOBI_TRANSPORT=$transport TOBI_WRAP=fault TOBI_FAULT=domain-lost@20 "$bench" $program
  all "a device that is lost over $transport ends the job" '[ $status -ne 0 ]' '[ $status -lt 124 ]' \
    'grep -q "cannot reach rank [0-2] on [^ ]* over $transport (.*domain_lost); the job ends" "$err"'
done

run 60 TOBI_WRAP=stats "$bench" $program
all "stats prints a line for each rank, with counts, bytes and times" '[ $status -eq 0 ]' right \
  '[ "$(grep -c "^tobi: rank [0-2] shm stats: put [0-9]* ([0-9]* bytes, [0-9.]* us)" "$err")" -eq 3 ]' '[ "$(wc -l <"$err")" -eq 3 ]'
run 60 TOBI_TRANSPORT=sim TOBI_WRAP=trace "$bench" $program
all "trace writes a file for each rank, with posts and flushes" '[ $status -eq 0 ]' right silent \
  '[ "$(ls tobi-trace.[0-2].txt | wc -l)" -eq 3 ]' 'grep -q "^[0-9]* post [0-2] ok.* get [0-9]*+0x" tobi-trace.1.txt' \
  'grep -q "^[0-9]* flush [0-2] ok" tobi-trace.1.txt'

refused() {  # the rule, what standard error says, then settings
  local rule=$1 sentence=$2
  shift 2
  run 60 "$@" "$bench" fib --n 5 --workers 3
  all "$rule is refused once, with the good names" '[ $status -eq 2 ]' '[ "$(wc -l <"$err")" -eq 1 ]' 'complains "$sentence"' '[ ! -s "$out" ]'
}
refused 'TOBI_WRAP=stat' '"stat", which is not one of stats, trace, fault\.' TOBI_WRAP=stat
refused 'TOBI_WRAP=stats,,fault' '"", which is not one of stats, trace, fault\.' TOBI_WRAP=stats,,fault
refused 'TOBI_FAULT=agin=3' '"agin=3", which is not one of again=N, .*lose=RANK@N' TOBI_WRAP=fault TOBI_FAULT=agin=3
refused 'TOBI_FAULT=lose=1' '"lose=1", which is not one of again=N' TOBI_WRAP=fault TOBI_FAULT=lose=1
refused 'TOBI_FAULT=again-rate=100' '"again-rate=100", which is not one of' TOBI_WRAP=fault TOBI_FAULT=again-rate=100
refused 'TOBI_SIM=manaul' '"manaul", which is not one of .*manual, .*depth1.*seed=N\.' TOBI_TRANSPORT=sim TOBI_SIM=manaul
refused 'TOBI_SIM=depth=0' '"depth=0", which is not one of' TOBI_TRANSPORT=sim TOBI_SIM=depth=0
run 60 TOBI_FAULT=again=3 "$bench" fib --n 5 --workers 3
all "TOBI_FAULT without its decorator is refused" '[ $status -eq 2 ]' '[ "$(wc -l <"$err")" -eq 1 ]' 'grep -q "add fault to TOBI_WRAP" "$err"'

# The seed is told where it is asked for and where it is needed.
run 60 TOBI_LOG=info TOBI_TRANSPORT=sim TOBI_SIM=manual,seed=71 "$bench" fib --n 20 --workers 2
all "the seed of a simulated run is logged" '[ $status -eq 0 ]' 'grep -q "info: .*seed 71: TOBI_TRANSPORT=sim TOBI_SIM=manual,seed=71" "$err"'
run 60 TOBI_TRANSPORT=sim TOBI_SIM_SEED=72 TOBI_WRAP=fault TOBI_FAULT=lose=1@0 "$bench" fib --n 20 --workers 2
all "a fatal error tells the seed of a simulated run" '[ $status -ne 0 ]' 'grep -q "to replay its decisions: TOBI_TRANSPORT=sim TOBI_SIM_SEED=72" "$err"'
finish
