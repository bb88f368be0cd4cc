#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# soak: half a minute of emulation, for a setting of the whole machine
# A machine that promises no more memory than it has (vm.overcommit_memory is 2): jobs run there, and where the promise is too small
# for them they end with a sentence that names memory.
. "${BASH_SOURCE%/*}/inside.inc"
[ "${1:-}" = --inside ] || run_in_guest
unset TOBI_HEAP_SIZE TOBI_STACK_SIZE  # as users have them

sysctl -q vm.overcommit_memory=2
for transport in shm verbs ofi; do
  TOBI_TRANSPORT=$transport run "$BIN/tobi-bench" cilksort --n 100000 --workers 4 --verify
  rule "$transport: a job runs where memory that is promised counts" says ' yes$'
done

# With too little for most of them. A file of the guest is memory too: what the job says goes through a pipe.
for transport in shm verbs; do
  wrong= ended=0
  for kilobytes in $(seq 60000 120000 1500000); do
    sysctl -q vm.overcommit_kbytes="$kilobytes"
    status=0
    said=$(TOBI_TRANSPORT=$transport limited "$BIN/tobi-bench" cilksort --n 100000 --workers 6 --verify 2>&1) || status=$?
    if [ $status -eq 0 ] && grep -q ' yes$' <<<"$said"; then continue; fi
    ended=$((ended + 1))
    if [ $status -eq 0 ] || [ $status -eq 124 ] || ! grep -qE '^tobi: .*(memory|overcommit).*\.$' <<<"$said"; then
      wrong+="; $kilobytes kB: status $status: $said"
    fi
  done
  sysctl -q vm.overcommit_kbytes=3000000
  nothing "$transport: with too little, in $ended of 13 jobs, the job says that memory is short" "$wrong"
  rule "$transport: and that was so with the least" [ $ended -ge 1 ]
done
finish
