#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lane: computes, 12 s
# The workers of one machine as two nodes, or four: every path between nodes, over each provider of libfabric that is here
# and over the simulated fabric. With SECONDS_EACH (0) seconds for each row a row runs as often as it fits, once at least. In a soak: every way of atomics and progress.
. "$(dirname "$0")/../harness.inc"
each_ms=$((${SECONDS_EACH:-0} * 1000))
now_ms() { date +%s%3N; }

# One row: transport, provider, where atomics are executed, who makes progress, nodes, deque, answer, arguments. Where a
# worker of each node executes atomics, the nodes have three: two that run tasks, and the one that serves them.
row() {
  transport=$1 provider=$2 server=$3 progress=$4 nodes=$5 deque=$6 answer=$7
  shift 7
  rule="$* is $answer over $transport${provider:+ ($provider)} between $nodes nodes, atomics $server, progress $progress, $deque"
  workers=4 servers=0
  [ "$server" != worker ] || workers=$((3 * nodes)) servers=$nodes
  begin=$(now_ms) runs=0
  while :; do
    run TOBI_NODES="$nodes" TOBI_TRANSPORT="$transport" TOBI_OFI_PROVIDER="$provider" TOBI_AMO_SERVER="$server" \
      TOBI_OFI_PROGRESS="$progress" TOBI_DEQUE="$deque" "$bench" "$@" --workers $workers --verify --json || break
    silent && says "\"result\":$answer,\"verified\":true" || break
    says "\"workers\":$((workers - servers)),\"servers\":$servers," || break
    # Something went between the nodes, and by the way that was asked for.
    name=shm+$transport
    [ "$nodes" -lt 4 ] || name=$transport
    says "\"transport\":\"$name\"" || break
    runs=$((runs + 1))
    [ $(($(now_ms) - begin)) -lt "$each_ms" ] || { verdict 0 "$rule: $runs times"; return; }
  done
  verdict 1 "$rule (run $((runs + 1)))"
}

# The programs whose answers are known; fib and btc have a join every few dozen nanoseconds.
fib="832040 fib --n 30"
btc="1048575 btc --depth 19 --iter 1"
queens="14200 nqueens --n 12"
tree="4130071 uts --tree T1"

providers=
for name in 'tcp;ofi_rxm' shm ${SOAK:+tcp sockets}; do
  if provider_is_here "$name"; then
    providers="$providers $name"
  else
    skip "provider $name: $(tail -n 1 "$err")"
  fi
done

for provider in $providers; do
  case $provider in
    # Threads of its own for every endpoint, and more of them than cores: a few rows.
    sockets)
      row ofi sockets auto auto 2 steal_word $tree
      row ofi sockets inline auto 2 the $btc
      row ofi sockets thread thread 2 steal_word $fib
      continue ;;
    # The same as tcp;ofi_rxm, found by its short name.
    tcp) row ofi tcp auto auto 2 steal_word $tree; continue ;;
  esac
  for server in native inline ${SOAK:+thread} worker; do
    row ofi "$provider" $server auto 2 steal_word $tree
    in_soak || continue
    [ $server = native ] || [ $server = thread ] && row ofi "$provider" $server thread 2 steal_word $tree
    [ $server = native ] || [ $server = worker ] || [ "$each_ms" -ne 0 ] && row ofi "$provider" $server auto 2 the $tree
  done
  row ofi "$provider" auto auto 2 steal_word $btc
  row ofi "$provider" worker auto 3 the $btc
  row ofi "$provider" auto auto 2 the $queens
  row ofi "$provider" auto auto 4 steal_word $tree
  in_soak || continue
  row ofi "$provider" auto auto 2 steal_word $fib
  row ofi "$provider" inline thread 2 the $fib
  row ofi "$provider" thread auto 2 the $btc
  row ofi "$provider" worker thread 2 steal_word $fib
  row ofi "$provider" worker auto 2 steal_word $btc
  row ofi "$provider" inline auto 2 steal_word $queens
  row ofi "$provider" thread thread 4 the $btc
done
row sim "" auto auto 2 steal_word $tree
row sim "" auto auto 2 the $btc
row sim "" auto auto 4 steal_word $tree

# Mistakes are one sentence for the whole job, and nothing else.
refused() {  # words that the sentence has, workers, settings
  words=$1 workers=$2
  shift 2
  run "$@" "$bench" fib --n 5 --workers "$workers"
  all "refused once: $*" '[ $status -eq 2 ]' '[ "$(wc -l < "$err")" -eq 1 ]' '[ ! -s "$out" ]' 'complains "$words"'
}
refused 'no provider "nonsense".*TOBI_OFI_PROVIDER may be one of .*sockets' 4 TOBI_TRANSPORT=ofi TOBI_OFI_PROVIDER=nonsense
refused 'no provider "nonsense".*TOBI_OFI_PROVIDER may be one of .*sockets' 4 TOBI_NODES=2 TOBI_TRANSPORT=ofi TOBI_OFI_PROVIDER=nonsense
refused 'TOBI_NODES=9 is more than the 2 workers of this job' 2 TOBI_NODES=9
refused 'TOBI_NODES=0 is not' 2 TOBI_NODES=0
refused 'TOBI_TRANSPORT=shm cannot be used: it serves the workers of one node' 4 TOBI_TRANSPORT=shm TOBI_NODES=2
refused 'TOBI_TRANSPORT=self cannot be used: it serves a job of one worker' 4 TOBI_TRANSPORT=self
refused 'TOBI_AMO_SERVER=bad is not one of auto, native, inline, thread, worker' 4 TOBI_AMO_SERVER=bad
refused 'TOBI_OFI_PROGRESS=bad is not one of auto, manual, thread' 4 TOBI_OFI_PROGRESS=bad

refused 'node 1 has only rank 2; start two workers or more per node' 3 TOBI_AMO_SERVER=worker TOBI_NODES=2 TOBI_TRANSPORT=ofi
refused 'node 0 has only rank 0; start two workers or more per node' 1 TOBI_AMO_SERVER=worker TOBI_TRANSPORT=ofi

# Who serves is said; where nobody needs to, too.
run TOBI_LOG=info TOBI_NODES=2 TOBI_TRANSPORT=ofi TOBI_AMO_SERVER=worker TOBI_STATS=1 "$bench" fib --n 20 --workers 6
all "who executes the atomics of which node is said" '[ $status -eq 0 ]' 'says "4 workers and 2 servers (shm+ofi"' \
  'complains "info: rank 0 .*run no tasks: rank 2 those of node 0, rank 5 those of node 1; 4 of 6 workers run tasks"' \
  'complains "statistics of 4 workers"' '[ "$(grep -c "run no tasks" "$err")" -eq 1 ]'
run TOBI_TRANSPORT=ofi TOBI_AMO_SERVER=worker "$bench" fib --n 20 --workers 2 --json
all "one node of a worker that computes and one that serves" '[ $status -eq 0 ]' silent 'says "\"workers\":1,\"servers\":1,"'
run TOBI_TRANSPORT=shm TOBI_AMO_SERVER=worker "$bench" fib --n 20 --workers 3
all "a fabric that has atomics gives no worker away, and says so" '[ $status -eq 0 ]' 'says "3 workers (shm"' \
  'complains "warning: .*TOBI_AMO_SERVER=worker has no effect: shm executes atomics itself"' '[ "$(wc -l < "$err")" -eq 1 ]'

# Where a provider's atomics are messages too, ours are taken where they save neighbours the network, and only there.
for workers in 2 4; do
  run TOBI_NODES=2 TOBI_TRANSPORT=ofi TOBI_OFI_PROVIDER='tcp;ofi_rxm' TOBI_LOG=info "$bench" fib --n 20 --workers $workers
  all "who executes the atomics of $workers workers of two nodes over tcp" '[ $status -eq 0 ]' \
    '[ "$(grep -c "rank 0 .*route: .*atomics and notices are messages" "$err")" -eq $((workers / 4)) ]'
done

# What was chosen, and why the others were not.
run TOBI_NODES=2 TOBI_LOG=info "$bench" fib --n 20 --workers 4
all "the automatic choice between nodes says what it took and why not the others" '[ $status -eq 0 ]' \
  'complains "info: rank 0 .*transport [a-z]*: the first usable one; self is not: .*; shm is not: it serves the workers of one node"' \
  'complains "info: rank 0 .*route: shm inside a node, [a-z]* between nodes (.*); atomics inside a node by [a-z]*"'
finish
