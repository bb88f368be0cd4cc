#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# kill -9 of a random worker, rank 0 included, at a random moment of a job: all others gone at once, a status that is not zero, one
# message that names rank and signal, no process, no file in /dev/shm and no lock left. TRIES and SEED may be given. How long the
# slowest took is told; it is a hang from ten seconds on, which no load explains.
. "$(dirname "$0")/../harness.inc"
: "${TRIES:=50}" "${SEED:=$$}"
RANDOM=$SEED
export KILL_RANDOM=$$  # marks the processes of this test
echo "seed $SEED"
exec 2>/dev/null  # where bash would announce each job that was killed
slowest=0
shm_before=$(ls /dev/shm | sort)
locks_before=$(wc -l </proc/locks)

now_ms() { local t=$EPOCHREALTIME; echo $((10#${t/./} / 1000)); }
alive() { local p; for p in "$@"; do [ -e "/proc/$p/stat" ] && [ "$(awk '{print $3}' "/proc/$p/stat" 2>/dev/null)" != Z ] && return 0; done; return 1; }
wrong() { not_ok "try $1 (seed $SEED, $workers workers): $2"; }

try() {
  workers=$((RANDOM % 4 + 2))
  err=$folder/try.$1  # of this try alone: a worker that was forked while we looked may speak during the next
  "$bench" uts --tree T1L --workers $workers >/dev/null 2>"$err" </dev/null &
  local first=$!
  sleep "0.$(printf %03d $((RANDOM % 500)))"
  local children victim all
  children=$(cat "/proc/$first/task/$first/children" 2>/dev/null)
  all=($first $children)
  victim=${all[$((RANDOM % ${#all[@]}))]}
  kill -9 "$victim" 2>/dev/null || { wrong "$1" "there was nobody to kill"; kill -9 $first; return; }
  local begin took=0; begin=$(now_ms)
  while alive "${all[@]}"; do
    took=$(($(now_ms) - begin))
    if [ $took -gt 10000 ]; then
      wrong "$1" "still alive after ten seconds"
      for p in "${all[@]}"; do echo "# $p: $(tr '\n' ' ' <"/proc/$p/status" | grep -o 'State:.[^)]*)') in $(cat "/proc/$p/wchan")"; done
      kill -9 "${all[@]}" 2>/dev/null
      break
    fi
    sleep 0.01
  done
  [ $took -le $slowest ] || slowest=$took
  wait $first 2>/dev/null
  local status=$?
  [ $status -ne 0 ] || wrong "$1" "the status is 0"
  # Alone, before it has forked, rank 0 leaves nobody who could say it.
  if [ ${#all[@]} -gt 1 ]; then
    [ "$(grep -c 'rank [0-9]* on .* was killed by signal 9 (SIGKILL)' "$err")" = 1 ] || wrong "$1" "not one message with rank and signal"
    [ "$(wc -l <"$err")" = 1 ] || wrong "$1" "more than one message"
  fi
}

for i in $(seq 1 "$TRIES"); do try "$i"; done
[ -n "$(failures)" ] || ok "$TRIES tries of kill -9: others gone, the slowest after $slowest ms, status, one message"
sleep 0.2
left=0
for p in $(pgrep -x -r D,R,S,T tobi-bench); do  # not zombies, which wait for init; not other people's
  tr '\0' '\n' <"/proc/$p/environ" | grep -qx "KILL_RANDOM=$$" && left=$((left + 1))
done
equal "no process is left" "$left" 0
equal "nothing is left in /dev/shm" "$(ls /dev/shm | sort)" "$shm_before"
rule "no lock is left" [ "$(wc -l </proc/locks)" -le "$locks_before" ]
finish
