#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Libraries of a fabric's vendor may take the handlers of faults for themselves as they are loaded (PSM's, under libfabric,
# do): a full stack must be explained all the same.
. "$(dirname "$0")/../harness.inc"
for transport in shm ofi; do
  if ! usable $transport; then
    skip "a full stack over $transport: it cannot be used here"
    continue
  fi
  run TOBI_WORKERS=2 TOBI_TRANSPORT=$transport TOBI_STACK_SIZE=64K "$bench" uts --tree T3
  all "a full stack over $transport is explained" '[ $status -eq 1 ]' 'complains "the stack of the nested tasks is full.*TOBI_STACK_SIZE"'
done
finish
