#!/bin/sh
# tobi-conform over libfabric: each provider that is here, with the provider's own atomics and with software ones. A line a
# rule of the contract, and one for each whole run.
set -u
. "$(dirname "$0")/rules.inc"
conform=$BIN/tobi-conform

contract() {  # provider, server, ranks, pass or skip: whether puts and gets are claimed to be passive, as measured at the start
  shown="ofi ($1), atomics $2, $3 ranks"
  run 120 TOBI_OFI_PROVIDER="$1" TOBI_AMO_SERVER="$2" "$conform" ofi --ranks "$3"
  if [ "$status" -eq 2 ] && [ ! -s "$out" ]; then
    echo "skip - $shown: $(tail -n 1 "$err")"
    return
  fi
  sed -n "s|^pass |ok - $shown: |p; s|^fail |not ok - $shown: |p; s|^skip \(.*\)|skip - $shown: \1|p" "$out"
  passed=$(grep -c '^pass ' "$out")
  # Fewer mean that a capability is gone, not that less was asked.
  all "$shown: the contract is kept to its end" '[ $status -eq 0 ]' '[ "$passed" -ge 18 ]' '! says "^fail "' \
    'says "^[a-z]* peer-death"'
  all "$shown: puts and gets are claimed to be passive where they are" "says '^$4 passive-rma'"
}
for server in auto inline thread worker; do
  ranks=3
  [ $server = auto ] && ranks=4
  contract 'tcp;ofi_rxm' $server $ranks skip
  contract shm $server $ranks skip
done
contract sockets auto 2 pass  # has threads of its own, more than there are cores: slow, so once only
finish
