#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What a site sets for other programs does not reach a job: the options of jemalloc, of which the library has a copy of its own, and
# core files, which do not have the memory of all workers.
. "$(dirname "$0")/../harness.inc"
for options in background_thread:true abort_conf:true,nonsense:1 stats_print:true; do
  run MALLOC_CONF=$options TOBI_WORKERS=3 "$BIN/../examples/fib" 25
  all "MALLOC_CONF=$options" '[ $status -eq 0 ]' silent 'says "^75025$"'
done

# The pattern of core files is the machine's: what a core would have is what the kernel is told to leave out (dd, do not dump).
sum='/^[0-9a-f]+-[0-9a-f]+ / { ours = /memfd:tobi / } /^Size:/ { kb = $2 } /^VmFlags:/ { if (ours && !/ dd/) all += kb } END { print all + 0 }'
for job in "1 $on_and_on --workers 3" "1 stream --n 8M --repeat 100000 --workers 3" "2 stream --n 8M --repeat 100000 --workers 4"; do
  : >"$out"
  # shellcheck disable=SC2086 # words
  TOBI_NODES=${job%% *} "$bench" ${job#* } >"$out" 2>"$err" </dev/null &
  first=$!
  until_true "grep -q '^ *[0-9]' '$out'"
  for process in $first $(children $first); do
    dumped=$(awk "$sum" "/proc/$process/smaps")
    rule "TOBI_NODES=$job: a core file has ${dumped:-all} KiB of what workers share: the process's own stacks" \
      [ "${dumped:-999999}" -le $((80 * 1024)) ]
  done
  kill $first
  wait $first 2>/dev/null
done
finish
