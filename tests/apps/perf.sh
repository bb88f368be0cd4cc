#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lane: sleeps, 55 s
# tobi-perf: every operation gives a table and lines for programs, and every mistake ends with one sentence. No time is
# asserted: how long things take is the machine's business.
. "$(dirname "$0")/../harness.inc"
perf=$BIN/tobi-perf
operations="get put amo-faa amo-cas put-notify chain rate bw steal barrier"
few="-n 400 -w 10"

# One line of --json: exactly these fields, in this order. $1 op, $2 size, $3 raw, $4 what a measured number looks like.
line() {
  local n=$4 rate=$4 why=null trips= maybe="\\(null\\|$4\\)" two="\\(null\\|\\[$4,$4\\]\\)"
  [ "$2" = null ] && rate=null
  [ "$4" = null ] && why='"[^"]*"'
  case $1 in steal.*) trips=",\"round_trips\":$n" ;; esac
  printf '^{"op":"%s","transport":"shm","size":%s,"raw":%s,"pairs":1,"iterations":[0-9]*,"samples":[0-9]*,"operations_per_sample":[0-9]*' "$1" "$2" "$3"
  printf ',"%s":%s' first_us "$maybe" min_us "$n" median_us "$n" median_within_us "$two" mean_us "$n" max_us "$n" deviation_us "$n" p99_us "$maybe" p999_us "$maybe" \
    clock_us "$maybe" bytes_per_second "$rate" operations_per_second "$n" peak_per_second "$n" cpu "$two" ratio "$maybe" ratio_within "$two" \
    rounds '[0-9]*' rounds_repeated '[0-9]*' rounds_disturbed '[0-9]*' disturbance '\(null\|"[^"]*"\)' not_measured "$why"
  printf '%s}$' "$trips"
}
number='[0-9][0-9.]*\(e[+-][0-9]*\)\{0,1\}'
has_line() { grep -q "$(line "$@" "$number")" "$out"; }
ops() { [ "$(grep -c '^{"op"' "$out")" -eq "$1" ]; }  # so many rows
count_lines() { grep -c -- "$1" "$out"; }
rows_of() {  # the op names of an operation's rows
  case $1 in
    put) echo put put-oneway ;;
    bw) echo bw-get bw-put ;;
    steal) echo steal.steal_word steal.the ;;
    *) echo "$1" ;;
  esac
}
size_of() {
  case $1 in
    steal | barrier) echo null ;;
    bw) echo 65536 ;;
    *) echo 8 ;;
  esac
}

has_not() { [ "$1" != put-notify ]; echo $?; }  # 1: shm does not do it
for op in $operations; do
  run TOBI_WORKERS=2 "$perf" "$op" $few
  all "$op: a table with a heading and its rows" '[ $status -eq $(has_not "$op") ]' silent 'says "^$op: "' \
    'says "^op .*transport .*size .*samples .*each .*min us .*median .*+-% .*mean .*max .*dev .*p99 .*p99.9 .*bandwidth .*rate .*cpu %"' \
    '( for r in $(rows_of $op); do says "^$r .*shm" || exit 1; done )'
  run TOBI_WORKERS=2 "$perf" "$op" $few --json
  if [ "$op" = put-notify ]; then
    all "$op: shm does not claim it, which is said in one line, and is not what was asked for" '[ $status -eq 1 ]' 'ops 1' '[ "$(wc -l < "$err")" -eq 1 ]' \
      'complains "does not claim put_notify"' 'grep -q "$(line put-notify 8 false null)" "$out"'
    continue
  fi
  all "$op: lines with exactly the documented fields" '[ $status -eq 0 ]' silent 'ops $(rows_of $op | wc -w)' \
    '( for r in $(rows_of $op); do has_line $r $(size_of $op) false || exit 1; done )'
done

run "$perf" get -s 8,4K,1M $few --raw --json
all "several sizes, each beside the raw loop" '[ $status -eq 0 ]' silent 'ops 6' \
  '( for s in 8 4096 1048576; do has_line get $s false && has_line get $s true || exit 1; done )'
run "$perf" put $few --raw=best --json
all "--raw=best: the transport, its calls, and the best ones" '[ $status -eq 0 ]' silent 'ops 6' \
  '[ "$(jq -r "select(.op) | [.op, .raw, .best] | map(tostring) | join(\" \")" "$out" | sort | uniq -c | tr -s " \n" ";")" = ";1;put;false;null;1;put;true;null;1;put;true;true;1;put-oneway;false;null;1;put-oneway;true;null;1;put-oneway;true;true;" ]'
run "$perf" put $few --raw=best --samples "$folder/three.csv"
all "as a table, with what each of the three was" '[ $status -eq 0 ]' '[ "$(count_lines "^put .* raw ")" -eq 1 ]' '[ "$(count_lines "^put .* best ")" -eq 1 ]' 'says "^# shm best: the same"' \
  '[ "$(cut -d, -f4 "$folder/three.csv" | sort -u | tr "\n" " ")" = "best false raw true " ]'
run "$perf" put $few --raw=same --json
all "--raw is --raw=same" '[ $status -eq 0 ]' 'ops 4'
run "$perf" put -n 7 -w 0 --json
all "seven operations are seven" '[ $status -eq 0 ]' '[ "$(grep -c "\"iterations\":7," "$out")" -eq 2 ]'
run "$perf" put -n 1 -w 0 --json
all "one operation is one" '[ $status -eq 0 ]' '[ "$(grep -c "\"iterations\":1," "$out")" -eq 2 ]'
for op in get put amo-faa amo-cas chain rate bw; do
  run "$perf" "$op" -n 40000 -w 10 --raw
  all "$op --raw: a ratio for each row, or none where the clock was a part of it" '[ $status -eq 0 ]' silent 'says "ratio tobi/raw$"' \
    '[ "$(grep -c "^$op.* raw .* \([0-9]*\.[0-9]*\( ([0-9.]* to [0-9.]*)\)\{0,1\}\|-\)$" "$out")" -eq "$(rows_of "$op" | wc -w)" ]'
done
run TOBI_TRANSPORT=shm "$perf" get $few --json
all "TOBI_TRANSPORT is the default" '[ $status -eq 0 ]' 'has_line get 8 false'
run TOBI_TRANSPORT=shm TOBI_HEAP_SIZE=64M "$perf" get $few --json
is_origin='.kind == "run" and (.command | endswith("tobi-perf get -n 400 -w 10 --json")) and (.date | test("^20[0-9-]*T[0-9:]*Z$")) and .settings.TOBI_HEAP_SIZE == "64M" and .settings.TOBI_TRANSPORT == "shm" and ([.version, .compiler, .host, .kernel, .cpu] | all(type == "string" and . != ""))'
all "the first line says where, when, how and by which command, and a note on which cores" '[ $status -eq 0 ]' silent \
  'head -n 1 "$out" | jq -e "$is_origin" >/dev/null' 'sed -n 2p "$out" | jq -e ".kind == \"note\" and (.text | test(\"^shm: rank 0 on .*cpu.*, rank 1 on \"))" >/dev/null'
run "$perf" get $few --transport self,shm
all "transports are rows of one table, also one that cannot be used here" '[ $status -eq 1 ]' silent \
  '[ "$(count_lines "^op ")" -eq 1 ]' 'says "^get  *self .*not measured: it cannot be used here: "' 'says "^get  *shm  *8 .* M  "'

for op in get put amo-faa amo-cas chain rate bw; do
  run "$perf" "$op" $few --responder-idle
  all "$op with a target that sleeps" '[ $status -eq $([ $op != put ]; echo $?) ]' silent 'says "The target sleeps; the transport claims"' \
    'says "^$(rows_of "$op" | cut -d " " -f 1)  *shm .*/s"'
done
run "$perf" put $few --responder-idle
all "a ping-pong needs a target that answers, and says so" 'says "^put-oneway .*not measured: the target of a ping-pong"'

# --- what is counted ---
number_of() { jq -e "select(.op) | $1" "$out" >/dev/null; }
run "$perf" get -n 1000 --transport shm --json
all "work over time is the mean's, and the peak is that of the shortest sample" '[ $status -eq 0 ]' \
  'number_of ".operations_per_second * .mean_us / 1e6 - 1 | fabs < 1e-9"' 'number_of ".peak_per_second * .min_us / 1e6 - 1 | fabs < 1e-9"' \
  'number_of ".iterations == .samples * .operations_per_sample"' 'number_of ".iterations <= 1000 and .iterations > 1000 - .samples"' \
  'number_of ".min_us <= .median_us and .median_us <= .max_us and .mean_us <= .max_us"'
all "percentiles are of single operations only" 'number_of ".operations_per_sample > 1 and .p99_us == null and .p999_us == null"'
run TOBI_NODES=2 TOBI_OFI_PROVIDER='tcp;ofi_rxm' "$perf" get -n 2000 --transport ofi --json
all "and where ten samples lie beyond them" '[ $status -eq 0 ]' 'number_of ".operations_per_sample > 1 or (.p99_us >= .median_us and .p999_us == null)"'
run "$perf" get -n 8 -w 1 --transport shm --raw --json
# Whether it is, in a sample of few operations, depends on how long these took.
clock_is_a_part='map(select(.op)) | (any(.[]; .clock_us >= 0.05 * .median_us * .operations_per_sample)) == (last.ratio == null)'
all "no ratio where reading the clock is a part of it" '[ $status -eq 0 ]' 'jq -se "$clock_is_a_part and last.raw and last.clock_us > 0" "$out" >/dev/null'

# --- sizes, windows, cores, samples ---
run "$perf" get -s 8:64,1K:16K:x4,100:300:+100 -n 20 --json
all "ranges of sizes" '[ $status -eq 0 ]' '[ "$(jq -r "select(.op) | .size" "$out" | tr "\n" " ")" = "8 16 32 64 1024 4096 16384 100 200 300 " ]'
run "$perf" rate -n 700 --window 1,7,64 --json
all "windows of rate" '[ $status -eq 0 ]' '[ "$(jq -r "select(.op) | .operations_per_sample, .iterations" "$out" | tr "\n" " ")" = "1 700 7 700 64 640 " ]'
run "$perf" bw -n 64 --window 4 --bidirectional --raw
all "of bw, both ways and raw" '[ $status -eq 0 ]' '[ "$(grep -c "^bw-[gp][eu]t-both .* 16  *4 " "$out")" -eq 4 ]'
cpus=$(taskset -pc $$ | sed 's/.*: //' | tr ',-' '\n\n' | tail -n 1)
run "$perf" get -n 20 --cpus "$cpus"
all "one core for both, if it must be" '[ $status -eq 0 ]' '[ "$(grep -o "cpu $cpus\b" "$out" | wc -l)" -eq 2 ]'
run "$perf" get -n 20 --cpus 4095
all "a core that there is not" '[ $status -ne 0 ]' 'complains "^tobi.*--cpus: "'
run "$perf" put -n 300 --histogram --samples "$folder/samples.csv" --json
all "each sample is a line, and part of a histogram" '[ $status -eq 0 ]' 'grep -q "^op,transport,bytes,raw,each,round,ns$" "$folder/samples.csv"' \
  '[ "$(jq -s "map(.samples // 0) | add" "$out")" -eq "$(tail -n +2 "$folder/samples.csv" | grep -c "^put\(-oneway\)\{0,1\},shm,8,false,[0-9]*,[0-9]*,[0-9.]*$")" ]' \
  '[ "$(jq -r "select(.kind == \"note\") | .text" "$out" | grep " us .*%.*#$" | awk "{ n += \$5 } END { print n }")" -eq "$(jq -s "map(.samples // 0) | add" "$out")" ]'

# --- how sure a row is ---
run "$perf" put -D 0.3 --transport shm --raw --json
# A round has a tenth of the operations, so the median of all is not that of the rounds' medians.
within='.median_within_us as [$low, $high] | .rounds == 12 and $low <= $high and $low >= .min_us and $high <= .max_us'
all "an interval of each median, and of each ratio" '[ $status -eq 0 ]' 'jq -se "map(select(.op) | $within) | all" "$out" >/dev/null' \
  'jq -se "map(select(.ratio)) | all(.[]; .ratio_within[0] <= .ratio_within[1])" "$out" >/dev/null'
run "$perf" get -n 5 --transport shm --json
all "none of five operations" '[ $status -eq 0 ]' 'number_of ".median_within_us == null and .ratio_within == null"'
# Whoever has only a part of a core has it taken away.
TOBI_TRANSPORT=shm "$perf" get -D 2 --json > "$folder/other" &
run TOBI_TRANSPORT=shm "$perf" get -D 2 --json
wait $!
seen='.rounds_repeated > 0 and (.rounds_disturbed == 0 or .disturbance != null)'
# A kernel need not count that.
[ -r /proc/thread-self/schedstat ] || seen=.op
all "two that measure on the same cores both say so" '[ $status -eq 0 ]' 'number_of "$seen"' 'jq -e "select(.op) | $seen" "$folder/other" >/dev/null'
TOBI_TRANSPORT=shm "$perf" get -D 3 --json > "$folder/stopped" &
measuring=$!
until grep -q '"note"' "$folder/stopped" || ! kill -0 $measuring; do sleep 0.05; done  # now it measures
initiator=$(ps -o pid= --ppid $measuring | tr -d ' ')
# Some of these are while it plans, or between rounds.
for _ in 1 2 3 4 5; do
  kill -STOP "$initiator"
  sleep 0.2
  kill -CONT "$initiator"
  sleep 0.15
done
wait $measuring
seen='.rounds_repeated > 0'
all "a stop is seen, and that round is measured again" 'jq -e "select(.op) | $seen" "$folder/stopped" >/dev/null'

# --- both ways, several pairs ---
for op in bw rate; do
  run "$perf" $op -n 4096 --bidirectional --json
  all "$op --bidirectional: what both do, over time" '[ $status -eq 0 ]' silent 'ops $(rows_of $op | wc -w)' \
    '[ "$(jq -r .op "$out" | grep -c -- "-both$")" -eq $(rows_of $op | wc -w) ]' 'number_of ".operations_per_second > 1e6 / .mean_us and .peak_per_second == null"'
  run "$perf" $op -n 4096 --bidirectional --raw
  all "$op --bidirectional --raw: the library's own calls too" '[ $status -eq 0 ]' '[ "$(grep -c "^$op.*-both .* raw .* \([0-9]*\.[0-9]*\( ([0-9.]* to [0-9.]*)\)\{0,1\}\|-\)$" "$out")" -eq "$(rows_of "$op" | wc -w)" ]'
done
run "$perf" bw -n 2048 --bidirectional --transport ofi --json
all "bw --bidirectional over a fabric that moves when it is polled" '[ $status -eq 0 ]' silent 'ops 2'
for t in shm ofi; do
  run "$perf" get -n 2000 --pairs 3 --transport $t --json
  all "three pairs over $t: a row, of all" '[ $status -eq 0 ]' silent 'ops 1' 'number_of ".pairs == 3 and .operations_per_second > 1e6 / .mean_us and .samples >= 12"'
done
run "$perf" put-notify -n 10 --pairs 2
all "what two pairs cannot do is said once" '[ $status -eq 1 ]' '[ "$(grep -c "not measured" "$out")" -eq 1 ]'

# --- the plot ---
run "$perf" put -s 1,64,4K,1M $few --raw --plot "$folder/plot.svg"
all "--plot writes an SVG with a line and a name for each" '[ $status -eq 0 ]' silent '[ "$(grep -c "<polyline" "$folder/plot.svg")" -eq 4 ]' \
  '( for n in "shm put" "shm put raw" "shm put-oneway" "shm put-oneway raw" bytes "median latency in microseconds"; do grep -q ">$n</text>" "$folder/plot.svg" || exit 1; done )' \
  '! grep -q "href\|url(\|@import\|nan\|inf" "$folder/plot.svg"'
run "$perf" put-notify $few --plot "$folder/empty.svg"
all "a plot of nothing says so" '[ $status -eq 1 ]' 'grep -q "nothing was measured" "$folder/empty.svg"'
run "$perf" get -s 8 $few --plot "$folder/point.svg"
all "a plot of one size has one point, and one beside its name" '[ $status -eq 0 ]' '[ "$(grep -c "<circle" "$folder/point.svg")" -eq 2 ]' '! grep -q "nan\|inf" "$folder/point.svg"'
parser=
if command -v xmllint > /dev/null; then
  parser="xmllint --noout"
elif command -v python3 > /dev/null; then
  parser="python3 -c 'import sys, xml.dom.minidom; [xml.dom.minidom.parse(f) for f in sys.argv[1:]]'"
fi
if [ -n "$parser" ]; then
  all "the plots are well-formed XML" 'eval "$parser" "$folder/plot.svg" "$folder/empty.svg" "$folder/point.svg"'
else
  skip "the plots are well-formed XML: neither xmllint nor python3 is here"
fi

# --- mistakes ---
refuses() {  # words of the sentence, arguments
  words=$1
  shift
  run "$perf" "$@"
  all "refused: $*" '[ $status -eq 2 ]' 'lines 0' '[ "$(wc -l < "$err")" -eq 1 ]' 'complains "$words"'
}
refuses "name an operation"
refuses "fly is not one of" fly
refuses "64:8 is not a range" get -s 64:8
refuses "8:64:x1 is not a range" get -s 8:64:x1
refuses "8:64:y2 is not a range" get -s 8:64:y2
refuses "1:1G:+1 is not a range" get -s 1:1G:+1
refuses "window means nothing for get" get --window 4
refuses "0 is not a number from 1" rate --window 0
refuses "4x is not a number" rate --window 4x
refuses "x is not a number from 0" get --cpus x
refuses "samples means nothing for steal" steal --samples x
refuses "histogram means nothing for barrier" barrier --histogram
refuses "each pair has its own" get --pairs 2 --histogram
refuses "cannot be written" get --samples /nowhere/x
refuses "extra" get extra
for s in 0 -1 8x 2G '' 8,,9 , ; do refuses "--size" get --size "$s"; done
for op in amo-faa amo-cas rate steal barrier; do refuses "--size means nothing for $op" $op --size 8; done
for n in 0 -1 x 99999999999999999999 ''; do refuses "--iters" get -n "$n"; done
for n in -1 x; do refuses "--warmup" get -w $n; done
for t in pigeon shm,pigeon PIGEON; do refuses "is not one of" get --transport $t; done
refuses "twice" get --transport shm,shm
refuses "empty" get --transport shm,
refuses "--workers means something for barrier only" get --workers 2
refuses "--workers: " barrier --workers 0
for op in steal barrier; do
  for o in --raw --responder-idle "--plot $folder/x.svg"; do refuses "means nothing for $op" $op $o; done
done
for op in get put steal; do refuses "--bidirectional means nothing for $op" $op --bidirectional; done
refuses "contradict" bw --bidirectional --responder-idle
refuses "raw: better is not same or best" get --raw=better
refuses "contradict" get --pairs 2 --raw
refuses "not for mpi" get --pairs 2 --transport mpi
refuses "--pairs means nothing for steal" steal --pairs 2
refuses "--pairs" get --pairs 0
refuses "cannot be written" get --plot /nowhere/x.svg
refuses "takes one value" get --size 8 --size 9
run TOBI_TRANSPORT=pigeon "$perf" get
all "refused: TOBI_TRANSPORT=pigeon" '[ $status -eq 2 ]' '[ "$(wc -l < "$err")" -eq 1 ]' 'complains "pigeon is not one of"'
finish
