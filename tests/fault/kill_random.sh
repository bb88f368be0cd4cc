#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# kill -9 of a random worker, rank 0 included, at a random moment of a job: all others gone, a status that is not zero, one message
# that names rank and signal, and nothing of the job left in /dev/shm. TRIES and SEED may be given; in a soak the seed is another
# each time. How long the slowest took is told; that they hang is what fails.
. "$(dirname "$0")/../harness.inc"
: "${TRIES:=10}" "${SEED:=1}"
RANDOM=$SEED
echo "seed $SEED"
exec 2>/dev/null  # where bash would announce each job that was killed
slowest=0
wrong() { not_ok "try $1 (seed $SEED, $workers workers): $2"; }
# What the processes of a job would leave in /dev/shm has the number of one of them in its name.
left_in_shm() { local process; for process in "$@"; do ls /dev/shm | grep -E "(^|[^0-9])$process([^0-9]|\$)"; done; }

try() {
  workers=$((RANDOM % 4 + 2))
  err=$folder/try.$1  # of this try alone: a worker that was forked while we looked may speak during the next
  : >"$out"
  # shellcheck disable=SC2086 # words
  "$bench" $on_and_on --workers $workers >"$out" 2>"$err" </dev/null &
  local first=$!
  # Half of them while they start: others then may not be there yet, and rank 0 alone, before it has forked, leaves nobody to say it.
  if [ $(($1 % 2)) -eq 0 ]; then begun "$out"; else until_true "[ -n \"\$(children $first)\" ]"; fi || wrong "$1" "the job does not begin"
  sleep "0.$(printf %03d $((RANDOM % 100)))"
  local all=($first $(children $first)) victim begin took
  victim=${all[$((RANDOM % ${#all[@]}))]}
  begin=$(milliseconds)
  kill -9 "$victim" || { wrong "$1" "there was nobody to kill"; kill -9 $first; return; }
  if ! gone "${all[@]}"; then
    for p in "${all[@]}"; do echo "# $p: $(tr '\n' ' ' <"/proc/$p/status" | grep -o 'State:.[^)]*)') in $(cat "/proc/$p/wchan")"; done
    wrong "$1" "others are still alive"
    kill -9 "${all[@]}"
  fi
  took=$(($(milliseconds) - begin))
  [ $took -le $slowest ] || slowest=$took
  wait $first
  local status=$?
  [ $status -ne 0 ] || wrong "$1" "the status is 0"
  [ "$(grep -c 'rank [0-9]* on .* was killed by signal 9 (SIGKILL)' "$err")" = 1 ] || wrong "$1" "not one message with rank and signal"
  [ "$(wc -l <"$err")" = 1 ] || wrong "$1" "more than one message"
  [ -z "$(left_in_shm "${all[@]}")" ] || wrong "$1" "left in /dev/shm: $(left_in_shm "${all[@]}")"
}

for i in $(seq 1 "$TRIES"); do try "$i"; done
[ -n "$(failures)" ] || ok "$TRIES tries of kill -9: others gone, the slowest after $slowest ms, status, one message, nothing left"
finish
