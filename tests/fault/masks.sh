#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lane: sleeps, 12 s
# Capability masks: every transport keeps the contract and runs UTS without each capability that TOBI_MASK names, and a
# mask that cannot be is refused. masks_mpi.sh and masks_utofu.sh have two more transports. Outside of a soak: the masks that
# change what the runtime does, and the fast transports.
. "$(dirname "$0")/../harness.inc"
. tests/fault/masks.inc

refused() {  # what standard error says, then settings
  local sentence=$1
  shift
  run "$@" "$bench" fib --n 5 --workers 2
  all "$* is refused in one sentence" '[ $status -eq 2 ]' '[ "$(wc -l <"$err")" -eq 1 ]' 'complains "$sentence"' '[ ! -s "$out" ]'
}
refused 'TOBI_MASK=amo,chian has "chian", which is not one of amo, .*chain, .*inline\.' TOBI_MASK=amo,chian
refused 'TOBI_MASK=put has "put", without which nothing works; what can be masked is amo, ' TOBI_MASK=put
refused 'TOBI_MASK=chain,flush has "flush", without which nothing works' TOBI_MASK=chain,flush
refused 'TOBI_MASK=amo takes the fabric.s atomics away, and TOBI_AMO_SERVER=native' TOBI_MASK=amo TOBI_AMO_SERVER=native

said=$(TOBI_MASK=x "$bench" fib --n 5 2>&1 | sed 's/.*which is not one of //; s/\.$//; s/,//g')
equal "this test knows every mask" "$said" "$all_masks"
poorest=${all_masks// /,}

# What is masked is not claimed.
shm_says() { "$BIN/tobi-info" --no-measure --json | grep '"name":"shm"' | grep -oE "\"$1\":[a-z0-9]+" | head -n 1; }
for claim in chain:chain_max maps_peers:maps_peers amo:passive_amo ordered_gets:ordered_gets passive:passive_rma passive:passive_amo; do
  whole=$(shm_says "${claim#*:}") masked=$(TOBI_MASK=${claim%:*} shm_says "${claim#*:}")
  all "tobi-info shows shm without ${claim%:*}: $masked" '[ -n "$whole" ]' '[ -n "$masked" ]' '[ "$whole" != "$masked" ]'
done

masks=${SOAK:+$all_masks}
for mask in ${masks:-amo chain maps_peers}; do
  conform self "$mask"
  tree shm "$mask" TOBI_WORKERS=2
  steals shm "$mask"
  [ -n "${SOAK:-}" ] || continue
  conform shm "$mask"
  conform sim "$mask"
  tree self "$mask" TOBI_WORKERS=1
  tree sim "$mask" TOBI_WORKERS=2 TOBI_NODES=2
done
conform shm "$poorest"
tree shm "$poorest" TOBI_WORKERS=3
steals shm "$poorest"

if usable ofi; then
  for mask in ${masks:-amo}; do
    [ -z "${SOAK:-}" ] || conform ofi "$mask" TOBI_OFI_PROVIDER=tcp
    tree ofi "$mask" TOBI_OFI_PROVIDER=tcp TOBI_WORKERS=2 TOBI_NODES=2
  done
else
  skip "masks over libfabric: needs the packages libfabric-dev, at build time, and libfabric1"
fi
finish
