#!/usr/bin/env bash
# The real deques, joins and scheduler over the simulated weak fabric: many seeds, every mode, both deques, 2 to 4 workers. A
# run that is wrong, or hangs, is printed with what replays it. SEEDS (how many), FIRST_SEED and BUDGET (seconds) may be given.
set -u
: "${BIN:=build/release/bin}" "${SEEDS:=50}" "${FIRST_SEED:=1}" "${BUDGET:=15}"
for name in $(env | sed -n 's/^\(TOBI_[A-Za-z0-9_]*\)=.*/\1/p'); do unset "$name"; done
bench=$BIN/tobi-bench
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
exec 2>/dev/null  # where bash would announce each run that was killed
failed=0 runs=0 stopped=

# What --verify does not know is compared with the elision.
tree="uts -t 1 -a 3 -d 8 -b 4 -r 42"
nodes=$("$bench" $tree --serial --json | sed -n 's/.*"result":\([0-9]*\).*/\1/p')
[ -n "$nodes" ] || { echo "not ok - the elision counts the small tree"; exit 1; }
# Long enough to be stolen from; the first has a join every few dozen nanoseconds.
programs=("btc --depth 2 --iter 400" "btc --depth 16 --iter 1" "nqueens --n 10" "fib --n 27" "$tree")

one() {  # seed, mode, workers, deque, program
  local mode=$2 status
  TOBI_TRANSPORT=sim TOBI_SIM=$mode TOBI_SIM_SEED=$1 TOBI_DEQUE=$4 timeout -k 2 20 \
    "$bench" $5 --workers "$3" --verify --json >"$folder/out" 2>"$folder/err" </dev/null
  status=$?
  runs=$((runs + 1))
  [ $status -eq 0 ] && [ ! -s "$folder/err" ] && grep -q "\"verified\":true\|\"result\":$nodes,\"verified\":null" "$folder/out" && return 0
  echo "not ok - seed $1: TOBI_TRANSPORT=sim TOBI_SIM=$mode TOBI_SIM_SEED=$1 TOBI_DEQUE=$4 tobi-bench $5 --workers $3 --verify ended with status $status"
  sed 's/^/# /' "$folder/err" "$folder/out" | head -n 6
  failed=1
  return 1
}

echo "seeds $FIRST_SEED to $((FIRST_SEED + SEEDS - 1))"
for mode in "" manual manual-amo depth1 nochain manual,depth1,nochain inorder clog=50; do
  for deque in steal_word the; do
    before=$runs bad=0
    share=$((BUDGET / 16 + 1)) SECONDS=0
    for ((seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; ++seed)); do
      for workers in 2 3 4; do
        # Not every program with every seed: over the seeds all meet.
        program=${programs[$(((seed + workers) % ${#programs[@]}))]}
        one "$seed" "$mode" "$workers" "$deque" "$program" || bad=1
      done
      [ $SECONDS -lt $share ] || { stopped=1; break; }
      [ $bad -eq 0 ] || break
    done
    [ $bad -ne 0 ] || echo "ok - $((runs - before)) runs over sim (${mode:-no mode}) with $deque are right"
  done
done
# The runtime's own tests. A steal of the paper's deque, or one without chains, takes more round trips than the default's two.
tests=$BIN/../tests/task_test
if [ -x "$tests" ]; then
  for mode in "" manual nochain,depth1; do
    for deque in steal_word the; do
      [ "$deque$mode" = steal_word ] || [ "$deque$mode" = steal_wordmanual ] && filter='*' || filter='-*two_round_trips'
      if TOBI_TRANSPORT=sim TOBI_SIM=$mode TOBI_DEQUE=$deque timeout -k 2 100 "$tests" --gtest_filter="$filter" >"$folder/out" 2>&1 </dev/null; then
        echo "ok - the runtime's tests pass over sim (${mode:-no mode}) with $deque"
      else
        echo "not ok - the runtime's tests over sim (${mode:-no mode}) with $deque"
        grep '^\[  FAILED' "$folder/out" | sed 's/^/# /' | head -n 6
        failed=1
      fi
    done
  done
else
  echo "skip - the runtime's tests over sim: task_test is not built"
fi
[ -z "$stopped" ] || echo "# a slow machine: not every seed was tried"
exit $failed
