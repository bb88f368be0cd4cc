#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lane: sleeps, 40 s
# tobi-perf all: the cost sheet of each transport, as text, as lines for programs and as a page. No time is asserted. In a soak
# alone: it measures for long, and its arithmetic is the unit tests' (perf_meaning_test, perf_open_loop_test).
. "$(dirname "$0")/fabrics.inc"
perf=$BIN/tobi-perf
if ! in_soak; then skip "the cost sheet is measured in a soak alone"; finish; fi
few="-n 48 -w 5 --size 8,4K,64K"
fewer="-n 12 -w 1 --size 8,4K --window 1,4"  # where each operation needs both processes, which may share their cores with others
ours="get get-fresh put put-oneway put-notify amo-faa amo-cas chain wake rate bw-get bw-put get@10% get@50% get@90% amo-faa-incast rate-incast bw-get-all bw-put-all get-idle put-idle amo-faa-idle create register_memory connect attach register"
meanings="grain block half_bandwidth outstanding fresh get_idle put_idle amo-faa_idle wake load contention"

is_json() { jq -e . "$out" >/dev/null; }
has_rows() { local op; for op in "$@"; do jq -se "any(.[]; .op == \"$op\")" "$out" >/dev/null || { echo "# no row of $op"; return 1; }; done; }
# Either a number, of which each is what it should be, or a reason.
plausible='map(select(.op)) | length > 20 and all(.[]; if .median_us then .min_us <= .median_us and .median_us <= .max_us and .min_us >= 0 else (.not_measured | type == "string" and . != "") end)'
means='map(select(.kind == "meaning"))'
sound="$means | all(.[]; (.text | type == \"string\") and (if .within then .within[0] <= .within[1] else true end) and (.known or .value == null) and ((.text | startswith(\"Undetermined: \")) == (.known | not)))"
sheet_is_right() {  # the status, and what the transport does not do
  [ "$(jq -rs "$means | map(.name) | join(\" \")" "$out")" = "$meanings" ] && jq -se "$plausible" "$out" >/dev/null && jq -se "$sound" "$out" >/dev/null
}
# Several ranks need several cores.
not_measured() { jq -rs 'map(select(.op and .median_us == null and .ranks == null) | .op) | join(" ")' "$out"; }

run "$perf" all $few --transport shm --json --html "$folder/sheet.html"
all "shm: rows of all, and what they mean" '[ $status -eq 1 ]' is_json 'has_rows $ours steal.steal_word steal.the "steal.the: lock"' sheet_is_right \
  'head -n 1 "$out" | jq -e ".kind == \"run\"" >/dev/null'
all "shm: notices are all that it lacks, which is said" '[ "$(not_measured)" = put-notify ]' '[ "$(grep -vc "processes need" "$err")" -eq 1 ]' 'complains "does not claim put_notify"'
all "shm: several ranks are measured where there are cores for them, and only there" \
  'jq -se "map(select(.ranks)) | length >= 4 and all(.[]; (.median_us != null) == ((.ranks + (if .op | endswith(\"-incast\") then 1 else 0 end)) <= $(nproc)))" "$out" >/dev/null'
all "shm: it needs no target that polls" 'jq -se "$means | map(select(.name | endswith(\"_idle\"))) | all(.[]; .known and .value > 0)" "$out" >/dev/null'
all "the grain is ten times the steal" \
  'jq -se "(map(select(.op == \"steal.steal_word\"))[0].median_us * 10000) as \$ten | (map(select(.name == \"grain\"))[0].value / \$ten - 1 | fabs) < 1e-9" "$out" >/dev/null'
page=$folder/sheet.html
all "the page has the sections, what they mean and where it was measured" \
  '( for t in Set-up Operations "Idle target" "Blocking wake-up" Sizes Bandwidth "Rate by window" "Under load" "Several ranks" Steal "What it means"; do grep -q "<h3>$t</h3>" "$page" || exit 1; done )' \
  'grep -q "<h1>Tobiuo: cost sheet</h1>" "$page"' 'grep -q "<td>kernel</td>" "$page"' '[ "$(grep -c "<svg" "$page")" -eq 2 ]' '[ "$(grep -c "^<li>" "$page")" -eq $(echo $meanings | wc -w) ]' \
  '! grep -q "href\|url(\|@import\|nan\|inf " "$page"'
if command -v python3 >/dev/null; then
  all "the page's elements are closed" 'python3 - "$page" <<"END"
import sys, html.parser
class closed(html.parser.HTMLParser):
    def __init__(self): super().__init__(); self.open = []
    def handle_starttag(self, tag, attributes): self.open += [] if tag == "meta" else [tag]
    def handle_endtag(self, tag): assert self.open.pop() == tag, tag
p = closed(); p.feed(open(sys.argv[1]).read()); assert p.open == []
END'
fi

run "$perf" all $few --transport shm,self
all "as text, of two transports, one of which cannot be used" '[ $status -eq 1 ]' silent '[ "$(grep -c "^The costs of " "$out")" -eq 2 ]' 'says "^The costs of self$"' 'says "it cannot be used here: "' \
  '[ "$(grep -c "^What it means$" "$out")" -eq 1 ]' 'says "^  get 4K  *.* [kMG]B/s"' 'says "^  put-notify 8  *not measured: "' 'says "^  A task that is stolen should compute for 10 times a steal, "' '[ "$(awk "length > 160" "$out" | grep -vc "disturbed\|^#")" -eq 0 ]'
run "$perf" all $fewer --transport sim --json
all "sim: a sheet, too" '[ $status -eq 1 ]' is_json 'has_rows $ours' sheet_is_right '[ "$(not_measured)" = wake ]'
if [ "$ofi_works" = yes ]; then
  run TOBI_NODES=2 TOBI_OFI_PROVIDER='tcp;ofi_rxm' "$perf" all $fewer --transport ofi --json
  all "ofi: a sheet; operations on an idle target end one way or the other, and those behind them are measured" '[ $status -eq 1 ]' is_json 'has_rows $ours' sheet_is_right \
    'jq -se "$means | map(select(.name | endswith(\"_idle\"))) | all(.[]; .known)" "$out" >/dev/null'
  run TOBI_NODES=2 TOBI_OFI_PROVIDER='tcp;ofi_rxm' "$perf" wake -n 12 -w 1 --transport ofi --json
  all "ofi: a wake-up at the descriptor" '[ $status -eq 0 ]' 'has_rows wake'
else
  skip "ofi: there is no libfabric"
fi
run "$perf" wake -n 50 --raw
all "a wake-up has no raw loop" '[ $status -eq 1 ]' 'says "^wake .* raw .*there is no raw loop for it"'

# --- under a given load ---
loads='map(select(.op)) | map(.op) == ["get@10%", "get@90%", "get@5k"] and all(.[]; .scheduled_per_second > 0 and .operations_per_sample == 1 and .samples == 600 and .operations_per_second > 0)'
for t in shm sim; do
  run "$perf" get --load 10%,90%,5k -n 600 --transport $t --json
  all "$t: operations that are due at a rate" '[ $status -eq 0 ]' 'jq -se "$loads and (map(select(.op))[2].scheduled_per_second - 5000 | fabs) < 1e-6" "$out" >/dev/null'     'jq -se "map(select(.op)) | (.[1].scheduled_per_second / .[0].scheduled_per_second - 9 | fabs) < 1e-6" "$out" >/dev/null' 'grep -q "all due at once: .* are the most" "$out"'
done
run "$perf" amo-faa --load 1000M -n 5000 --transport sim
all "a schedule that cannot be kept is told" '[ $status -eq 0 ]' 'says "^# amo-faa@1000M fell behind its schedule: .* of 1.00 G/s"'
run "$perf" put -s 8,64 --load 50% -n 120 --responder-idle
all "of several sizes, with an idle target" '[ $status -eq 0 ]' '[ "$(grep -c "^put@50%" "$out")" -eq 2 ]'

# --- several ranks ---
for t in shm sim; do
  for o in "amo-faa --incast 2" "rate --incast 3" "put --all-to-all 2" "get --all-to-all 3" "bw -s 4K --all-to-all 3"; do
    run "$perf" $o -n 256 -w 4 --transport $t --json
    all "$t: $o" '[ $status -eq 0 ]' silent 'jq -se "map(select(.op)) | length >= 1 and all(.[]; .ranks == ${o##* } and .operations_per_second >= 1e6 / .mean_us and .peak_per_second == null)" "$out" >/dev/null'
  done
done
run "$perf" rate --incast 2 -n 256
all "who takes part is said" '[ $status -eq 0 ]' 'says "^2 ranks at once, all but rank 1, each with the memory of rank 1"' 'says "^# shm: rank 0 .*, rank 1 .*, rank 2 "'
if [ "$ofi_works" = yes ]; then
  run TOBI_NODES=2 TOBI_OFI_PROVIDER='tcp;ofi_rxm' "$perf" get --all-to-all 3 -n 12 -w 1 --transport ofi --json
  all "ofi: those that have stopped serve the others until all have" '[ $status -eq 0 ]' silent 'jq -se "map(select(.op)) | map(.op) == [\"get-all\"]" "$out" >/dev/null'
  run TOBI_NODES=2 TOBI_OFI_PROVIDER='tcp;ofi_rxm' "$perf" put --incast 2 -n 12 -w 1 --transport ofi --json
  all "ofi: an incast between nodes" '[ $status -eq 0 ]' silent 'jq -se "map(select(.op)) | map(.op) == [\"put-incast\"]" "$out" >/dev/null'
fi

refuses() {  # words of the sentence, arguments
  words=$1
  shift
  run "$perf" "$@"
  all "refused: $*" '[ $status -eq 2 ]' 'lines 0' '[ "$(wc -l < "$err")" -eq 1 ]' 'complains "$words"'
}
for o in --raw --bidirectional --responder-idle --histogram "--samples x" "--plot x" "--pairs 2" "--workers 2"; do refuses "means nothing for all" all $o; done
refuses "html means nothing for get" get --html x
refuses "load means nothing for bw" bw --load 50%
refuses "load means nothing for all" all --load 50%
refuses "contradict" get --load 50% --raw
refuses "contradict" get --load 50% --pairs 2
for l in 0 0% x -1 50%% ''; do refuses "load" get --load "$l"; done
for o in "--raw" "--pairs 2" "--responder-idle" "--load 5k"; do refuses "contradict" get --incast 2 $o; done
refuses "contradict" bw --all-to-all 2 --bidirectional
refuses "incast means nothing for put-notify" put-notify --incast 2
refuses "all-to-all means nothing for chain" chain --all-to-all 2
refuses "means nothing for all" all --incast 2
refuses "--incast" get --incast 1
refuses "--all-to-all" get --all-to-all 1
refuses "excludes" get --incast 2 --all-to-all 2
refuses "cannot be written" all --html /nowhere/x
finish
