#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lane: beside, 2 s
# tobi-report --compare: verdicts on times made by hand, and on a tenth more of them; what cannot be compared
# is told; and a file or an option that is not what it should be is one sentence. The intervals were computed apart, by counting orders.
. "$(dirname "$0")/../harness.inc"
report=$BIN/tobi-report
old=$folder/old new=$folder/new

# times FILE OP FACTOR TIME...: appends a row of tobi-perf for each time.
times() {
  local file=$1 op=$2 factor=$3 t
  shift 3
  for t in "$@"; do
    awk -v t="$t" -v f="$factor" -v op="$op" 'BEGIN { printf "{\"op\":\"%s\",\"transport\":\"shm\",\"size\":8,\"raw\":false,\"pairs\":1,\"median_us\":%.6f,\"mean_us\":%.6f}\n", op, t * f, 2 * t * f }' >>"$file"
  done
}
first=(1.021 1.002 1.013 1.047 0.998 1.009 1.034 1.016)
other=(1.011 1.029 1.004 1.018 1.001 1.038 1.012 1.023)

both() {  # FACTOR [TIMES_A TIMES_B]: an operation whose second times are so much longer
  rm -f "$old" "$new"
  times "$old" get 1 ${2:-"${first[@]}"}
  times "$new" get "$1" ${3:-"${other[@]}"}
}
row() { says "^get shm, 8 bytes  *.*$1"; }
both 1
run "$report" --compare "$old" "$new"
all "a row compared with itself is the same" '[ $status -eq 0 ]' silent 'row "1.0020 *0.9656 *1.0311  same  *8, 8"'
both 1.1
run "$report" --compare "$old" "$new"
all "a tenth more is worse" '[ $status -eq 0 ]' silent 'row "1.1022 *1.0622 *1.1342  worse  *8, 8"'
run "$report" --compare "$old" "$new" --fail-above 5%
all "--fail-above 5%: status 1" '[ $status -eq 1 ]' silent 'row worse'
run "$report" --compare "$old" "$new" --fail-above 11%
all "--fail-above 11%: it is worse, and not too much" '[ $status -eq 0 ]' silent 'row "worse"'
run "$report" --compare "$new" "$old" --fail-above 5%
all "and the other way round it is better" '[ $status -eq 0 ]' silent 'row "0.9073 *0.8817 *0.9415  better"'
both 1.02
run "$report" --compare "$old" "$new"
all "a fiftieth is less than times are apart by themselves" '[ $status -eq 0 ]' silent 'row "1.0220 *0.9849 *1.0517  undecided"'
both 1.1 "1 1 1 1 1 1" "1 1 1 1 1 1"
run "$report" --compare "$old" "$new" --fail-above 5%
all "six repeats tell nothing, which --fail-above does not take for good" '[ $status -eq 1 ]' silent 'row "1.1000 *- *-  undecided  *6, 6"' 'says "With fewer than 7 repeats"'
both 1.1 "1 1 1 1 1 1 1" "1 1 1 1 1 1 1"
run "$report" --compare "$old" "$new"
all "seven do" '[ $status -eq 0 ]' silent 'row "1.1000 *1.1000 *1.1000  worse  *7, 7"'
both 1 "1 1 1 1 1 1 1 1" "1 1 1 1 1 1 1 900"
run "$report" --compare "$old" "$new"
all "one of eight that was disturbed: undecided, not worse" '[ $status -eq 0 ]' silent 'row "1.0000 *1.0000 *900.0000  undecided"'
both 1 "1 1 1 1 1 1 1 1 1 1 1 1" "1 1 1 1 1 1 1 1 1 1 1 900"
run "$report" --compare "$old" "$new"
all "one of twelve changes nothing" '[ $status -eq 0 ]' silent 'row "1.0000 *1.0000 *1.0000  same"'

# An operation by the window counts by its mean, in which its work is divided by all of its time.
rm -f "$old" "$new"
times "$old" bw-get 1 "${first[@]}"
times "$new" bw-get 1.1 "${other[@]}"
sed -i 's/"median_us":[0-9.]*/"median_us":1/' "$old" "$new"
run "$report" --compare "$old" "$new" --json
all "--json: a line per row; bandwidth goes by the mean" '[ $status -eq 0 ]' silent 'lines 1' 'says "^{\"kind\":\"compared\",\"row\":\"bw-get shm, 8 bytes\",\"repeats\":\[8,8\].*\"verdict\":\"worse\""'

# Rows that only one of the two has.
both 1
times "$old" put 1 "${first[@]}"
times "$new" chain 1 "${other[@]}"
run "$report" --compare "$old" "$new"
all "rows of one file alone are told" '[ $status -eq 0 ]' silent 'row same' 'says "^put shm, 8 bytes was not measured in .*/new$"' 'says "^chain shm, 8 bytes was not measured in .*/old$"'
run "$report" --compare "$old" "$new" --fail-above 5%
all "--fail-above: what cannot be compared has failed" '[ $status -eq 1 ]' silent 'row same'
both 1
echo '{"op":"put","transport":"verbs","size":8,"raw":false,"pairs":1,"median_us":null,"not_measured":"no device"}' | tee -a "$old" >>"$new"
run "$report" --compare "$old" "$new" --fail-above 5%
all "and what was measured in neither" '[ $status -eq 1 ]' silent 'says "^put verbs, 8 bytes was measured in neither$"'

# What tests/perf/page says of a line besides: another mask, provider or server is another row.
both 1
sed -i 's/^{/{"for":"masks","mask":"chain",/' "$new"
cat "$old" >>"$new"
run "$report" "$new"
all "operations under a mask are not those without" '[ $status -eq 0 ]' silent 'says "^get shm, 8 bytes; shm, without chain  *8 "' 'says "^get shm, 8 bytes  *8 "'
run "$report" --compare "$old" "$new"
all "nor are they compared with these" '[ $status -eq 0 ]' silent 'row same' 'says "^get shm, 8 bytes; shm, without chain was not measured in "'

# The library's own calls, and its quickest.
both 1
sed 's/"raw":false/"raw":true/; s/}$/,"best":true}/' "$old" | tee -a "$old" >>"$new"
run "$report" "$new"
all "the quickest calls are rows of their own" '[ $status -eq 0 ]' silent "says \"^get shm, 8 bytes, the library's quickest calls  *8 \"" 'says "^get shm, 8 bytes  *8 "'

# Where the two were made: what differs is told, and a file that does not say it is not asked.
both 1
origin() { printf '{"kind":"run","command":"tobi-perf get --json","date":"2026-01-0%s","host":"%s","cpu":"x","cores_usable":2,"settings":%s}\n' "$@"; }
origin 1 one '{"TOBI_WORKERS":"2"}' >>"$old"
run "$report" --compare "$old" "$new"
all "machines are compared where both files name theirs" '[ $status -eq 0 ]' silent 'row same' '! says differ'
origin 2 one '{"TOBI_WORKERS":"2"}' >>"$new"
run "$report" --compare "$old" "$new"
all "on one machine, under the same settings, nothing is said" '[ $status -eq 0 ]' silent 'row same' '! says differ'
origin 3 other '{}' >>"$new"
run "$report" --compare "$old" "$new"
all "what differs is told" '[ $status -eq 0 ]' silent 'row same' 'says "^The files differ in more than their times:$"' \
  'says "^  host: one in the first, one, other in the second$"' 'says "^  TOBI_WORKERS: 2 in the first, 2, not set in the second$"' '! says "cpu:"'
run "$report" --compare "$old" "$new" --json
all "--json: a line for each" '[ $status -eq 0 ]' silent 'lines 3' 'says "^{\"kind\":\"differs\",\"what\":\"host\",\"first\":\"one\",\"second\":\"one, other\"}$"'
run "$report" "$old"
all "the line is no row" '[ $status -eq 0 ]' silent 'says "^get shm, 8 bytes  *8 "' 'lines 2'

# Runs of tobi-bench: one setting apart is another row.
rm -f "$old" "$new"
for t in "${first[@]}"; do
  for workers in 1 2; do
    echo "{\"app\":\"fib\",\"params\":{\"n\":30},\"workers\":$workers,\"transport\":\"shm\",\"seconds\":$t}" >>"$old"
    awk -v t="$t" -v w=$workers 'BEGIN { printf "{\"app\":\"fib\",\"params\":{\"n\":30},\"workers\":%d,\"transport\":\"shm\",\"seconds\":%f}\n", w, t * (w == 2 ? 1.2 : 1) }' >>"$new"
  done
done
run "$report" --compare "$old" "$new" --fail-above 5%
all "runs of programs, each with its setting" '[ $status -eq 1 ]' silent 'says "^fib n 30; 1 worker, shm .* same  *8, 8"' 'says "^fib n 30; 2 workers, shm .* worse  *8, 8"'
run "$report" "$old"
all "repeats are one line" '[ $status -eq 0 ]' silent 'says "^fib n 30  *8 .* 1 worker, shm"'
both 1
run "$report" "$old"
all "and so are those of operations" '[ $status -eq 0 ]' silent 'says "^get shm, 8 bytes  *8  *1.013  *0.998  *1.047$"'

refused() {  # what, the sentence, arguments
  local what=$1 why=$2
  shift 2
  run "$report" "$@"
  all "$what" '[ $status -eq 2 ]' '[ ! -s "$out" ]' '[ "$(wc -l <"$err")" -eq 1 ]' 'complains "$why"'
}
refused "one file" "At least 2 required" --compare "$old"
refused "a third file" "--compare takes two files and no others" --compare "$old" "$new" --json "$old"
refused "a limit that is no percentage" "--fail-above 5 is not a percentage, such as 5%" --compare "$old" "$new" --fail-above 5
refused "a limit for nothing" "--fail-above means nothing without --compare" --fail-above 5% "$old"
refused "a file that is not there" "cannot be read" --compare "$old" "$folder/none"
echo '{"kind":"machine"}' >"$folder/machine"
refused "a file without times" "machine has no line of tobi-bench or tobi-perf" --compare "$old" "$folder/machine"
rm -f "$old"
for i in $(seq 13); do times "$old" get 1 "${first[@]}"; done
refused "too many repeats" "was measured more than 100 times; fewer will do" --compare "$old" "$new"
finish
