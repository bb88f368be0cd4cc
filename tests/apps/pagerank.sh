#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lane: computes, 6 s
# tobi-bench pagerank gives the ranks that a serial program gives, in every kind of job.
. "$(dirname "$0")/memory.inc"
everywhere pagerank '--scale 12' '--scale 9 --iterations 3' '--scale 9 --iterations 3'
right 'pagerank dealt in pages' $small_cache TOBI_NODES=2 TOBI_TRANSPORT=sim "$bench" pagerank --scale 9 --iterations 3 --chunk 4K --workers 4
right 'pagerank of two vertices' "$bench" pagerank --scale 1 --degree 1 --workers 2
# 22 MB on four workers, whose heaps hold 16M each.
right 'pagerank of a graph larger than a heap, and than the cache' TOBI_NODES=2 TOBI_TRANSPORT=sim TOBI_HEAP_SIZE=16M \
  TOBI_CACHE_SIZE=1M "$bench" pagerank --scale 16 --iterations 1 --workers 4
finish
