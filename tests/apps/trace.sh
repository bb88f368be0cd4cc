#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lane: computes, 12 s
# TOBI_TRACE: the file is JSON whose tracks are named and whose intervals nest, it agrees with what the job counted, it says what it lost,
# clocks of two nodes are brought together, and a job that does not end well leaves no file that looks whole.
. "$(dirname "$0")/../harness.inc"
report=$BIN/tobi-report
trace=$folder/trace.json
counts='[.steals_ok, .steals_failed, .outstanding_joins]'

# By jq alone, as a viewer would read it: sorted by begin, each interval ends within the one that is open.
nests='
[.traceEvents[] | select(.ph == "X")] | group_by(.tid) | all(
  map([(.ts * 1000 | round), ((.ts * 1000 | round) + (.dur * 1000 | round))]) | sort_by([.[0], -.[1]]) |
  reduce .[] as $i ({open: [], ok: true};
    until((.open | length) == 0 or .open[-1] > $i[0]; .open |= .[:-1]) |
    (if (.open | length) > 0 and $i[1] > .open[-1] then .ok = false else . end) | .open += [$i[1]]) | .ok)'
named='([.traceEvents[] | select(.ph != "M") | .tid] | unique) - [.traceEvents[] | select(.name == "thread_name" and .args.name != "") | .tid] == []'
monotone='[.traceEvents[] | select(.ph == "X" or .ph == "i")] | group_by(.tid) | all(map(.ts + (.dur // 0)) | . as $e | all(range(1; length); $e[.] >= $e[. - 1] - 0.0011))'
# An arrow has two ends, and none comes before the other by more than the clocks may be wrong. Of the news that a task may go on the
# name is a place in memory, which later tasks have too: those of one name are in order. What a ring has lost has no end.
arrows='(.otherData.ranks | map(.clock_error_ns) | 2 * max / 1000 + 0.002) as $bound | (.otherData.ranks | all(.lost == 0)) as $whole |
[.traceEvents[] | select(.cat == "arrow")] | group_by(.id) | all(
  (map(select(.ph == "s").ts) | sort) as $from | (map(select(.ph == "f").ts) | sort) as $to |
  ($whole | not) or (($from | length) == ($to | length) and all(range($to | length); $to[.] >= $from[.] - $bound)))'
if command -v jq >/dev/null; then
  # The rule is first tried on intervals that overlap.
  echo '{"traceEvents":[{"ph":"X","tid":1,"ts":0,"dur":5},{"ph":"X","tid":1,"ts":3,"dur":4}]}' | jq -e "$nests | not" >"$out" 2>"$err"
  verdict $? "intervals that overlap are noticed"
  echo '{"otherData":{"ranks":[{"clock_error_ns":1000,"lost":0}]},"traceEvents":[{"ph":"s","cat":"arrow","id":"j1","ts":9},{"ph":"f","cat":"arrow","id":"j1","ts":5}]}' |
    jq -e "$arrows | not" >"$out" 2>"$err"
  verdict $? "an arrow into the past is noticed"
else
  skip "traces by jq: not installed"
fi

checked() {  # what, then settings and arguments of tobi-bench
  what=$1
  shift
  rm -f "$trace"
  run TOBI_TRACE="$trace" "$@" --json || { verdict 1 "$what: the job runs"; return; }
  cp "$out" "$folder/bench"
  run "$report" "$trace" --json
  all "$what: tobi-report finds no fault" '[ $status -eq 0 ]' silent 'lines 1' '[ ! -e "$trace.part" ]'
  command -v jq >/dev/null || return
  jq -c ".stats | $counts" "$folder/bench" >"$folder/a"
  jq -c "$counts" "$out" >"$folder/b"
  cp "$out" "$folder/b.json"
  all "$what: the file's counts are the job's" '[ -s "$folder/a" ]' 'cmp -s "$folder/a" "$folder/b"'
  for rule in nests named monotone arrows; do
    # There each task that forks moves, and nobody says that it may go on.
    [[ $rule != arrows || $what != TOBI_DEBUG_MIGRATE* ]] || continue
    eval "filter=\$$rule"
    jq -e "$filter" "$trace" >"$folder/c" 2>&1
    verdict $? "$what: $rule"
  done
}
same() { jq -e "$1" "$out" >/dev/null; }

for workers in 1 2 4; do
  checked "$workers workers, shm" "$bench" uts --tree T1 --workers $workers
done
checked "4 workers, joins that wait" "$bench" btc --depth 10 --iter 2 --workers 4
if command -v jq >/dev/null; then
  jq -e '.published == ($b[0].stats.published)' --slurpfile b "$folder/bench" "$out" >/dev/null
  verdict $? "publications are all there"
fi
# The other schedulers: what waits is tied to its worker, which writes when it could go on. With child stealing nearly each join
# waits, so fewer fit.
for sched in continuation_stalling child_full child_rtc; do
  checked "$sched, joins that wait" TOBI_SCHED=$sched "$bench" btc --depth $([ $sched = continuation_stalling ] && echo 10 || echo 7) --iter 2 --workers 4
  command -v jq >/dev/null || continue
  all "$sched: each join that waited went on" 'jq -e ".joins_resumed == .outstanding_joins" "$folder/b.json" >/dev/null'
done
checked "TOBI_DEQUE=the" TOBI_DEQUE=the "$bench" uts --tree T1 --workers 2
checked "TOBI_DEBUG_MIGRATE=1" TOBI_DEBUG_MIGRATE=1 "$bench" fib --n 12 --workers 2
checked "two nodes, sim" TOBI_NODES=2 TOBI_TRANSPORT=sim "$bench" uts --tree T1 --workers 4
if command -v jq >/dev/null; then
  head -n 1 "$trace" | sed 's/$/]}/' | jq -c '.otherData.ranks' >"$out"
  all "two nodes of one machine: the truth, no offset, lies within the measured bound" \
    'same "all(if .clock_offset_ns < 0 then -.clock_offset_ns else .clock_offset_ns end <= .clock_error_ns)"' \
    'same "(.[0].clock_error_ns == 0) and (.[2].clock_error_ns > 0) and (.[2].clock_offset_ns == .[3].clock_offset_ns)"'
fi
# What every worker has fetched is in its count, and in those of the program's lines; what it did so in runs is in its events.
whole='(.otherData.fetched_at | map(.bytes) | add // 0) == (.otherData.ranks | map(.fetched_bytes) | add) and
(.otherData.ranks | map(.fetched_bytes) | add) > 0 and (.otherData.ranks | all(.hits <= .checkouts)) and
([.traceEvents[] | select(.name == "fetch") | .args.bytes] | add) as $in | $in > 0 and $in <= (.otherData.ranks | map(.fetched_bytes) | add)'
memory() {  # what, settings; the job counts the sorting alone, and the trace has all
  local what=$1 rule filter
  shift
  rm -f "$trace"
  run TOBI_TRACE="$trace" TOBI_NODES=2 "$@" "$bench" cilksort --n 200000 --cutoff 2000 --workers 4 || { verdict 1 "$what: the job runs"; return; }
  run "$report" "$trace" --json
  all "$what: tobi-report finds no fault" '[ $status -eq 0 ]' silent 'lines 1'
  command -v jq >/dev/null || return
  for rule in nests named monotone whole; do
    filter=${!rule}
    jq -e "$filter" "$trace" >"$folder/c" 2>&1
    verdict $? "$what, global memory: $rule"
  done
}
memory "two nodes, sim" TOBI_TRANSPORT=sim
memory "child_full, sim" TOBI_SCHED=child_full TOBI_TRANSPORT=sim
if provider_is_here 'tcp;ofi_rxm'; then
  memory "two nodes, ofi" TOBI_TRANSPORT=ofi TOBI_OFI_PROVIDER='tcp;ofi_rxm'
  checked "two nodes, ofi" TOBI_NODES=2 TOBI_TRANSPORT=ofi TOBI_OFI_PROVIDER='tcp;ofi_rxm' "$bench" uts --tree T1 --workers 4
else
  skip "two nodes, ofi: $(tail -n 1 "$err")"
fi

checked "a small ring" TOBI_TRACE_SIZE=4K "$bench" btc --depth 12 --iter 2 --workers 4 --repeat 1
run "$report" "$trace"
all "a small ring loses the oldest, and says so" '[ $status -eq 0 ]' silent 'says "of the oldest events were lost: raise TOBI_TRACE_SIZE"'
checked "no trace of an earlier job is left in a later one" "$bench" fib --n 5 --workers 1

# A launcher that gives the environment to rank 0 alone: nobody waits for ever, and all are in the trace.
if command -v mpirun.openmpi >/dev/null && run mpirun.openmpi --allow-run-as-root --oversubscribe -n 2 "$bench" fib --n 5; then
  rm -f "$trace"
  run mpirun.openmpi --allow-run-as-root --oversubscribe -n 1 env TOBI_TRACE="$trace" "$bench" fib --n 25 : -n 1 "$bench" fib --n 25
  all "what rank 0 was told holds for all" "[ \$status -eq 0 ]" "[ -s \"\$trace\" ]" "[ \"\$(grep -c thread_name \"\$trace\")\" -eq 2 ]"
else
  skip "a setting of rank 0 alone: mpirun cannot start a job here"
fi

# Mistakes, before anything runs.
for file in /nowhere/trace.json "$folder" /dev/full; do
  run TOBI_TRACE="$file" "$bench" fib --n 5 --workers 3
  all "refused in one sentence: TOBI_TRACE=$(echo "$file" | sed "s|$folder|a folder|")" '[ $status -eq 2 ]' \
    '[ "$(wc -l < "$err")" -eq 1 ]' '[ ! -s "$out" ]' 'complains "TOBI_TRACE="'
done
for size in 1 -1 x; do
  run TOBI_TRACE_SIZE=$size "$bench" fib --n 5
  all "refused: TOBI_TRACE_SIZE=$size" '[ $status -eq 2 ]' '[ "$(wc -l < "$err")" -eq 1 ]' 'complains "TOBI_TRACE_SIZE=$size is not a size"'
done

# Somebody puts a link in the place of the file that the job will write. It stands still meanwhile.
rm -f "$trace"
: >"$folder/others"
: >"$out"
TOBI_TRACE="$trace" "$bench" uts --tree T1 --repeat 4 --workers 2 >"$out" 2>"$err" &
first=$!
begun "$out"
kill -STOP $first
ln -s "$folder/others" "$trace.part"
kill -CONT $first
wait $first
status=$?
all "a link in its place is not followed" '[ $status -eq 0 ]' '[ ! -s "$folder/others" ]' '[ ! -L "$trace" ]' '[ -s "$trace" ]'

# A job that is killed.
rm -f "$trace"
: >"$out"
# shellcheck disable=SC2086 # words
TOBI_TRACE="$trace" "$bench" $on_and_on --workers 2 >"$out" 2>"$err" &
first=$!
begun "$out"
child=$(children $first)
kill -9 ${child%% *} 2>/dev/null
killed=$?
wait $first
status=$?
all "a worker that is killed ends the job, and no file is there" '[ $killed -eq 0 ]' '[ $status -ne 0 ]' '[ ! -e "$trace" ]' '[ ! -e "$trace.part" ]'
finish
