#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tobi-bench lb-synthetic: both balancers on virtual cores. What does not depend on the machine is compared: the balance, and what is
# done one after the other, in steps and messages. Times are there, and are not asserted.
. "$(dirname "$0")/../harness.inc"
number='[0-9][0-9.e+-]*'
# of LINE FIELD: the number in it
of() { grep -o "\"$2\":[0-9.e+-]*" <<<"$1" | cut -d : -f 2; }
less() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a < b) }'; }

run "$bench" lb-synthetic --tasks-per-core 10 --cores 16,2400,38400 --n 4,16 --m 4 --repeat 1 --json
all "both balancers, of each distribution a line" '[ $status -eq 0 ]' silent 'lines 12' \
  'says "^{\"app\":\"lb-synthetic\",\"params\":{\"balancer\":\"central\",\"cores\":16,\"n\":4,\"m\":4,\"tasks\":160},"' \
  'says "\"balancer\":\"hierarchical\",\"cores\":38400,\"n\":16,\"m\":4,\"tasks\":384000},"' \
  '[ "$(grep -c "\"seconds\":$number,\"compute_s\":$number,\"steps\":$number,\"messages_in_a_row\":$number," "$out")" -eq 12 ]'
cp "$out" "$folder/lines"
for cores in 16 2400 38400; do
  for n in 4 16; do
    central=$(grep "\"central\",\"cores\":$cores,\"n\":$n," "$folder/lines")
    tree=$(grep "\"hierarchical\",\"cores\":$cores,\"n\":$n," "$folder/lines")
    all "$cores cores, n $n: the hierarchical balance is within 1.15 of the centralised one, and better than before" \
      'less "$(of "$tree" imbalance_after)" "$(awk -v x="$(of "$central" imbalance_after)" "BEGIN { print 1.15 * x }")"' \
      'less "$(of "$tree" imbalance_after)" "$(of "$tree" imbalance_before)"' \
      '[ "$(of "$tree" imbalance_before)" = "$(of "$central" imbalance_before)" ]'
  done
done
small=$(grep '"hierarchical","cores":2400,"n":4,' "$folder/lines")
large=$(grep '"hierarchical","cores":38400,"n":4,' "$folder/lines")
all "sixteen times the cores cost the hierarchical balancer less than twice the steps and messages in a row" \
  'less "$(of "$large" steps)" $((2 * $(of "$small" steps)))' 'less "$(of "$large" messages_in_a_row)" $((2 * $(of "$small" messages_in_a_row)))'
small=$(grep '"central","cores":2400,"n":4,' "$folder/lines")
large=$(grep '"central","cores":38400,"n":4,' "$folder/lines")
all "and the centralised one more than ten times" \
  'less $((10 * $(of "$small" steps))) "$(of "$large" steps)"' 'less $((10 * $(of "$small" messages_in_a_row))) "$(of "$large" messages_in_a_row)"'

# The same seed gives the same balance.
run "$bench" lb-synthetic --cores 100 --tasks 5000 --seed 5 --repeat 1 --json
first=$(sed 's/"seconds":[^,]*,"compute_s":[^,]*,//' "$out")
run "$bench" lb-synthetic --cores 100 --tasks 5000 --seed 5 --repeat 3 --json
all "a seed replays" '[ $status -eq 0 ]' '[ "$first" = "$(sed "s/\"seconds\":[^,]*,\"compute_s\":[^,]*,//" "$out")" ]'
run "$bench" lb-synthetic --cores 100 --tasks 5000 --seed 6 --repeat 1 --json
all "another seed is another distribution" '[ $status -eq 0 ]' '[ "$first" != "$(sed "s/\"seconds\":[^,]*,\"compute_s\":[^,]*,//" "$out")" ]'

run "$bench" lb-synthetic --cores 2,3 --n 1 --m 1 --tasks 100 --balancer hierarchical --branching 2 --repeat 1
all "for people, one balancer alone" '[ $status -eq 0 ]' silent 'lines 4' 'says "^ *3 *1 *1 *33.3 *hierarchical "' '! says central'
for how in "--cores 1 --tasks 2000" "--cores 20 --tasks 0" "--cores 1000 --tasks 3" "--cores 7 --n 100 --m 100 --tasks 2000" \
  "--cores 20 --spread 0 --bins 1 --c 1 --d 1" "--spread 3 --cores 64 --bins 256 --c 2 --d 3"; do
  # shellcheck disable=SC2086 # words
  run "$bench" lb-synthetic $how --repeat 1 --json
  all "no task is lost: $how" '[ $status -eq 0 ]' silent 'lines 2' '! says "nan\|inf"'
done
for bad in "--cores 0" "--cores x" "--n 0" "--m 0" "--branching 1" "--c 0.9" "--d nan" "--bins 12" "--balancer best" "--spread -1" "--gbytes 0" "--task-bytes 0" "--tasks 5 --tasks-per-core 5" "--repeat 0"; do
  # shellcheck disable=SC2086 # words
  run "$bench" lb-synthetic $bad
  all "refused with one sentence: $bad" '[ $status -eq 2 ]' '[ ! -s "$out" ]' '[ "$(wc -l <"$err")" -eq 1 ]' 'complains "tobi-bench: --"'
done

run "$BIN/tobi-report" "$folder/lines" --json
all "tobi-report reads the lines" '[ $status -eq 0 ]' silent 'lines 12'
finish
