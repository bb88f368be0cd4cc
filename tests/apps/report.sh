#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lane: beside
# tobi-report: figures, a page, lines for programs; and every input that is not what it should be is one sentence.
. "$(dirname "$0")/../harness.inc"
report=$BIN/tobi-report
trace=$folder/t.json
results=$folder/r.jsonl

# Until there is in it what the figures are about.
traced() {
  run TOBI_TRACE="$trace" TOBI_STATS=1 "$bench" btc --depth 12 --iter 2 --workers 4 --json
  [ $status -ne 0 ] || { grep -q '"result":"success"' "$trace" && grep -q '"name":"resume"' "$trace"; }
}
until_true traced
sed 's/^{/{"for":"trees",/' "$out" >"$results"  # as tests/perf/page calls it
run "$bench" fib --n 20 --workers 2 --repeat 3 --json
cat "$out" >>"$results"
run TOBI_STATS=1 TOBI_NODES=2 TOBI_TRANSPORT=sim "$bench" cilksort --n 20000 --cutoff 500 --workers 2 --json
all "cilksort --json: hits, bytes and where the time went" '[ $status -eq 0 ]' 'says "\"hit_rate\":0\.[0-9]"' 'says "\"fetched_bytes\":[1-9]"' \
  'says "\"phases_s\":{\"get\":[0-9]"' 'says "\"lazy_release\":"' 'says "\"others\":"'
cat "$out" >>"$results"
run "$BIN/tobi-info" --no-measure --json
grep '"kind":"machine"' "$out" >>"$results"
[ -s "$trace" ]
verdict $? "there is a trace to report on"

run "$report" "$trace" "$results"
all "for people: utilisation, joins, steals, thieves, workers and runs" '[ $status -eq 0 ]' silent 'says "busy workers"' \
  'says "ready joins"' 'says "steals [0-9]*, failed [0-9]*, latency"' 'says "thief  *victim"' 'says "clock"' 'says "^btc depth 12 iter 2  *1 "' \
  'says "^fib n 20  *3 "'
run "$report" "$trace" "$results" --json
all "--json: a line per run, the median of those that repeat, and one per trace" '[ $status -eq 0 ]' silent 'lines 5' \
  '[ "$(grep -c "\"kind\":\"trace\"" "$out")" -eq 1 ]' 'says "\"runs\":3"' 'says "\"steal_phases_ns\":{"' 'says "\"outstanding_join_ns\":"'

well_formed() {  # an SVG whose elements are closed and that refers to nothing
  [ "$(grep -c '<svg ' "$1")" -ge 1 ] && [ "$(grep -c '<svg ' "$1")" -eq "$(grep -c '</svg>' "$1")" ] &&
    ! grep -qE '<script|(href|src)=|url\(|nan|inf"' "$1"
}
for name in activity time steals utilisation latency phases; do
  run "$report" "$trace" --svg $name "$folder/$name.svg"
  all "--svg $name: a figure that needs nothing" '[ $status -eq 0 ]' silent 'well_formed "$folder/$name.svg"' 'grep -q "<rect" "$folder/$name.svg"'
done
run "$report" "$trace" "$results" --papers "$ROOT/tools/report/papers.json" --html "$folder/page.html"
all "--html: a page with six figures, the papers' numbers, the machine and ours" '[ $status -eq 0 ]' silent 'well_formed "$folder/page.html"' \
  '[ "$(grep -c "<svg " "$folder/page.html")" -ge 7 ]' 'grep -q "<h2>Global memory" "$folder/page.html"' 'grep -q "lazy release" "$folder/page.html"' 'grep -q "Table II, RecPFor" "$folder/page.html"' 'grep -q "Measured on" "$folder/page.html"' \
  'grep -q "What differs" "$folder/page.html"' 'grep -q "Not measured in this run" "$folder/page.html"' \
  'grep -q "<tr class=\"ours\"><td>ours</td><td>btc depth 12 iter 2" "$folder/page.html"'
all "the papers' numbers each have a source and a place" '[ "$(grep -c "\"where\"" "$ROOT/tools/report/papers.json")" -eq "$(grep -c "\"source\"" "$ROOT/tools/report/papers.json")" ]'

# Thousands of workers, made by hand: 3000, each with a run and a task, the first with a steal.
awk 'BEGIN {
  n = 3000
  printf "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"format\":\"tobiuo-trace\",\"version\":1,\"workers\":%d,\"transport\":\"verbs\",\"sched\":\"continuation_greedy\",\"deque\":\"the\",\"ranks\":[", n
  for (r = 0; r < n; r++) printf "%s{\"rank\":%d,\"node\":%d,\"events\":%d,\"lost\":0,\"clock_offset_ns\":0,\"clock_drift_ppm\":0,\"clock_error_ns\":5,\"steals_ok\":%d,\"steals_empty\":0,\"steals_lost_race\":0,\"stolen_bytes\":0,\"run\":1,\"task\":1,\"suspend\":0,\"ready\":0,\"resume\":0,\"publish\":0,\"wait\":0}", r ? "," : "", r, r / 48, r ? 2 : 3, r ? 0 : 1
  printf "]},\"traceEvents\":["
  for (r = 0; r < n; r++) {
    t = sprintf("\"pid\":1,\"tid\":%d", r + 1)
    printf "%s\n{\"ph\":\"M\",%s,\"name\":\"thread_name\",\"args\":{\"name\":\"w\"}}", r ? "," : "", t
    if (r == 0) printf ",\n{\"ph\":\"X\",%s,\"name\":\"steal\",\"ts\":1.0,\"dur\":2.5,\"args\":{\"victim\":2999,\"result\":\"success\",\"bytes\":64,\"empty_check_ns\":900}}", t
    printf ",\n{\"ph\":\"X\",%s,\"name\":\"task\",\"ts\":4.0,\"dur\":%d}", t, r % 100
    printf ",\n{\"ph\":\"X\",%s,\"name\":\"run\",\"ts\":0.0,\"dur\":110.5}", t
  }
  printf "\n]}\n"
}' >"$folder/many.json"
run "$report" "$folder/many.json" --html "$folder/many.html"
all "3000 workers: a page, and a table that stays short" '[ $status -eq 0 ]' silent 'well_formed "$folder/many.html"' \
  'says "and 2984 workers more"' '[ "$(wc -c < "$folder/many.html")" -lt 2000000 ]'

# What limits a program, of traces made by hand: workers with a run of 100 us each. Of a worker's EVENTS each is NAME:BEGIN:LENGTH
# in us, in the order of their ends.
made() {  # FILE, EVENTS of each worker
  local file=$1 r steals event name begin length
  shift
  local events=("$@")
  {
    printf '{"displayTimeUnit":"ns","otherData":{"format":"tobiuo-trace","version":3,"workers":%d,"transport":"shm+ofi","sched":"s","deque":"d","ranks":[' $#
    for r in "${!events[@]}"; do
      steals=$(grep -o 'steal:' <<<"${events[r]}" | wc -l)
      printf '%s{"rank":%d,"node":%d,"events":%d,"lost":0,"clock_offset_ns":0,"clock_drift_ppm":0,"clock_error_ns":0,"steals_ok":%d,"steals_empty":0,"steals_lost_race":0,"stolen_bytes":0,"suspend":0,"publish":0,"wait":0,"checkouts":10,"hits":7,"fetched_bytes":3000000,"written_bytes":20}' \
        "$([ $r = 0 ] || echo ,)" $r $r "$(wc -w <<<"${events[r]}")" "$steals"
    done
    printf '],"fetched_at":[{"place":"cg.cc:41","pieces":2000,"bytes":4500000,"waited_ns":9},{"place":"elsewhere","pieces":1,"bytes":1500000,"waited_ns":1}]},"traceEvents":[\n'
    for r in "${!events[@]}"; do
      printf '{"ph":"M","pid":1,"tid":%d,"name":"thread_name","args":{"name":"w"}}' $((r + 1))
      for event in ${events[r]}; do
        IFS=: read -r name begin length <<<"$event"
        local args='{}'
        case $name in
          fetch) args='{"bytes":1000,"pieces":2,"home":1}' ;;
          write_back) args='{"bytes":20}' ;;
          update) args='{"numbers":3}' ;;
          wait | await_release) args='{"peer":1}' ;;
          suspend) args='{"join":"7"}' ;;
          steal) args='{"victim":1,"result":"success","bytes":64}' ;;
          *=*) args="{\"name\":\"${name#*=}\"}" name=phase ;;
        esac
        if [ "$name" = phase ]; then
          printf ',\n{"ph":"i","pid":1,"tid":%d,"name":"phase","ts":%s,"s":"t","args":%s}' $((r + 1)) "$begin" "$args"
        else
          printf ',\n{"ph":"X","pid":1,"tid":%d,"name":"%s","ts":%s,"dur":%s,"args":%s}' $((r + 1)) "$name" "$begin" "$length" "$args"
        fi
      done
      [ $((r + 1)) = $# ] || printf ',\n'
    done
    printf '\n]}\n'
  } >"$file"
}
if command -v jq >/dev/null; then
  is() { jq -e "$1" "$out" >"$folder/seen" 2>&1; }
  near() { is "($1) as \$x | \$x > $2 - 1e-9 and \$x < $2 + 1e-9"; }
  limits() {  # WORDS LIMIT SHARE TEXT, EVENTS of each worker
    local words=$1 limit=$2 share=$3 text=$4
    shift 4
    made "$folder/made.json" "$@"
    run "$report" "$folder/made.json" --json
    all "what limits it: $words" '[ $status -eq 0 ]' silent "is '.limit == \"$limit\"'" "near '.time_shares.$limit' $share" "is '.sentence | contains(\"$text\")'"
  }
  busy='task:0:100 run:0:100'
  limits "tasks that compute" computing 0.95 "95 % of all time" 'task:0:95 idle:95:5 run:0:100' 'task:0:95 idle:95:5 run:0:100'
  for kind in fetch:fetching write_back:writing_back await_release:awaiting_releases update:updating wait:other_wait suspend:switching steal:stealing; do
    limits "${kind%:*} in tasks" "${kind#*:}" 0.25 "25 % of all time" "${kind%:*}:10:50 $busy" "$busy"
  done
  limits "where bytes were fetched, in which pieces" fetching 0.3 "75 % of 6 MB were fetched for cg.cc:41, 2.25 kB at a time. Check out larger" "fetch:0:60 $busy" "$busy"
  limits "a wait for bytes is one for the fabric, too" fetching 0.3 "" "wait:20:10 fetch:0:60 $busy" "$busy"
  limits "updates, of how many numbers" updating 0.3 "of 3 numbers at a time" "wait:20:10 update:0:60 $busy" "$busy"
  run TOBI_TRACE="$folder/gups.json" TOBI_TRANSPORT=sim TOBI_NODES=2 "$BIN/tobi-bench" gups --n 16K --by accumulate --workers 2
  run "$report" "$folder/gups.json" --json
  all "updates that a program waits for" '[ $status -eq 0 ]' 'is ".time_shares.updating > 0"' 'grep -q "\"name\":\"update\".*\"numbers\":[1-9]" "$folder/gups.json"'
  limits "one worker alone" idle 0.5 "In 100 % of the time by the clock, one worker at most had a task" "$busy" 'idle:0:100 run:0:100'
  limits "too few tasks for all" idle 0.25 "the others had no more to give away" "$busy" "$busy" "$busy" 'idle:0:100 run:0:100'
  limits "an idle worker that waits for the fabric is idle" idle 0.5 "" "$busy" 'wait:10:80 idle:0:100 run:0:100'
  limits "the phase with the most of it" fetching 0.3 "80 % of it in phase two." "_=one:0:0 fetch:0:12 _=two:20:0 fetch:30:48 $busy" "$busy"
  all "phases: names, times, seconds, shares, bytes" 'is "[.phases[] | [.name, .times, .fetched_bytes]] == [[\"one\", 1, 1000], [\"two\", 1, 1000]]"' \
    'near ".phases[1].seconds" 8e-5' 'near ".phases[1].time_shares.fetching" 0.3' 'near ".phases[0].time_shares.computing" 0.7'
  limits "runs are phases where nobody names any" computing 1 "" 'task:0:40 run:0:40 task:60:40 run:60:40' 'task:0:40 run:0:40 task:60:40 run:60:40'
  all "each run is one" 'is "[.phases[].name] == [\"run 1\", \"run 2\"]"' 'near ".phases[1].seconds" 4e-5' 'is ".by_worker[1].hits == 7"'
  run "$report" "$folder/made.json" --html "$folder/made.html"
  all "the page says it, too" 'grep -q "What limits it:</strong> The computation itself" "$folder/made.html"' 'grep -q "<td>cg.cc:41</td>" "$folder/made.html"' 'well_formed "$folder/made.html"'
else
  skip "what limits a program, by jq: not installed"
fi

# What is not an input.
refuses() {  # words, arguments
  w=$1
  shift
  run "$report" "$@"
  shown=$(echo "$*" | sed "s|$folder/||g; s|$ROOT/||g; s|$folder|a folder|; s|^$BIN/||")
  all "refused: ${shown:-nothing}${w:+ ($w)}" '[ $status -eq 2 ]' '[ "$(wc -l < "$err")" -eq 1 ]' '[ ! -s "$out" ]' 'complains "$w"'
}
: >"$folder/empty"
refuses "name a trace"
refuses "is empty" "$folder/empty"
refuses "cannot be read" /nowhere
refuses "is a folder" "$folder"
refuses "neither a trace nor" "$report"
echo 'hello' >"$folder/text"; refuses "neither a trace nor" "$folder/text"
echo '[1,2]' >"$folder/list"; refuses "neither a trace nor" "$folder/list"
echo '{"traceEvents":[{"ph":"X"}]}' >"$folder/foreign"; refuses "is no trace of TOBI_TRACE" "$folder/foreign"
size=$(wc -c <"$trace")
for part in 30 100 $((size / 2)) $((size - 1)) $((size - 4)) $((size - 20)); do
  head -c "$part" "$trace" >"$folder/cut"
  # The very last line end is the one byte that a trace can do without.
  [ "$part" -eq $((size - 1)) ] && { run "$report" "$folder/cut"; all "a trace without its last line end is whole" '[ $status -eq 0 ]'; continue; }
  refuses "" "$folder/cut"
done
head -c $((size / 2)) "$trace" >"$folder/cut"; refuses "ends in the middle" "$folder/cut"
change() { sed "$1" "$trace" >"$folder/changed"; cmp -s "$trace" "$folder/changed" && verdict 1 "the test changes something: $1"; refuses "$2" "$folder/changed"; }
change '1s/"version":4/"version":5/' "version"
change '1s/"workers":4/"workers":5/' "how many workers"
change '1s/"workers":4/"workers":-4/' "workers"
change '1s/"steals_ok":\([0-9]\)/"steals_ok":9\1/' "counted other steals"
change '$s/.*/]}\nmore/' "goes on behind its end"
change 's/"tid":2,"name":"run"/"tid":9,"name":"run"/' "names a worker that there is not"
change 's/"victim":[0-9]*/"victim":77/' "names a victim that there is not"
change 's/"dur":/"dur":-/' "ends before it begins"
change 's/"dur":[0-9.]*/"dur":1e300/' "a time that is none"
change 's/"ts":/"t":/' "lacks a part"
change '/thread_name/d' "has no name"
change '0,/"name":"task"/{/"name":"task"/d}' "another number of events"
change 's/"ph":"X"/"ph":"Q"/' "of a kind that a trace does not have"
refuses "is not one of activity" "$trace" --svg pie "$folder/x.svg"
refuses "cannot be written" "$trace" --svg steals /nowhere/x.svg
refuses "cannot be written" "$trace" --html /nowhere/x.html
refuses "needs a trace" "$results" --svg steals "$folder/x.svg"
refuses "is no JSON" "$trace" --papers "$folder/text"
refuses "is no table of papers" "$trace" --papers "$folder/many.json"
refuses "nonsense" "$trace" --nonsense
echo '{"app":"fib","seconds":"long","params":7,"workers":[1]}' >"$folder/odd"
run "$report" "$folder/odd" --html "$folder/odd.html"
all "fields of other types than expected do no harm" '[ $status -le 2 ]' '[ "$(wc -l < "$err")" -le 1 ]'
finish
