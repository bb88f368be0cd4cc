#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lane: sleeps, 8 s
# tobi-bench ramp: every shape runs with every scheduler and deque, on one node and on two, and its lines are JSON that
# tobi-report has a table of. No time is asserted: tests/jobs/coarse_programs_job_test.cc does that.
. "$(dirname "$0")/../harness.inc"
number='[0-9][0-9.e+-]*'
shapes="tree parallel_for parallel_invoke finish promises burst pair collection collection_even"

for sched in continuation_greedy continuation_stalling child_full child_rtc; do
  for deque in steal_word the; do
    run TOBI_SCHED=$sched TOBI_DEQUE=$deque "$bench" ramp --leaf 2ms --leaves 9 --workers 4 --repeat 2 --json
    all "ramp with $sched and $deque: nine shapes" '[ $status -eq 0 ]' silent 'lines 9' \
      '[ "$(grep -c "\"workers\":4,\"nodes\":1,\"transport\":\"shm\",\"sched\":\"$sched\",\"deque\":\"$deque\"" "$out")" -eq 9 ]'
    for shape in $shapes; do
      leaves=9 ideal=3
      case $shape in burst | pair) leaves=2 ideal=1 ;; esac
      line="\"app\":\"ramp\",\"params\":{\"shape\":\"$shape\",\"leaves\":$leaves,\"sleep\":\"2ms\"},.*\"ideal\":$ideal,"
      if [ $shape = promises ] && [ $sched = child_rtc ]; then
        all "ramp with $sched and $deque: promises are not run, and it is said why" \
          'says "$line\"not_run\":\"TOBI_SCHED=child_rtc refuses make_promise\"}"'
      else
        all "ramp with $sched and $deque: $shape has its time in leaves" \
          'says "$line\"first\":$number,\"median\":$number,\"worst\":$number,\"seconds\":$number}"'
      fi
    done
  done
done

for how in "TOBI_NODES=2 TOBI_TRANSPORT=sim" "TOBI_NODES=2 TOBI_TRANSPORT=ofi TOBI_OFI_PROVIDER=tcp;ofi_rxm"; do
  # shellcheck disable=SC2086 # words
  run $how "$bench" ramp --leaf 2ms --workers 4 --repeat 1 --json
  all "ramp between nodes: $how" '[ $status -eq 0 ]' silent 'lines 9' '[ "$(grep -c "\"nodes\":2" "$out")" -eq 9 ]'
done
for shape in $shapes; do
  run "$bench" ramp --shape $shape --leaf 500us --busy --workers 2 --leaves 5
  all "ramp --shape $shape alone, busy, for people" '[ $status -eq 0 ]' silent 'lines 3' 'says "leaves of 500us that are busy"' \
    'says "^ *$shape  *[25]  *[13]  *[0-9.]*  *[0-9.]*  *[0-9.]*$"'
done
run TOBI_SCHED=child_rtc "$bench" ramp --shape promises --leaf 1ms --workers 2
all "a shape that a scheduler refuses is a row" '[ $status -eq 0 ]' silent 'says "promises .* not run: "'
run "$bench" ramp --leaf 1ms --workers 1 --leaves 3 --repeat 1
all "ramp on one worker" '[ $status -eq 0 ]' silent 'lines 11' 'says " tree  *3  *3 "'

# One leaf is a program too.
for shape in $shapes; do
  run "$bench" ramp --shape $shape --leaf 1ms --workers 2 --leaves 1 --repeat 1
  all "ramp --shape $shape with one leaf" '[ $status -eq 0 ]' silent 'lines 3'
done

run "$bench" ramp --leaf 1ms --workers 2 --repeat 1 --json
cat "$out" >"$folder/lines"
run TOBI_DEQUE=the TOBI_SCHED=child_rtc "$bench" ramp --leaf 1ms --workers 2 --repeat 1 --json
cat "$out" >>"$folder/lines"
run "$BIN/tobi-report" "$folder/lines" --html "$folder/page.html"
all "tobi-report: time in leaves by shape, a row per setting" '[ $status -eq 0 ]' silent 'says "^shape  *tree  *parallel_for"' \
  'says "2 workers, shm, continuation_greedy, steal_word; 2 leaves, sleep 1ms"' 'says "2 workers, shm, child_rtc, the; 2 leaves, sleep 1ms"' 'says "not run"' \
  'grep -q "<h2>Coarse tasks" "$folder/page.html"' '[ "$(grep -c "child_rtc, the; 2 leaves, sleep 1ms" "$folder/page.html")" -eq 1 ]'
run "$BIN/tobi-report" "$folder/lines" --json
all "tobi-report --json has the lines" '[ $status -eq 0 ]' silent 'lines 18'

refuses() {  # words, arguments
  w=$1
  shift
  run "$bench" ramp "$@"
  all "refused: ramp $*" '[ $status -eq 2 ]' '[ "$(wc -l < "$err")" -eq 1 ]' '[ ! -s "$out" ]' 'complains "$w"'
}
for bad in 50 ms 5x 50m -5ms 0ms 61s nan 1e999s ' 5ms' '5 ms' ''; do refuses "is no length of a leaf" --leaf "$bad"; done
for bad in 0 -1 x 99999 ''; do refuses "--leaves: " --leaves "$bad"; done
for bad in 0 x 99999; do refuses "--workers: " --workers $bad; done
for bad in 0 -1 x; do refuses "--repeat: " --repeat $bad; done
refuses "--shape: " --shape star
refuses "excludes" --busy --sleep
refuses "extra" extra
refuses "--warmup" --warmup 2
finish
