#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lane: computes, 7 s
# The measurements that compare: their numbers are there, their answers right, and what is no time is within its bounds.
. "$(dirname "$0")/../harness.inc"
number='[0-9][0-9.e+-]*'

for workers in 1 2 4; do
  run "$bench" frames --n 24 --workers $workers --repeat 3 --json
  all "frames on $workers workers: both ways give the same, and their ratio is there" '[ $status -eq 0 ]' silent 'lines 1' \
    'says "\"workers\":$workers,\"in_place_seconds\":$number,\"heap_seconds\":$number,\"heap_over_in_place\":$number,\"stolen_per_created\":$number,\"verified\":true"'
done
run "$bench" frames --n 20 --workers 2
all "frames for people" '[ $status -eq 0 ]' silent 'says "in place"' 'says "on the heap"' 'says "stolen / created: "'
for deque in steal_word the; do
  run TOBI_DEQUE=$deque "$bench" fork-cost --n 20000 --json
  all "fork-cost with $deque: cycles of a fork, of a call, and their difference" '[ $status -eq 0 ]' silent 'lines 1' \
    'says "\"forks\":20000,\"deque\":\"$deque\",\"fork_cycles\":$number,\"call_cycles\":$number,\"overhead_cycles\":"'
done

# A stack is what the program's frames need, whatever the machine: under the paper's 160 KB in each.
for workers in 1 2 4; do
  run "$bench" space --workers $workers --json
  all "space on $workers workers: five programs with right answers" '[ $status -eq 0 ]' silent 'lines 5' 'says "\"result\":77,"' \
    'says "\"result\":2097151,"' 'says "\"result\":1398101,"' 'says "\"result\":4130071,"' 'says "\"result\":2680,"'
  all "space on $workers workers: no stack reaches 160 KB, and the region is that of TOBI_STACK_SIZE" \
    'sed -n "s/.*peak_stack_bytes\":\([0-9]*\),.*/\1/p" "$out" | awk "\$1 < 1000 || \$1 >= 163840 {bad = 1} END {exit bad || NR != 5}"' \
    '[ "$(grep -c "\"reserved_bytes\":67108864," "$out")" -eq 5 ]'
done
run "$bench" space --workers 2 --json --iso-stack 32768
all "iso-address: threads of a chain of 39, 2 workers, 32 KB each" 'says "\"iso_threads_per_worker\":39,\"iso_reserved_bytes\":2555904"'

run "$bench" steal-breakdown --n 20000 --json
all "steal-breakdown: each deque with its phases" '[ $status -eq 0 ]' silent 'lines 2' 'says "\"deque\":\"steal_word\""' 'says "\"deque\":\"the\""'
for phase in 'empty check' lock steal 'stack transfer' unlock resume suspend total; do
  all "steal-breakdown has the phase $phase" '[ "$(grep -c "\"$phase\":$number" "$out")" -eq 2 ]'
done
all "a lock is what one deque has and the other has not" '[ "$(grep -c "\"deque\":\"steal_word\".*\"lock\":0.0,.*\"stack transfer\":0.0" "$out")" -eq 1 ]' \
  '! grep -q "\"deque\":\"the\".*\"lock\":0.0," "$out"'
run "$bench" steal-breakdown --n 2000
all "steal-breakdown for people" '[ $status -eq 0 ]' silent '[ "$(grep -c "a steal in all" "$out")" -eq 2 ]'
for how in "TOBI_NODES=2 TOBI_TRANSPORT=sim" "TOBI_NODES=2 TOBI_TRANSPORT=ofi TOBI_OFI_PROVIDER=tcp;ofi_rxm"; do
  run $how "$bench" steal-breakdown --n 500 --json
  all "steal-breakdown between nodes: $how" '[ $status -eq 0 ]' silent 'lines 2'
done
finish
