#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What a job costs before it does anything: its memory. (Its time is printed by make bench: no test asserts a time.)
. "$(dirname "$0")/../harness.inc"
# shellcheck disable=SC2086 # words
"$bench" $on_and_on --workers 2 >"$out" 2>"$err" </dev/null &
first=$!
begun "$out"
for p in $first $(children $first); do
  kb=$(awk '/^Pss:/ {print $2}' "/proc/$p/smaps_rollup")
  rule "a running worker holds ${kb:-?} KiB, less than 16 MiB" [ "${kb:-16384}" -lt 16384 ]
done
kill $first; wait $first 2>/dev/null
finish
