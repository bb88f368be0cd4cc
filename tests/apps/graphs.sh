#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Loops and futures: known answers on 1, 2 and 4 workers, over shared memory and between nodes, with each deque; and what is said
# about an ideal machine.
. "$(dirname "$0")/../harness.inc"

right() {  # the rule's end, answer, settings and arguments
  rule=$1 answer=$2
  shift 2
  run "$@" --verify --json
  all "$rule: $answer" '[ $status -eq 0 ]' silent 'says "\"result\":$answer,\"verified\":true"'
}
# K N iterations; K N log2 N + N; the length that the plain table by rows gives (which --verify computes).
for workers in 1 2 4; do
  right "pfor on $workers workers" 1280 "$bench" pfor --n 256 --m 1 --workers $workers
  right "recpfor on $workers workers" 1984 "$bench" recpfor --n 64 --m 1 --workers $workers
  right "lcs on $workers workers" 223 "$bench" lcs --n 2048 --c 128 --workers $workers
  right "lcs with many futures on $workers workers" 464 "$bench" lcs --n 4096 --c 64 --workers $workers
  right "lcs with the deque of the paper on $workers workers" 464 TOBI_DEQUE=the "$bench" lcs --n 4096 --c 64 --workers $workers
done
right "lcs of one block" 107 "$bench" lcs --n 1024 --c 1024 --workers 2
right "lcs where each continuation moves" 223 TOBI_DEBUG_MIGRATE=1 "$bench" lcs --n 2048 --c 128 --workers 2
for app in "pfor --n 256 --m 1:1280" "recpfor --n 64 --m 1:1984" "lcs --n 2048 --c 128:223"; do
  right "${app%%:*} without the runtime" "${app##*:}" "$bench" ${app%%:*} --serial
  right "${app%%:*} between two nodes over sim" "${app##*:}" TOBI_NODES=2 TOBI_TRANSPORT=sim "$bench" ${app%%:*} --workers 4
  right "${app%%:*} over sim, whose targets must poll" "${app##*:}" TOBI_TRANSPORT=sim TOBI_SIM=manual,nochain "$bench" ${app%%:*} --workers 2
  if provider_is_here 'tcp;ofi_rxm'; then
    right "${app%%:*} between two nodes over ofi" "${app##*:}" TOBI_NODES=2 TOBI_TRANSPORT=ofi "TOBI_OFI_PROVIDER=tcp;ofi_rxm" "$bench" ${app%%:*} --workers 4
  else
    skip "${app%%:*} over ofi: $(tail -n 1 "$err")"
  fi
done

run "$bench" pfor --n 64 --m 1 --workers 2 --repeat 2
all "pfor says the ideal time and the efficiency, for each run" '[ $status -eq 0 ]' silent \
  '[ "$(grep -c "ideal time T1/P [0-9.]* s, efficiency [0-9.]*$" "$out")" -eq 2 ]'
run "$bench" lcs --n 1024 --c 128 --workers 2
all "lcs says the greedy bound" '[ $status -eq 0 ]' silent 'says "greedy bound: max(T1/P, Tinf) [0-9.]* s <= TP [0-9.]* s <= T1/P + Tinf [0-9.]* s"'
run "$bench" lcs --n 1024 --c 128 --workers 2 --json
all "in JSON it is there too" 'says "\"ideal_seconds\":[0-9.e-]*,\"greedy_bound_seconds\":[0-9.e-]*,\"ideal_efficiency\":[0-9.e-]*}"'
for what in "recpfor --n 100" "lcs --n 1000"; do
  run "$bench" $what
  all "refused: $what is no power of two" '[ $status -eq 2 ]' 'complains "power of two"' '[ "$(wc -l < "$err")" -eq 1 ]'
done
finish
