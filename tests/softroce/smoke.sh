#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lane: computes, 21 s
# The verbs transport on a device that a kernel drives, in short: the guest boots, two ranks on two devices keep the contract, a
# program's result is right, messages cross the cable, and a worker that is killed ends the job. verbs.sh and faults.sh have the
# rest.
. "${BASH_SOURCE%/*}/inside.inc"
[ "${1:-}" = --inside ] || run_in_guest
export TOBI_TRANSPORT=verbs
packets() { cat /sys/class/net/veth0/statistics/tx_packets; }

conforms() { run "$BIN/tobi-conform" verbs --ranks 2 $shortly; }
conforms
# It was seen to stand still once, in an emulation that shared its cores with another check and busy loops; why is not known. As with
# every limit for hangs: once more.
if grep -q 'has not ended after' $log; then
  echo "# the device stood still; once more" | relay
  conforms
fi
sed -n "s/^pass /ok - verbs: /p; s/^fail /not ok - verbs: /p; s/^skip /skip - verbs: /p" $log | relay
rule "verbs: tobi-conform ends well" [ $status -eq 0 ]

run "$BIN/tobi-bench" fib --n 24 --workers 2 --verify
rule "verbs: fib without shared memory" says ' yes$'
# Whether a short program's second worker steals something is chance; a thousand READs are not.
before=$(packets)
rule "verbs: a thousand READs" run "$BIN/tobi-perf" get --size 8 -n 1000 --transport verbs
rule "verbs: they cross the cable" [ $(($(packets) - before)) -ge 1000 ]
TOBI_NODES=2 TOBI_BLOCK_SIZE=4K TOBI_CACHE_SIZE=1M run "$BIN/tobi-bench" cilksort --n 20000 --cutoff 2000 --workers 2 --verify
rule "verbs: cilksort on global memory" says ' yes$'

# Never through by itself; killed when its workers are at work.
"$BIN/tobi-bench" uts -t 1 -a 3 -d 6 -b 4 -r 19 --repeat 100000 --workers 2 >$log 2>&1 &
first=$!
rule "verbs: the job has begun" until_true 'says "^ +[0-9]+ "'
kill -KILL "$(awk '{ print $1 }' "/proc/$first/task/$first/children")"
wait $first
rule "verbs: a killed worker ends the job" [ $? -ne 0 ]
rule "verbs: and is named, once" [ "$(grep -cE 'rank [0-9]* .*was killed by signal 9' $log)" = 1 ]
finish
