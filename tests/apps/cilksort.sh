#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lane: computes, 5 s
# tobi-bench cilksort gives a sorted array: serially, in mapped memory, over fabrics, with every policy; and sizes of the global
# memory that do not fit together are one sentence.
. "$(dirname "$0")/../harness.inc"

sorts() {  # RULE ENVIRONMENT... -- ARGUMENTS...
  local words=$1 env=()
  shift
  while [ "$1" != -- ]; do env+=("$1"); shift; done; shift
  run "${env[@]}" "$bench" cilksort --verify --json "$@"
  all "$words" '[ $status -eq 0 ]' 'says "\"verified\":true"'
}
refuses() {  # RULE WORDS ENVIRONMENT...
  local words=$1 sentence=$2
  shift 2
  run "$@" "$bench" cilksort --n 1000 --workers 1
  all "$words" '[ $status -eq 2 ]' 'complains "$sentence"' '[ "$(wc -l <"$err")" -eq 1 ]' '[ ! -s "$out" ]'
}
sorts 'the serial elision sorts' -- --serial --n 100000 --cutoff 100
sorts 'one worker sorts' -- --workers 1 --n 100000 --cutoff 100
sorts 'two workers of a node sort' -- --workers 2 --n 300000 --cutoff 200
sorts 'and in pages dealt in turn' -- --workers 2 --n 300000 --cutoff 200 --chunk 4K
sorts 'the elision of the original shape sorts' -- --serial --n 100000 --cutoff 100 --shape original
sorts 'two workers sort in the original shape' -- --workers 2 --n 300000 --cutoff 200 --shape original
all 'and say so' 'says "\"shape\":\"original\""'
sorts 'four workers on two nodes sort in the original shape' TOBI_NODES=2 TOBI_TRANSPORT=sim -- --workers 4 --n 200001 --cutoff 300 --shape original
run "$bench" cilksort --n 1000 --shape round
all 'a shape that there is not is refused' '[ $status -eq 2 ]' 'complains "--shape"' '[ "$(wc -l <"$err")" -eq 1 ]'
sorts 'one element is sorted' -- --workers 2 --n 1
sorts 'a cutoff of 16 in a cache of 16 blocks' TOBI_NODES=2 TOBI_TRANSPORT=sim TOBI_BLOCK_SIZE=4K TOBI_CACHE_SIZE=64K -- --workers 2 --n 20000 --cutoff 16
for policy in none write_through write_back write_back_lazy; do
  sorts "four workers on two nodes sort with $policy" TOBI_NODES=2 TOBI_TRANSPORT=sim TOBI_CACHE_POLICY=$policy -- --workers 4 --n 200000 --cutoff 1000
done
sorts 'two nodes sort over libfabric' TOBI_NODES=2 TOBI_TRANSPORT=ofi 'TOBI_OFI_PROVIDER=tcp;ofi_rxm' -- --workers 2 --n 100000 --cutoff 4000
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
launched() {  # RULE ENVIRONMENT... -- LAUNCHER...
  local words=$1 env=()
  shift
  while [ "$1" != -- ]; do env+=("$1"); shift; done; shift
  if ! command -v "$1" >/dev/null; then skip "$words: there is no $1"; return; fi
  run "${env[@]}" "$@" "$bench" cilksort --n 100000 --cutoff 2000 --verify --json
  all "$words" '[ $status -eq 0 ]' 'says "\"verified\":true"'
}
for nodes in 1 2; do
  launched "four workers on $nodes nodes sort over Open MPI" TOBI_NODES=$nodes TOBI_TRANSPORT=mpi TOBI_BOOTSTRAP=mpi -- mpirun.openmpi --oversubscribe -n 4
  launched "four workers on $nodes nodes sort over MPICH" TOBI_NODES=$nodes TOBI_TRANSPORT=mpi -- mpiexec.mpich -n 4
done
sorts 'while overlapping checkouts are looked for' TOBI_NODES=2 TOBI_TRANSPORT=sim TOBI_DEBUG_GLOBAL=1 -- --workers 4 --n 20000 --cutoff 500
for sched in continuation_stalling child_full child_rtc; do
  sorts "$sched sorts on two nodes" TOBI_NODES=2 TOBI_TRANSPORT=sim TOBI_SCHED=$sched -- --workers 4 --n 100000 --cutoff 500
done
refuses 'a block that is no power of two is refused' 'is not a power of two' TOBI_BLOCK_SIZE=5000
refuses 'a sub-block larger than a block is refused' 'is more than a block' TOBI_SUB_BLOCK_SIZE=128K
refuses 'a cache smaller than a block is refused' 'is less than a block' TOBI_CACHE_SIZE=32K
refuses 'a policy that there is not is refused' 'one of none, write_through' TOBI_CACHE_POLICY=lazy
finish
