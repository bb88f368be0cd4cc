#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lane: computes, 6 s
# tobi-conform over libfabric: each provider that is here, with the provider's own atomics and with software ones. A line a
# rule of the contract, and one for each whole run. In a soak: each way of atomics, and sockets.
. "$(dirname "$0")/../harness.inc"
conform=$BIN/tobi-conform

contract() {  # provider, server, ranks, pass or skip: whether puts and gets are claimed to be passive, as measured at the start
  shown="ofi ($1), atomics $2, $3 ranks"
  run TOBI_OFI_PROVIDER="$1" TOBI_AMO_SERVER="$2" "$conform" ofi --ranks "$3" $shortly
  if [ "$status" -eq 2 ] && [ ! -s "$out" ]; then
    skip "$shown: $(tail -n 1 "$err")"
    return
  fi
  sed -n "s|^pass |ok - $shown: |p; s|^fail |not ok - $shown: |p; s|^skip \(.*\)|skip - $shown: \1|p" "$out" | relay
  passed=$(grep -c '^pass ' "$out")
  # Fewer mean that a capability is gone, not that less was asked.
  all "$shown: the contract is kept to its end" '[ $status -eq 0 ]' '[ "$passed" -ge 18 ]' '! says "^fail "' \
    'says "^[a-z]* peer-death"'
  all "$shown: puts and gets are claimed to be passive where they are" "says '^$4 passive-rma'"
}
servers() {  # provider, ways of atomics
  provider=$1 out=$folder/$1.out err=$folder/$1.err
  shift
  for server in "$@"; do
    ranks=3
    [ $server = auto ] && ranks=4
    contract "$provider" "$server" $ranks skip
  done
}
# Both mostly wait: one beside the other.
servers shm auto ${SOAK:+inline thread worker} >"$folder/shm.said" &
servers 'tcp;ofi_rxm' auto ${SOAK:+inline thread worker} >"$folder/tcp.said"
wait $!
cat "$folder/tcp.said" "$folder/shm.said"
! in_soak || contract sockets auto 2 pass  # has threads of its own, more than there are cores: slow, so once only
finish
