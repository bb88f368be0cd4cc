#!/bin/sh
# Libraries of a fabric's vendor may take the handlers of faults for themselves as they are loaded (PSM's, under libfabric,
# do): a full stack must be explained all the same.
set -u
. "${ROOT:?ROOT is the folder of the sources}/tests/apps/rules.inc"
for transport in shm ofi; do
  if ! "$BIN/tobi-info" --no-measure --json | grep "\"name\":\"$transport\"" | grep -q '"usable":true'; then
    echo "skip - a full stack over $transport: it cannot be used here"
    continue
  fi
  run 60 TOBI_WORKERS=2 TOBI_TRANSPORT=$transport TOBI_STACK_SIZE=64K TOBI_DEBUG_MIGRATE=1 "$bench" fib --n 40
  all "a full stack over $transport is explained" '[ $status -eq 1 ]' 'complains "the stack of the nested tasks is full.*TOBI_STACK_SIZE"'
done
finish
