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
# shellcheck disable=SC2086 # words
"$bench" $on_and_on --workers 3 >"$out" 2>"$err" </dev/null &
first=$!
begun "$out"
for process in $first $(children $first); do
  dumped=$(awk '/^[0-9a-f]+-[0-9a-f]+ / { shared = /memfd:tobi / } /^Size:/ { kb = $2 } /^VmFlags:/ { if (shared && !/ dd/) all += kb } END { print all + 0 }' "/proc/$process/smaps")
  rule "a core file has ${dumped:-all} KiB of what workers share: the process's own stacks" [ "${dumped:-999999}" -le $((128 * 1024)) ]
done
kill $first
wait $first 2>/dev/null
finish
