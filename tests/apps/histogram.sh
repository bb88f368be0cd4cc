#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lane: computes, 8 s
# tobi-bench histogram counts the degrees that the graph's generator makes, in every kind of job.
. "$(dirname "$0")/memory.inc"
everywhere histogram '--scale 13' '--scale 10' '--scale 10'
everywhere histogram '--by accumulate --scale 13' '--by accumulate --scale 10' '--by accumulate --scale 8'
right 'histogram dealt in pages' $small_cache TOBI_NODES=2 TOBI_TRANSPORT=sim "$bench" histogram --scale 10 --chunk 4K --workers 4
right 'histogram with leaves of 16 edges' TOBI_NODES=2 TOBI_TRANSPORT=sim "$bench" histogram --scale 8 --cutoff 16 --workers 2
right 'histogram of two vertices' "$bench" histogram --scale 1 --degree 1 --workers 2
# 35 MB on four workers, whose heaps hold 16M each.
right 'histogram of a graph larger than a heap, and than the cache' TOBI_NODES=2 TOBI_TRANSPORT=sim TOBI_HEAP_SIZE=16M \
  TOBI_CACHE_SIZE=1M "$bench" histogram --scale 17 --workers 4

right 'histogram by accumulate dealt in pages' $small_cache TOBI_NODES=2 TOBI_TRANSPORT=sim "$bench" histogram --by accumulate --scale 10 --chunk 4K \
  --workers 4
right 'histogram by accumulate of two vertices' "$bench" histogram --by accumulate --scale 1 --degree 1 --workers 2
finish
