#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lane: computes, 6 s
# tobi-bench peers: every peer in every repeat, in turn, with right answers.
. "$(dirname "$0")/../harness.inc"
number='[0-9][0-9.e+-]*'

run "$bench" peers fib --n 20 --workers 2 --repeat 3 --json
if complains "this build has no onetbb"; then
  turn="serial tobi openmp "
  all "a build without oneTBB says so, in one line" '[ "$(wc -l < "$err")" -eq 1 ]'
else
  turn="serial tobi onetbb openmp "
  all "nothing is complained of" silent
fi
peers=$(echo "$turn" | wc -w)
all "one line a measurement" '[ $status -eq 0 ]' 'lines $((3 * peers))'
all "the peers take turns" '[ "$(sed "s/.*\"peer\":\"\([a-z]*\)\".*/\1/" "$out" | tr "\n" " ")" = "$turn$turn$turn" ]'
all "each line has app, peer, workers, seconds, ns_per_spawn" \
  '[ "$(grep -c "^{\"app\":\"fib\",\"peer\":\"[a-z]*\",\"workers\":[12],\"seconds\":$number,\"ns_per_spawn\":$number}$" "$out")" -eq $((3 * peers)) ]'
all "serial runs on one, the others on the workers asked for" \
  '[ "$(grep -c "\"serial\",\"workers\":1," "$out")" -eq 3 ]' '[ "$(grep -c "\"workers\":2," "$out")" -eq $((3 * (peers - 1))) ]'

run TOBI_WORKERS=1 "$bench" peers fib --n 15 --repeat 1 --json
all "without --workers the runtime's own number counts" '[ $status -eq 0 ]' '[ "$(grep -c "\"workers\":1," "$out")" -eq $peers ]'
run "$bench" peers fib --n 15
all "for people: a table of medians of 5 runs with ratios" '[ $status -eq 0 ]' 'says "medians of 5 interleaved runs"' \
  'says "^peer .*seconds .*ns/spawn .*time / serial"' '[ "$(grep -c "^\(serial\|tobi\|onetbb\|openmp\) " "$out")" -eq $peers ]'
run "$bench" peers uts --workers 2 --repeat 1 --json
all "uts runs on every peer, and the nodes are checked" '[ $status -eq 0 ]' 'lines $peers' \
  '[ "$(grep -c "\"app\":\"uts\"" "$out")" -eq $peers ]'
for peer in $turn; do
  run "$bench" peers fib --n 20 --workers 2 --only $peer
  all "$peer computes fib(20)" '[ $status -eq 0 ]' 'says "^6765 "'
  run "$bench" peers uts --tree T1 --workers 2 --only $peer
  all "$peer finds the nodes of T1" '[ $status -eq 0 ]' 'says "^4130071 "'
done
finish
