#!/usr/bin/env bash
# The verbs transport between two devices on one cable: the whole of the contract, programs with known answers, and what
# tobi-perf prints. Then libfabric's verbs provider over the same cable.
. "${BASH_SOURCE%/*}/inside.inc"
[ "${1:-}" = --inside ] || run_in_guest 560
begin=$SECONDS

packets() { cat /sys/class/net/veth0/statistics/tx_packets; }
conforms() {  # NAME TRANSPORT [OPTIONS...]
  local status=0
  timeout 200 "$BIN/tobi-conform" "${@:2}" >$log 2>&1 || status=$?
  sed -n "s/^pass /ok - $1: /p; s/^fail /not ok - $1: /p; s/^skip /skip - $1: /p" $log
  rule "$1: tobi-conform passes" [ $status -eq 0 ]
}
verified() { run "$BIN/tobi-bench" "$@" --verify && says ' yes$'; }

export TOBI_TRANSPORT=verbs
conforms verbs verbs
for TOBI_DEQUE in steal_word the; do
  export TOBI_DEQUE
  before=$(packets)
  for i in 1 2 3 4 5; do
    TOBI_NODES=2 rule "verbs, $TOBI_DEQUE: UTS T1, 4 workers on 2 nodes, run $i" verified uts --tree T1 --workers 4
    [ "$TOBI_DEQUE" = steal_word ] || break
  done
  rule "verbs, $TOBI_DEQUE: its messages cross the cable" [ $(($(packets) - before)) -ge 200 ]
  for program in "fib --n 27" "btc" "nqueens --n 10"; do
    # shellcheck disable=SC2086 # words
    TOBI_NODES=2 rule "verbs, $TOBI_DEQUE: $program" verified $program --workers 4
  done
  rule "verbs, $TOBI_DEQUE: without shared memory" verified uts --tree T1 --workers 4
done
unset TOBI_DEQUE
TOBI_VERBS_CONNECTIONS=1 rule "verbs: one connection a worker, 4 workers" verified uts --tree T1 --workers 4
TOBI_VERBS_CONNECTIONS=1 rule "verbs: one connection a worker, fib" verified fib --n 27 --workers 4
says 'rank' && rule "verbs: one connection a worker, without a warning" false
TOBI_WRAP=fault TOBI_FAULT=again=1000 rule "verbs: a thousand posts answered again" verified uts --tree T1 --workers 4
export TOBI_NODES=2 TOBI_BLOCK_SIZE=4K TOBI_CACHE_SIZE=1M
for TOBI_CACHE_POLICY in none write_through write_back write_back_lazy; do
  export TOBI_CACHE_POLICY
  rule "verbs: cilksort on global memory, $TOBI_CACHE_POLICY" verified cilksort --n 20000 --cutoff 2000 --workers 2
  case $TOBI_CACHE_POLICY in write_through | write_back) continue ;; esac
  for program in "uts-mem -t 1 -a 3 -d 4 -b 4 -r 19" "gups --n 4K" "stream --n 8K" "histogram --scale 9" "pagerank --scale 8 --iterations 2"; do
    # shellcheck disable=SC2086 # words
    rule "verbs: ${program%% *} on global memory, $TOBI_CACHE_POLICY" verified $program --workers 2
  done
done
unset TOBI_CACHE_POLICY
unset TOBI_NODES TOBI_BLOCK_SIZE TOBI_CACHE_SIZE
leaf() { run "$BIN/../tests/long_leaf_job_test" --gtest_also_run_disabled_tests --gtest_filter='*OverVerbs' && says 'PASSED.* 1 test'; }
rule "verbs: a leaf that never polls stops no thief" leaf

row() { run "$BIN/tobi-perf" "$@" && [ "$(grep -c '"median' $log)" -ge "$rows" ]; }
rows=2
for operation in "get --size 8" amo-faa "bw --size 64K -w 2"; do
  # shellcheck disable=SC2086 # words
  rule "tobi-perf ${operation%% *} over verbs beside libibverbs' own calls" row $operation --raw --json -n 100 --transport verbs
done
rows=2  # one a deque
rule "tobi-perf steal over verbs" row steal --json -n 100 --transport verbs

export TOBI_TRANSPORT=ofi TOBI_OFI_PROVIDER='verbs;ofi_rxm' TOBI_OFI_DOMAIN=rxe0,rxe1
conforms 'verbs;ofi_rxm' ofi --ranks 2  # one a device; four take four times as long
TOBI_NODES=2 rule 'verbs;ofi_rxm: UTS T1, 4 workers on 2 nodes' verified uts --tree T1 --workers 4
before=$(packets)
rule 'verbs;ofi_rxm: a thousand READs' run "$BIN/tobi-perf" get --size 8 -n 1000 --transport ofi
rule 'verbs;ofi_rxm: its READs cross the cable' [ $(($(packets) - before)) -ge 1000 ]
echo "# $((SECONDS - begin)) s inside"
exit $failed
