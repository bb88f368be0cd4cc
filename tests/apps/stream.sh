#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tobi-bench stream leaves in its arrays what its four loops make, in every kind of job.
. "$(dirname "$0")/memory.inc"
everywhere stream '--n 300000' '--n 60000' '--n 60000'
right 'stream dealt in pages' $small_cache TOBI_NODES=2 TOBI_TRANSPORT=sim "$bench" stream --n 60000 --chunk 4K --workers 4
right 'stream with leaves of one element' TOBI_NODES=2 TOBI_TRANSPORT=sim "$bench" stream --n 3000 --cutoff 1 --workers 2
right 'stream of one element' TOBI_NODES=2 TOBI_TRANSPORT=sim "$bench" stream --n 1 --workers 2
# 24 MB on four workers, whose heaps hold 16M each.
right 'stream on arrays larger than a heap, and than the cache' TOBI_NODES=2 TOBI_TRANSPORT=sim TOBI_HEAP_SIZE=16M \
  TOBI_CACHE_SIZE=1M "$bench" stream --n 1M --workers 4
finish
