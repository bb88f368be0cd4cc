#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lane: computes, 7 s
# tobi-bench gups loses no update, in any kind of job.
. "$(dirname "$0")/memory.inc"
everywhere gups '--n 64K' '--n 16K' '--n 16K'
everywhere gups '--by accumulate --n 64K' '--by accumulate --n 16K' '--by accumulate --n 1K'
right 'gups dealt in pages' $small_cache TOBI_NODES=2 TOBI_TRANSPORT=sim "$bench" gups --n 16K --chunk 4K --workers 4
right 'gups with more updates than a lot has' "$bench" gups --n 4K --updates 100001 --cutoff 100 --workers 2
right 'gups on one word' "$bench" gups --n 1 --updates 7 --workers 2
# A table of 32 MB on four workers, whose heaps hold 16M each.
right 'gups on a table larger than a heap, and than the cache' TOBI_NODES=2 TOBI_TRANSPORT=sim TOBI_HEAP_SIZE=16M \
  TOBI_CACHE_SIZE=1M "$bench" gups --n 4M --updates 1M --workers 4
run "$bench" gups --n 1000
all 'a table of no power of two words is refused' '[ $status -eq 2 ]' 'complains "no power of two"' '[ "$(wc -l < "$err")" -eq 1 ]'
right 'gups by accumulate in leaves of 100' $small_cache TOBI_NODES=2 TOBI_TRANSPORT=sim "$bench" gups --by accumulate --n 4K --updates 10001 \
  --cutoff 100 --chunk 4K --workers 4
right 'gups by accumulate on one word' "$bench" gups --by accumulate --n 1 --updates 7 --workers 2
run "$bench" gups --by magic
all 'a way to change the table that is none is refused' '[ $status -ne 0 ]' 'complains "checkout"'
finish
