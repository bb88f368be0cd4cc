#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lane: computes, 10 s
# Every program gives the right answer on 1, 3 and 8 workers (more than most test machines have cores), and in a soak on 2, run after
# run, each run a job of its own. RUNS says how many (1).
. "$(dirname "$0")/../harness.inc"
runs=${RUNS:-1}

# The answer is compared here with the known one, and --verify must agree.
right() {  # answer, arguments; on $on workers
  answer=$1
  shift
  for workers in ${on:-1 ${SOAK:+2} 3 8}; do
    done=0
    while [ "$done" -lt "$runs" ]; do
      run "$bench" "$@" --workers "$workers" --verify --json || break
      silent && says "\"result\":$answer,\"verified\":true" && says "\"workers\":$workers," || break
      done=$((done + 1))
    done
    [ "$done" -eq "$runs" ]
    verdict $? "$* is $answer on $workers workers, $runs times"
  done
}
right 832040 fib --n 30
on=2 right 102334155 fib --n 40
right 1048575 btc --depth 19 --iter 1
right 55987 btc --depth 6 --iter 3
right 14200 nqueens --n 12
right 14200 nqueens --n 12 --cutoff 6
right 4130071 uts --tree T1
right 4112897 uts --tree T3
in_soak || on=2
right 4117769 uts --tree T2
right 4132453 uts --tree T4
right 4147582 uts --tree T5

# The baseline deque, once each.
for workers in ${SOAK:+1 2} 3 8; do
  run TOBI_DEQUE=the "$bench" uts --tree T3 --workers $workers --verify --json
  all "uts --tree T3 is right on $workers workers with the deque of the paper" '[ $status -eq 0 ]' silent \
    'says "\"deque\":\"the\"" && says "\"result\":4112897,\"verified\":true"'
done

# 17,844 levels: the default stack is large enough (111 million nodes: in a soak), and one that is not says so.
[ "$runs" -eq 1 ] || run "$bench" uts --tree T3L --verify --json
[ "$runs" -eq 1 ] || all "uts --tree T3L, 17,844 levels deep, is right with the default stack" '[ $status -eq 0 ]' silent \
  'says "\"result\":111345631,\"verified\":true" && says "\"leaves\":89076904,\"depth\":17844"'
for workers in 1 2; do
  run TOBI_STACK_SIZE=1M "$bench" uts --tree T3L --workers $workers
  all "a stack too small for T3L ends a job of $workers with a sentence that names the setting" '[ $status -ne 0 ]' \
    '[ $status -lt 124 ]' 'complains "TOBI_STACK_SIZE"' '[ "$(wc -l < "$err")" -eq 1 ]'
done

# The elision gives the same answers, and has a stack as deep as the tasks have.
for name in fib:--n:30:832040 btc:--depth:19:1048575 nqueens:--n:12:14200 uts:--tree:T1:4130071 uts:--tree:T3:4112897; do
  IFS=: read -r app option value answer <<END
$name
END
  run "$bench" "$app" "$option" "$value" --serial --verify --json
  all "$app $option $value is $answer without the runtime" '[ $status -eq 0 ]' silent \
    'says "\"result\":$answer,\"verified\":true,\"stats\":null" && says "\"sched\":\"serial\""'
done
run "$bench" uts -t 3 -b 1 -d 100000 --serial --json
all "the elision searches a tree of 100,000 levels" '[ $status -eq 0 ]' silent \
  'says "\"result\":100001," && says "\"leaves\":1,\"depth\":100000"'
run "$bench" uts -t 3 -b 1 -d 100000 --json
all "tasks search a tree of 100,000 levels" '[ $status -eq 0 ]' silent \
  'says "\"result\":100001," && says "\"leaves\":1,\"depth\":100000"'
run "$bench" uts -t 0 -b 1 -q 0.99999999 -m 1 --serial
all "a tree too deep for the elision is one sentence" '[ $status -eq 1 ]' 'complains "too deep"' \
  '[ "$(wc -l < "$err")" -eq 1 ]'
finish
