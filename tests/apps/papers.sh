#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# soak: runs all measurements of make bench
# The page of make bench, at sizes of a test: whatever tools/report/papers.json asks for is in some result that its programs print,
# and each experiment has its curves and rows. What is asked for and is nowhere fails with its name, which is first tried.
. "$(dirname "$0")/../harness.inc"
report=$BIN/tobi-report
pages=$folder/pages
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

run SMALL=1 PAGES="$pages" tests/perf/page
all "the page of make bench is whole: each pointer of papers.json finds a number" '[ $status -eq 0 ]' silent '! says "not measured"' '! says "not traced"'
traces=$(ls "$pages"/*.json)
asks() { run "$report" --complete --papers "$1" "$pages/results.jsonl" $traces; }  # PAPERS

# A pointer to nowhere, of each place that may have one.
papers=tools/report/papers.json
planted() {  # WORDS SED...: exactly this is not found
  local words=$1
  shift
  sed "$@" $papers >"$folder/planted.json"
  cmp -s $papers "$folder/planted.json" && not_ok "the test changes something: $*"
  asks "$folder/planted.json"
  all "what is nowhere fails with its name: $words" '[ $status -eq 1 ]' 'complains "$words"' '[ "$(wc -l <"$err")" -le 40 ]'
}
planted /stats/copy_time 's|/stats/copy_ns|/stats/copy_time|'
planted /steal_phases_ns/claim 's|/steal_phases_ns/lock|/steal_phases_ns/claim|'
planted /ideal_yield '0,/"at": "\/ideal_efficiency"/s||"at": "/ideal_yield"|'
planted '"/for":"loups"' 's|"/for": "loops"|"/for": "loups"|'
planted '"/name":"recpfor-child_half"' 's|recpfor-child_full|recpfor-child_half|'
planted /count '0,/"over": "\/seconds"/s||"over": "/count"|'
planted '"/for":"pieces"' 's|"bars": {"/for": "parts"}|"bars": {"/for": "pieces"}|'
run "$report" --complete "$pages/results.jsonl"
all "--complete without --papers is refused" '[ $status -eq 2 ]' 'complains "without --papers"'

# Each experiment has something of ours, or says why not.
page=$pages/report.html
all "each figure and table of the papers has a place" '[ "$(grep -c "<h3>" "$page")" -eq "$(grep -c "\"where\":" $papers)" ]' \
  '[ "$(grep -c "<h3>.*Itoyori" "$page")" -eq 5 ]' '! grep -q "Not measured in this run" "$page"'
all "each says at which scale ours was taken, on what and when" '[ "$(grep -c "<em>Ours:</em> .*worker.*usable cores.*20[0-9][0-9]-" "$page")" -ge 16 ]'
curves=$(grep -o '{"title"\|"title":' $papers | wc -l)
all "each curve is drawn, with a line for each scheduler" '[ "$(grep -c "<svg " "$page")" -ge $((curves + 6)) ]' '[ "$curves" -ge 15 ]' \
  '! grep -q "not measured in this run</text>" "$page"' '[ "$(grep -c ">ours: child_rtc, steal_word</text>" "$page")" -ge 2 ]' \
  '! grep -qE "nan|inf\"|<script|(href|src)=" "$page"'
# A busy machine may run a small program without a single steal. That is a measurement.
sed 's/"stolen_per_created":[0-9][0-9.e+-]*/"stolen_per_created":0/' "$pages/results.jsonl" >"$folder/no_steals.jsonl"
run "$report" --complete --papers $papers --html "$folder/no_steals.html" "$folder/no_steals.jsonl" $traces
all "a curve of zeros is not called unmeasured" '[ $status -eq 0 ]' \
  '[ "$(grep -c "all are 0, which a logarithmic scale does not show</text>" "$folder/no_steals.html")" -eq 1 ]' \
  '! grep -q "not measured in this run</text>" "$folder/no_steals.html"'
all "table II has its eight columns for four schedulers" \
  '[ "$(grep -cE "^<tr class=\"ours\"><td>ours</td><td>(pfor|recpfor) .*(continuation|child)_[a-z]*, [a-z_]*</td>(<td class=\"n\">[0-9.]+(e[+-][0-9]+)?</td>){8}</tr>" "$page")" -ge 8 ]'
for sched in continuation_greedy continuation_stalling child_full child_rtc; do
  all "figure 7 has the joins of $sched" 'grep -q "<td>trace recpfor[a-z_-]*, 2 workers, shm, $sched, steal_word</td>" "$page"'
done
finish
