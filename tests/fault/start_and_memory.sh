#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What a job costs before it does anything: its memory. (Its time is printed by make bench: no test asserts a time.)
. "$(dirname "$0")/../harness.inc"
"$bench" uts --tree T1L --workers 2 >/dev/null 2>&1 </dev/null &
first=$!
sleep 0.7
for p in $first $(cat "/proc/$first/task/$first/children"); do
  kb=$(awk '/^Pss:/ {print $2}' "/proc/$p/smaps_rollup")
  rule "a running worker holds ${kb:-?} KiB, less than 16 MiB" [ "${kb:-16384}" -lt 16384 ]
done
kill $first; wait $first 2>/dev/null
finish
