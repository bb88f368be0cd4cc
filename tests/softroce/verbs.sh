#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# soak: minutes of emulation; softroce/smoke.sh has some of it
# The verbs transport between two devices on one cable: the whole of the contract, programs with known answers, and what
# tobi-perf prints. Then libfabric's verbs provider over the same cable. RUNS (1) says how often the tree is counted: one of a
# million nodes, whose number the machine outside finds in a moment, and a smaller one where nothing else is to be seen. In a soak
# both are T1, four times as large. In a soak: every program with both deques, every
# measurement, the contract among four and not two, and over libfabric too.
. "${BASH_SOURCE%/*}/inside.inc"
if [ "${1:-}" != --inside ]; then
  export TREE="uts -t 1 -a 3 -d 9 -b 4 -r 19" SMALL="uts -t 1 -a 3 -d 8 -b 4 -r 19"
  [ "${RUNS:-1}" -eq 1 ] || TREE="uts --tree T1" SMALL=$TREE
  nodes_of() { "$BIN/tobi-bench" $1 --serial --json | sed -n 's/.*"result":\([0-9]*\).*/\1/p'; }
  NODES=$(nodes_of "$TREE") && FEWER=$(nodes_of "$SMALL") && export NODES FEWER
  [ "${NODES:-0}" -gt 500000 ] && [ "${FEWER:-0}" -gt 100000 ] || { not_ok "the elision counts the trees"; finish; }
  run_in_guest
fi
begin=$SECONDS

packets() { cat /sys/class/net/veth0/statistics/tx_packets; }
conforms() {  # NAME TRANSPORT [OPTIONS...]
  local status=0
  limited "$BIN/tobi-conform" "${@:2}" >$log 2>&1 || status=$?
  sed -n "s/^pass /ok - $1: /p; s/^fail /not ok - $1: /p; s/^skip /skip - $1: /p" $log | relay
  rule "$1: tobi-conform passes" [ $status -eq 0 ]
}
verified() { run "$BIN/tobi-bench" "$@" --verify && says ' yes$'; }
# shellcheck disable=SC2086 # words
counted() { run "$BIN/tobi-bench" $TREE --workers 4 --json && says "\"result\":$NODES,"; }
# shellcheck disable=SC2086 # words
small() { run "$BIN/tobi-bench" $SMALL --workers 4 --json && says "\"result\":$FEWER,"; }

export TOBI_TRANSPORT=verbs
[ -n "${SOAK:-}" ] && ranks=4 || ranks=2  # of the contract's two minutes there most go to four sharing two processors
conforms verbs verbs --ranks $ranks
before=$(packets)
rule "verbs: a thousand READs" run "$BIN/tobi-perf" get --size 8 -n 1000 --transport verbs
rule "verbs: they cross the cable" [ $(($(packets) - before)) -ge 1000 ]
for TOBI_DEQUE in steal_word the; do
  export TOBI_DEQUE
  for i in $(seq "${RUNS:-1}"); do
    [ -n "${SOAK:-}" ] || [ $TOBI_DEQUE = steal_word ] && tree=counted || tree=small
    TOBI_NODES=2 rule "verbs, $TOBI_DEQUE: UTS, 4 workers on 2 nodes, run $i" $tree
  done
  for program in "fib --n 27" "btc" "nqueens --n 10"; do
    [ $TOBI_DEQUE = steal_word ] || { [ -n "${SOAK:-}" ] && [ "$program" != "nqueens --n 10" ]; } || continue
    # shellcheck disable=SC2086 # words
    TOBI_NODES=2 rule "verbs, $TOBI_DEQUE: $program" verified $program --workers 4
  done
  rule "verbs, $TOBI_DEQUE: without shared memory" small
done
unset TOBI_DEQUE
TOBI_VERBS_CONNECTIONS=1 rule "verbs: one connection a worker, 4 workers" small
TOBI_VERBS_CONNECTIONS=1 rule "verbs: one connection a worker, fib" verified fib --n 27 --workers 4
says 'rank' && rule "verbs: one connection a worker, without a warning" false
TOBI_WRAP=fault TOBI_FAULT=again=1000 rule "verbs: a thousand posts answered again" small
for mask in amo chain; do  # masks.sh has the others, and the contract
  TOBI_MASK=$mask rule "verbs without $mask" small
done
export TOBI_NODES=2 TOBI_BLOCK_SIZE=4K TOBI_CACHE_SIZE=1M
for TOBI_CACHE_POLICY in none write_through write_back write_back_lazy; do
  export TOBI_CACHE_POLICY
  rule "verbs: cilksort on global memory, $TOBI_CACHE_POLICY" verified cilksort --n 20000 --cutoff 2000 --workers 2
  [ $TOBI_CACHE_POLICY = write_back_lazy ] || [ "${RUNS:-1}" -gt 1 ] || continue
  for program in "uts-mem -t 1 -a 3 -d 4 -b 4 -r 19" "gups --n 4K" "stream --n 8K" "histogram --scale 9" "pagerank --scale 8 --iterations 2" "fmm --n 500 --nspawn 100"; do
    # shellcheck disable=SC2086 # words
    rule "verbs: ${program%% *} on global memory, $TOBI_CACHE_POLICY" verified $program --workers 2
  done
done
unset TOBI_CACHE_POLICY
unset TOBI_NODES TOBI_BLOCK_SIZE TOBI_CACHE_SIZE
leaf() { run "$BIN/../tests/long_leaf_job_test" --gtest_filter='*over_verbs' && says 'PASSED.* 1 test'; }
rule "verbs: a leaf that never polls stops no thief" leaf

# The guest has little memory that may be locked.
export TOBI_NODES=2 TOBI_BLOCK_SIZE=4K TOBI_CACHE_SIZE=1M
for scheme in steal_retentive plb_hier ${SOAK:+steal_all steal plb_central fork_join}; do
  rule "verbs: hf by $scheme" verified hf --atoms 8 --tile 4 --iterations 2 --scheme $scheme --workers 4
  rule "verbs: tce by $scheme" verified tce --blocks 8,6,3,7 --inner 4,5,4,4 --tile 4 --iterations 2 --scheme $scheme --workers 4
done
# The row without settings of its own runs over what is set here.
updates() { run "$BIN/../tests/accumulate_job_test" --gtest_filter="over/updates.$1/as_set" && says 'PASSED.* 1 test'; }
rule "verbs: updates of all workers add up" updates of_all_workers_add_up
rule "verbs: updates leave dirty neighbours alone" updates leave_dirty_neighbours_alone
unset TOBI_NODES TOBI_BLOCK_SIZE TOBI_CACHE_SIZE

row() { run "$BIN/tobi-perf" "$@" && [ "$(grep -c '"median' $log)" -ge "$rows" ]; }
rows=2
operations=("get --size 8" amo-faa "bw --size 64K -w 2")
[ -n "${SOAK:-}" ] || operations=("get --size 8")
for operation in "${operations[@]}"; do
  # shellcheck disable=SC2086 # words
  rule "tobi-perf ${operation%% *} over verbs beside libibverbs' own calls" row $operation --raw --json -n 100 --transport verbs
done
rows=2  # one a deque
[ -z "${SOAK:-}" ] || rule "tobi-perf steal over verbs" row steal --json -n 100 --transport verbs

export TOBI_TRANSPORT=ofi TOBI_OFI_PROVIDER='verbs;ofi_rxm' TOBI_OFI_DOMAIN=rxe0,rxe1
[ -z "${SOAK:-}" ] || conforms 'verbs;ofi_rxm' ofi --ranks 2  # one a device; four take four times as long
TOBI_NODES=2 rule 'verbs;ofi_rxm: UTS, 4 workers on 2 nodes' small
before=$(packets)
rule 'verbs;ofi_rxm: a thousand READs' run "$BIN/tobi-perf" get --size 8 -n 1000 --transport ofi
rule 'verbs;ofi_rxm: its READs cross the cable' [ $(($(packets) - before)) -ge 1000 ]
echo "# $((SECONDS - begin)) s inside"
finish
