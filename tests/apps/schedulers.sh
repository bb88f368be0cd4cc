#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lane: computes, 20 s
# Every program is right under every scheduler, with both deques, on 1, 2 and 8 workers of one node, and on two nodes with
# libfabric between them; RUNS (1) times each. In a soak: every pair; else some have one number of workers, some one deque, and most a
# small tree. What is counted is there, and a scheduler that there is not is a sentence.
. "$(dirname "$0")/../harness.inc"
runs=${RUNS:-1}
seeds="1 2${SOAK:+ 3 4}"
schedulers="continuation_greedy continuation_stalling child_full child_rtc adws"
# Four million nodes each, where a soak has the time; else the 339,886 of a tree whose number the elision gives here.
large="4112897 uts --tree T3" small="uts -t 1 -a 3 -d 9 -b 4 -r 42"
nodes=$("$bench" $small --serial --json | sed -n 's/.*"result":\([0-9]*\).*/\1/p')
equal "the elision counts the small tree" "$nodes" 339886
tree=$(in_soak && echo "$large" || echo "$nodes $small")

# One row: scheduler, deque, transport, workers, answer, arguments.
right() {
  sched=$1 deque=$2 transport=$3 workers=$4 answer=$5
  shift 5
  # What --verify does not know is compared with the elision's number alone.
  [ "$answer" = "$nodes" ] && verified=null || verified=true
  done=0
  while [ "$done" -lt "$runs" ]; do
    if [ "$transport" = ofi ]; then
      run TOBI_NODES=2 TOBI_TRANSPORT=ofi TOBI_OFI_PROVIDER='tcp;ofi_rxm' TOBI_SCHED="$sched" TOBI_DEQUE="$deque" \
        "$bench" "$@" --workers "$workers" --verify --json || break
    else
      run TOBI_SCHED="$sched" TOBI_DEQUE="$deque" "$bench" "$@" --workers "$workers" --verify --json || break
    fi
    silent && says "\"result\":$answer,\"verified\":$verified" && says "\"sched\":\"$sched\",\"deque\":\"$deque\"" || break
    done=$((done + 1))
  done
  [ "$done" -eq "$runs" ]
  verdict $? "$* is $answer with $sched and $deque on $workers workers${transport:+ over $transport}"
}

for sched in $schedulers; do
  for deque in steal_word the; do
    for workers in ${SOAK:+1} 2 8; do
      in_soak || [ $deque = steal_word ] || [ $workers = 2 ] || continue
      right $sched $deque '' $workers 196418 fib --n 27
      right $sched $deque '' $workers 55987 btc --depth 6 --iter 3
      right $sched $deque '' $workers 724 nqueens --n 10
      # shellcheck disable=SC2086 # words
      right $sched $deque '' $workers $([ $workers = 8 ] && echo "$large" || echo "$tree")
    done
  done
  for workers in ${SOAK:+1 2} 8; do
    right $sched steal_word '' $workers 1280 pfor --n 256 --m 1
    right $sched steal_word '' $workers 1984 recpfor --n 64 --m 1
    right $sched steal_word '' $workers 223 lcs --n 2048 --c 128
  done
  right $sched the '' 2 1984 recpfor --n 64 --m 1
  right $sched the '' 2 223 lcs --n 2048 --c 128
  ! in_soak || right $sched steal_word '' 2 4130071 uts --tree T1
done

if provider_is_here 'tcp;ofi_rxm'; then
  for sched in $schedulers; do
    for deque in steal_word ${SOAK:+the}; do
      for workers in 2 ${SOAK:+8}; do
        right $sched $deque ofi $workers 10946 fib --n 21
        [ $deque$workers = the8 ] && continue  # a second a run: eight that poll the network share the cores
        right $sched $deque ofi $workers 9331 btc --depth 5 --iter 3
        right $sched $deque ofi $workers 352 nqueens --n 9
      done
    done
    for workers in 2 ${SOAK:+8}; do
      right $sched steal_word ofi $workers 640 pfor --n 128 --m 1
      right $sched steal_word ofi $workers 832 recpfor --n 32 --m 1
      right $sched steal_word ofi $workers 107 lcs --n 1024 --c 128
    done
    right $sched steal_word ofi 2 $tree
    [ -z "${SOAK:-}" ] || right $sched steal_word ofi 2 4130071 uts --tree T1
  done
else
  skip "two nodes: libfabric's provider tcp;ofi_rxm cannot be used here: $(tail -n 1 "$err")"
fi

# A task of child_full needs a stack for each level that waits; a chain of only children is plain calls on one.
for sched in $schedulers; do
  run TOBI_SCHED=$sched "$bench" uts -t 3 -b 2 -d 17 --workers 2 --json
  all "a full tree of 17 levels has 2^18 - 1 nodes with $sched" '[ $status -eq 0 ]' silent 'says "\"result\":262143,"'
done
for sched in $schedulers; do
  run TOBI_SCHED=$sched TOBI_TASK_STACK_SIZE=64M "$bench" uts -t 3 -b 1 -d 50000 --json
  all "a tree of 50,000 levels is searched with $sched" '[ $status -eq 0 ]' silent 'says "\"result\":50001,"'
done

# Over the simulated fabric: operations late and in any order, atomics that exclude only each other, targets that must poll.
for sched in $schedulers; do
  for mode in '' manual,depth1,nochain; do
    done=0
    for seed in $seeds; do
      run TOBI_TRANSPORT=sim TOBI_SIM=$mode TOBI_SIM_SEED=$seed TOBI_SCHED=$sched \
        TOBI_LOCAL_COLLECTION=$((seed % 2)) "$bench" btc --depth 2 --iter 100 --workers 3 --verify --json || break
      silent && says "\"result\":40201,\"verified\":true" || break
      done=$seed
    done
    [ "$done" -eq "${seeds##* }" ]
    verdict $? "btc is right with $sched over sim${mode:+ ($mode)}, seeds $seeds, with local collection and without"
  done
done

# Without local collection, where steals are frequent: the same answers.
for sched in $schedulers; do
  run TOBI_SCHED=$sched TOBI_LOCAL_COLLECTION=0 "$bench" ${tree#* } --workers 8 --json
  all "${tree#* } is right with $sched and a queue of frees" '[ $status -eq 0 ]' silent 'says "\"result\":${tree%% *},"'
done

# Table II, of all workers and of each.
run "$bench" uts --tree T3 --workers 2 --json
for name in execution_s outstanding_joins outstanding_join_ns steals_ok steals_failed steal_latency_ns bytes_per_steal copy_ns; do
  all "a run has $name of the job and of each worker" '[ "$(grep -o "\"$name\":" "$out" | wc -l)" -eq 3 ]'
done
run TOBI_STATS=1 "$bench" fib --n 20 --workers 2
all "TOBI_STATS=1 prints the table, and a line per worker" '[ $status -eq 0 ]' 'complains "execution time"' \
  'complains "outstanding join time, mean"' 'complains "stolen task size, mean"' 'complains "task copy time, mean"' \
  '[ "$(grep -cE "^tobi: +[01] +[0-9]+ +[0-9]+ " "$err")" -eq 2 ]'

for bad in child continuation greedy ''; do
  run TOBI_SCHED="$bad" "$bench" fib --n 5
  all "TOBI_SCHED='$bad' is one sentence that lists the schedulers" '[ $status -eq 2 ]' '[ "$(wc -l < "$err")" -eq 1 ]' \
    'complains "is not one of continuation_greedy, continuation_stalling, child_full, child_rtc, adws"'
done
run TOBI_SCHED=child_full TOBI_DEBUG_MIGRATE=1 "$bench" fib --n 5
all "TOBI_DEBUG_MIGRATE with a scheduler that moves nothing is one sentence" '[ $status -eq 2 ]' \
  '[ "$(wc -l < "$err")" -eq 1 ]' 'complains "TOBI_DEBUG_MIGRATE moves continuations"'
finish
