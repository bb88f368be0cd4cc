#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lane: computes, 7 s
# tobi-bench uts-mem finds in memory the tree that it built, in every kind of job.
. "$(dirname "$0")/memory.inc"
everywhere uts-mem '-t 1 -a 3 -d 7 -b 4 -r 19' '-t 1 -a 3 -d 5 -b 4 -r 19' '-t 1 -a 3 -d 4 -b 4 -r 19'
right 'uts-mem on a binomial tree' TOBI_NODES=2 TOBI_TRANSPORT=sim "$bench" uts-mem -t 0 -b 200 -q 0.2 -m 4 -r 42 --workers 4
right 'uts-mem on a deep tree' "$bench" uts-mem -t 3 -b 1 -d 20000 --workers 2
right 'uts-mem built and freed again and again in one heap' TOBI_HEAP_SIZE=64M "$bench" uts-mem -t 1 -a 3 -d 7 -b 4 -r 19 --workers 2 --warmup 9
run "$bench" uts-mem --tree T1 --workers 2 --verify --json
all 'uts-mem finds T1 as it is published' '[ $status -eq 0 ]' silent \
  'says "\"result\":4130071,\"verified\":true" && says "\"leaves\":3305118,\"depth\":10"'
run TOBI_HEAP_SIZE=16M "$bench" uts-mem --tree T1 --workers 1
all 'a tree that the heap does not hold is one sentence' '[ $status -eq 1 ]' 'complains "out of global memory.*TOBI_HEAP_SIZE"' \
  '[ "$(wc -l < "$err")" -eq 1 ]'
finish
