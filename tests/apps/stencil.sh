#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lane: computes, 5 s
# tobi-bench stencil leaves the grid that one process makes, in every kind of job, wherever its loops begin.
. "$(dirname "$0")/memory.inc"
everywhere stencil '--n 300' '--n 120 --steps 5' '--n 120 --steps 5'
for where in none owner owner_computes automatic; do
  for program in 'stencil --n 100 --steps 6' 'stream --n 40000' 'pagerank --scale 8 --iterations 3'; do
    right "${program%% *} that begins at: $where" $small_cache TOBI_NODES=2 TOBI_TRANSPORT=sim "$bench" $program --workers 4 \
      --where $where
  done
done
right 'a stencil of one point' TOBI_NODES=2 TOBI_TRANSPORT=sim "$bench" stencil --n 1 --workers 2
right 'a stencil dealt in pages' $small_cache TOBI_NODES=2 TOBI_TRANSPORT=sim "$bench" stencil --n 100 --chunk 4K --workers 4
right 'a stencil whose leaves are rows' TOBI_NODES=2 TOBI_TRANSPORT=sim "$bench" stencil --n 50 --cutoff 1 --workers 2
finish
