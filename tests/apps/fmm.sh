#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lane: computes, 10 s
# tobi-bench fmm finds the fields that direct summation finds, in every kind of job.
. "$(dirname "$0")/memory.inc"
everywhere fmm '--n 5001 --nspawn 200' '--n 1501 --nspawn 100 --theta 0.4' '--n 1501 --nspawn 100 --theta 0.4'
for sched in continuation_stalling child_full child_rtc; do
  right "fmm on two nodes, $sched" TOBI_SCHED=$sched TOBI_NODES=2 TOBI_TRANSPORT=sim "$bench" fmm --n 1501 --nspawn 100 --workers 4
done
run TOBI_SCHED=child_rtc "$bench" fmm --n 100 --steps 2 --workers 2
all 'its bodies do not move where a run cannot pause' '[ $status -eq 2 ]' 'complains "TOBI_SCHED=child_rtc does not have"'
# All in one leaf, or each body in one of its own.
for few in 1 2 31 33; do
  right "fmm of $few bodies" "$bench" fmm --n $few --workers 2
  right "fmm of $few bodies, one in a leaf, without a grain" TOBI_NODES=2 TOBI_TRANSPORT=sim "$bench" fmm --n $few --ncrit 1 --nspawn 0 --workers 2
done
for shape in sphere plummer; do
  right "fmm of a $shape, serially" "$bench" fmm --n 3000 --shape $shape --order 6 --theta 0.3 --serial
  right "fmm of a $shape on two nodes" $small_cache TOBI_NODES=2 TOBI_TRANSPORT=sim "$bench" fmm --n 3000 --shape $shape --order 6 --theta 0.3 --workers 4
done
for order in 1 2 8 12; do
  right "fmm of order $order" $small_cache TOBI_NODES=2 TOBI_TRANSPORT=sim "$bench" fmm --n 2000 --order $order --theta 0.4 --nspawn 100 --workers 2
done
right 'fmm by pairs of bodies alone' "$bench" fmm --n 1000 --theta 0 --workers 2
right 'fmm with leaves of more bodies than P2P takes at once' $small_cache TOBI_NODES=2 TOBI_TRANSPORT=sim "$bench" fmm --n 2000 --ncrit 700 --workers 2
right 'fmm with leaves of more bodies than a task' "$bench" fmm --n 2000 --ncrit 200 --nspawn 100 --workers 2
right 'fmm whose bodies move' TOBI_NODES=2 TOBI_TRANSPORT=sim "$bench" fmm --n 1501 --theta 0.4 --nspawn 100 --steps 4 --workers 4
right 'fmm whose bodies move, serially' "$bench" fmm --n 1501 --theta 0.4 --steps 4 --serial
right 'fmm that is repeated' "$bench" fmm --n 1501 --theta 0.4 --repeat 1 --warmup 2 --workers 2
# 13 MB and an octree of 5 MB on four workers, whose heaps hold 16M each.
right 'fmm of more than a heap holds, and than the cache' TOBI_NODES=2 TOBI_TRANSPORT=sim TOBI_HEAP_SIZE=16M TOBI_CACHE_SIZE=1M \
  "$bench" fmm --n 100000 --order 2 --theta 0.5 --workers 4
for workers in 3 8; do
  right "fmm on $workers workers" TOBI_NODES=2 TOBI_TRANSPORT=sim "$bench" fmm --n 3001 --theta 0.4 --nspawn 50 --workers $workers
done
right 'fmm on four nodes' TOBI_NODES=4 TOBI_TRANSPORT=sim "$bench" fmm --n 3001 --theta 0.4 --nspawn 50 --workers 8
right 'fmm while broken rules are looked for' TOBI_NODES=2 TOBI_TRANSPORT=sim TOBI_DEBUG_GLOBAL=1 TOBI_DEBUG_MIGRATE=1 \
  "$bench" fmm --n 1501 --theta 0.4 --nspawn 50 --steps 2 --workers 4
finish
