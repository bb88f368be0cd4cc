#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lane: beside, 3 s
# tobi-report --work-span: the bounds that follow from a file of TOBI_WORK_SPAN, next to what was measured; and a file or a question that
# is not what it should be is one sentence. The file is written by hand, so that its numbers are round.
. "$(dirname "$0")/../harness.inc"
report=$BIN/tobi-report
w=$folder/w.json

# 12 s of work, a span of 2 s with 5 forks on it; 1000 forks, in two runs.
one='"runs":2,"forks":1000,"work_ns":12000000000,"span_ns":2000000000,"forks_on_span":5,"taken_off_ns":0,"outside_ns":500000000,"interruptions":0'
burdened='"burdened":[{"steal_ns":2000,"span_ns":2000000000},{"steal_ns":20000,"span_ns":2200000000},{"steal_ns":200000,"span_ns":4000000000}]'
runs='"each":[{"forks":400,"work_ns":3000000000,"span_ns":500000000,"forks_on_span":1},{"forks":600,"work_ns":9000000000,"span_ns":1500000000,"forks_on_span":4}]'
echo "{\"kind\":\"work_span\",$one,$burdened,$runs}" >"$w"
row() { says "^ *$1 *$2 *$3 *$4 *$5 *${6-}\$"; }  # workers, at least, at most, speedup from, to, measured

run "$report" --work-span "$w"
all "work, span, parallelism and what follows" '[ $status -eq 0 ]' silent 'says "2 runs, 1000 forks"' 'says "work *12.000 s "' 'says "span *2.000 s "' \
  'says "parallelism *6.0 "' 'says "outside *500.000 ms "' 'row 1 12.000000 12.000000 1.00 1.00' 'row 2 6.000000 7.000000 1.71 2.00' \
  'row 4 3.000000 4.500000 2.67 4.00' 'row 8 2.000000 3.250000 3.69 6.00' '! says "^ *16 "' 'says "More than 6 workers are no use\.$"'
all "the runs, the one with the longest span first" 'says "^ *2 *9.000 s *1.500 s *6.0$"' 'says "^ *1 *3.000 s *500.000 ms *6.0$"'
run "$report" --work-span "$w" --steal 110us --measured 3=5 2=6.5
all "another cost of a steal, and times that were measured" '[ $status -eq 0 ]' silent 'says "burdened span *3.100 s .*110.000 us$"' \
  'row 2 6.000000 7.550000 1.59 2.00 6.500000' 'row 3 4.000000 6.066667 1.98 3.00 5.000000'
run "$report" --work-span "$w" --measured 1=10
all "work that is more than one worker takes is taken off per fork" '[ $status -eq 0 ]' silent 'row 1 10.000000 10.000000 1.00 1.00 10.000000' \
  'says "span *1.990 s "' 'says "2.000 s more than one worker takes, 2.000 ms per fork"'
run "$report" --work-span "$w" --measured 1=13
all "and less than it takes stays what it is" '[ $status -eq 0 ]' 'row 1 12.000000 12.000000 1.00 1.00 13.000000'
run "$report" --work-span "$w" --json
all "--json: a line" '[ $status -eq 0 ]' silent 'lines 1' 'says "\"kind\":\"work_span_prediction\".*\"parallelism\":6.0.*{\"workers\":4,\"at_least_s\":3.0,\"at_most_s\":4.5,\"measured_s\":null}"'
run "$report" --work-span "$w" --measured 2=6.5 --html "$folder/page.html"
all "--html: a chart and a table" '[ $status -eq 0 ]' silent 'grep -q "<h2>Work and span" "$folder/page.html"' '[ "$(grep -c "<svg " "$folder/page.html")" -eq 1 ]' \
  'grep -q "<td class=\"n\">6.500000</td>" "$folder/page.html"'

sed 's/"interruptions":0/"interruptions":7/; s/"forks":1000/"forks":100000000/' "$w" >"$folder/noisy.json"
run "$report" --work-span "$folder/noisy.json"
all "tasks that are too short, and a machine that was not alone, are told" '[ $status -eq 0 ]' 'says "A task takes 0.120 us.*--measured 1=SECONDS"' 'says "took the worker.s core 7 times"'

refused() {  # what, the sentence, arguments
  local what=$1 why=$2
  shift 2
  run "$report" "$@"
  all "$what" '[ $status -eq 2 ]' '[ ! -s "$out" ]' '[ "$(wc -l <"$err")" -eq 1 ]' 'complains "$why"'
}
refused "a steal that is dearer than what was measured" "--steal is at most 200 us" --work-span "$w" --steal 1ms
refused "a cost that is no time" "--steal 2 is not a time, such as 500ns or 2us" --work-span "$w" --steal 2
refused "a time without workers" "--measured 0.5 is not WORKERS=SECONDS, such as 4=0.31" --work-span "$w" --measured 0.5
refused "a time of no workers" "--measured 0=1 is not WORKERS=SECONDS" --work-span "$w" --measured 0=1
refused "questions about no file" "mean nothing without --work-span" --steal 2us "$w"
echo '{"kind":"machine"}' >"$folder/other.json"
refused "another kind of file" "other.json is not a file of TOBI_WORK_SPAN" --work-span "$folder/other.json"
echo '{"kind":"work_span","runs":1}' >"$folder/part.json"
refused "a part of such a file" "part.json is not a whole file of TOBI_WORK_SPAN" --work-span "$folder/part.json"
refused "a file that is not there" "cannot be read" --work-span "$folder/none.json"
sed 's/"runs":2/"runs":0/' "$w" >"$folder/none.json"
refused "a program without a run" "the program made no run (tobi::run), so there is nothing to predict" --work-span "$folder/none.json"
sed 's/"span_ns":2000000000,"forks_on/"span_ns":0,"forks_on/' "$w" >"$folder/none.json"
refused "a span of nothing" "work or span is shorter than what measuring it takes" --work-span "$folder/none.json"
refused "a time without an end" "--measured 1=inf is not WORKERS=SECONDS" --work-span "$w" --measured 1=inf
sed 's/"steal_ns":20000,/"steal_ns":2000,/' "$w" >"$folder/none.json"
refused "costs that are not in order" "the costs of a steal are not in order" --work-span "$folder/none.json" --steal 100us

# A program is measured, with the settings as they are: one worker is chosen where nothing else is said.
run env -u TOBI_WORKERS TOBI_WORK_SPAN="$folder/fib.json" "$bench" fib --n 20
all "a program says what it always says" '[ $status -eq 0 ]' silent 'says 6765' 'says "1 worker "'
run "$report" --work-span "$folder/fib.json"
all "and its forks have been counted" '[ $status -eq 0 ]' silent 'says "1 run, 10945 forks"'
finish
