#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lane: computes, 29 s
# The real deques, joins and scheduler over the simulated weak fabric: many seeds, every mode, both deques, 2 to 4 workers. A
# run that is wrong, or hangs, is printed with what replays it. SEEDS (how many), FIRST_SEED, BUDGET (seconds) and MODES (of the
# fabric; "weakest" is none) and DEQUES may be given; SOAK=1 is for longer. Each pair of mode and deque has LEAST runs however long these
# take: in six each program is met. In all but ordered-gets a get may read before an earlier get of its chain.
. "$(dirname "$0")/../harness.inc"
: "${SEEDS:=50}" "${FIRST_SEED:=1}" "${BUDGET:=${SOAK:+15}}" "${LEAST:=$([ -n "${SOAK:-}" ] && echo 24 || echo 6)}"
: "${DEQUES:=steal_word the}" "${MODES:=weakest manual-amo manual,depth1,nochain clog=50${SOAK:+ manual depth1 nochain inorder}}"
[ "$LEAST" -le $((3 * SEEDS)) ] || LEAST=$((3 * SEEDS))
exec 2>/dev/null  # where bash would announce each run that was killed
runs=0 stopped=

# What --verify does not know is compared with the elision.
tree="uts -t 1 -a 3 -d 8 -b 4 -r 42"
nodes=$("$bench" $tree --serial --json | sed -n 's/.*"result":\([0-9]*\).*/\1/p')
[ -n "$nodes" ] || { not_ok "the elision counts the small tree"; finish; }
# Long enough to be stolen from; the first has a join every few dozen nanoseconds, the last one waits for futures.
programs=("btc --depth 2 --iter 400" "btc --depth 16 --iter 1" "nqueens --n 10" "fib --n 27" "$tree" "lcs --n 512 --c 16")

one() {  # seed, mode, workers, deque, program
  local replay="TOBI_TRANSPORT=sim TOBI_SIM=$2 TOBI_SIM_SEED=$1 TOBI_DEQUE=$4"
  # shellcheck disable=SC2086 # words
  run $replay "$bench" $5 --workers "$3" --verify --json
  runs=$((runs + 1))
  [ $status -eq 0 ] && silent && says "\"verified\":true\|\"result\":$nodes,\"verified\":null" && return 0
  not_ok "seed $1: $replay tobi-bench $5 --workers $3 --verify ended with status $status"
  return 1
}

echo "seeds $FIRST_SEED to $((FIRST_SEED + SEEDS - 1))"
for mode in $MODES; do
  [ "$mode" != weakest ] || mode=
  for deque in $DEQUES; do
    before=$runs bad=0
    share=$((${BUDGET:-5} / ($(wc -w <<<"$DEQUES") * $(wc -w <<<"$MODES")) + 1)) SECONDS=0
    for ((seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; ++seed)); do
      for workers in 2 3 4; do
        # Not every program with every seed: two seeds in a row meet all six, over the seeds all meet all numbers of workers.
        program=${programs[$(((3 * seed + (seed + 1) / 2 + workers) % ${#programs[@]}))]}
        one "$seed" "$mode" "$workers" "$deque" "$program" || bad=1
      done
      [ $bad -eq 0 ] || break
      [ $SECONDS -lt $share ] || [ $((runs - before)) -lt $LEAST ] || { stopped=1; break; }
    done
    [ $bad -ne 0 ] || rule "$((runs - before)) runs over sim (${mode:-no mode}) with $deque are right" [ $((runs - before)) -ge $LEAST ]
  done
done
# The runtime's own tests. A steal of the paper's deque, or one without chains, takes more round trips than the default's two.
for mode in "" manual nochain,depth1; do
  for deque in steal_word the; do
    # Each mode once, each deque more than once; all pairs in a soak.
    case $deque:$mode in the: | steal_word:manual | the:nochain*) [ "$SEEDS" -gt 50 ] || continue ;; the:*) [ -n "${SOAK:-}" ] || continue ;; esac
    [ "$deque$mode" = steal_word ] || [ "$deque$mode" = steal_wordmanual ] && filter='*' || filter='-*two_round_trips'
    in_soak || if [ "$filter" = '*' ]; then filter='statistics.*:*_3'; else filter+=':*_1:*_8'; fi  # by the number of workers
    run TOBI_TRANSPORT=sim TOBI_SIM=$mode TOBI_DEQUE=$deque "$BIN/../tests/task_job_test" --gtest_filter="$filter"
    all "the runtime's tests pass over sim (${mode:-no mode}) with $deque" '[ $status -eq 0 ]' 'says "^\[  PASSED  \] [1-9]"'
  done
done
[ -z "$stopped" ] || echo "# a slow machine: not every seed was tried"
finish
