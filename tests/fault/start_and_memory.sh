#!/usr/bin/env bash
# What a job costs before it does anything: its memory. (Its time is printed by make bench: no test asserts a time.)
set -u
: "${BIN:=build/release/bin}"
failed=0
"$BIN/tobi-bench" uts --tree T1L --workers 2 >/dev/null 2>&1 </dev/null &
first=$!
sleep 0.7
for p in $first $(cat "/proc/$first/task/$first/children"); do
  kb=$(awk '/^Pss:/ {print $2}' "/proc/$p/smaps_rollup")
  if [ -n "$kb" ] && [ "$kb" -lt 16384 ]; then echo "ok - a running worker holds $kb KiB, less than 16 MiB"
  else echo "not ok - a running worker holds ${kb:-?} KiB, 16 MiB or more"; failed=1; fi
done
kill $first; wait $first 2>/dev/null
exit $failed
