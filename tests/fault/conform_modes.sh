#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lane: computes, 16 s
# The contract holds in the modes of the simulated fabric, and through decorators that refuse and delay. In a soak: in every mode.
. "$(dirname "$0")/../harness.inc"
started=0
conform() {  # they mostly wait: two at a time, shown in their order
  while [ "$(jobs -rp | wc -l)" -ge 2 ]; do wait -n; done
  started=$((started + 1))
  local at; at=$(printf '%s/%02d' "$folder" $started)
  one "$at" "$@" >"$at.said" &
}
one() {  # where, the rule, how many rules must pass at least, transport, settings
  local out=$1.out err=$1.err words=$2 least=$3 transport=$4 passed
  shift 4
  run "$@" "$BIN/tobi-conform" "$transport" $shortly
  passed=$(grep -c '^pass ' "$out")
  if [ $status -eq 0 ] && [ "$passed" -ge "$least" ]; then
    ok "$words: $passed rules of the contract"
  else
    not_ok "$words: status $status, $passed rules, and not $least" "$(grep '^fail ' "$out")"
  fi
}
for mode in noamo manual,depth1,nochain ${SOAK:+ordered-gets inorder manual manual-amo depth1 nochain clog=20 delay=0}; do
  case $mode in *nochain*) least=18 ;; noamo) least=18 ;; ordered-gets) least=28 ;; *) least=24 ;; esac
  conform "sim in mode $mode" $least sim TOBI_SIM=$mode
done
for seed in ${SOAK:+2 3}; do conform "sim with seed $seed" 26 sim TOBI_SIM_SEED=$seed; done
! in_soak || conform "shm when 5,000 posts are refused" 26 shm TOBI_WRAP=fault TOBI_FAULT=again=5000
conform "shm when half of all posts and flushes are refused" 26 shm TOBI_WRAP=fault TOBI_FAULT=again-rate=50
! in_soak || conform "self when half of all posts and flushes are refused" 22 self TOBI_WRAP=fault TOBI_FAULT=again-rate=50
conform "sim when a third of all posts and flushes are refused" 26 sim TOBI_WRAP=fault TOBI_FAULT=again-rate=33
wait
cat "$folder"/*.said | tee "$folder/all"
run "$BIN/tobi-conform" self
rules=$(sed -nE 's/^(pass|fail|skip) ([a-z-]+).*/\2/p' "$out")
nothing "each of $(wc -w <<<"$rules") rules is in a step of the checklist" \
  "$([ -n "$rules" ] || echo none; for rule in $rules; do grep -q "\"$rule\"" tools/conform/work.cc || echo "$rule"; done)"
# What fails in the middle of a rule leaves the other ranks waiting. They give up, and a line says who failed.
for fault in lose=1@500 lose=0@3000 domain-lost@800; do
  run TOBI_WRAP=fault TOBI_FAULT=$fault "$BIN/tobi-conform" shm --patience 2
  all "a fabric that breaks with $fault is a failed rule and no hang" '[ $status -eq 1 ]' 'says "^fail [a-z-]*: rank [0-9]: [a-z_]* failed"' \
    'says "^skip [a-z-]*: in [a-z-]* the ranks lost each other"' 'says "^the work of a port"'
done
[ "$(grep -cE '^(not )?ok' "$folder/all")" -eq $started ] || not_ok "each of $started runs says how it went"
finish
