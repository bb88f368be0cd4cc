#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# soak: the contract in emulation once for each mask
# verbs without each of its capabilities in turn (TOBI_MASK): the whole contract between two devices on one cable, and UTS T1 among
# four workers of two nodes. MASKS: which masks, where not all. Some 15 minutes.
. "${BASH_SOURCE%/*}/inside.inc"
. "${BASH_SOURCE%/*}/../fault/masks.inc"
[ "${1:-}" = --inside ] || run_in_guest

conforms() {  # MASK
  local status=0
  TOBI_MASK=$1 limited "$BIN/tobi-conform" verbs --ranks 2 >$log 2>&1 || status=$?
  passed=$(grep -c '^pass ' $log)
  grep '^fail ' $log | relay
  all "verbs without $1: $passed rules of the contract" '[ $status -eq 0 ]' '[ "$passed" -ge 30 ]'
}
counts() {  # MASK
  TOBI_MASK=$1 TOBI_TRANSPORT=verbs TOBI_NODES=2 limited "$BIN/tobi-bench" uts --tree T1 --workers 4 --verify >$log 2>&1 && says ' yes$'
}
for mask in ${MASKS:-$all_masks}; do
  conforms "$mask"
  rule "UTS T1 over verbs without $mask" counts "$mask"
done
finish
