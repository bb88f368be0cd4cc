#!/usr/bin/env bash
# What goes wrong while a job runs over a network: two nodes on this machine (TOBI_NODES=2), four workers, libfabric's providers.
# TRIES (5) kills for each provider; SEED may be given.
set -u
: "${BIN:=build/release/bin}" "${TRIES:=5}" "${SEED:=$$}"
for name in $(env | sed -n 's/^\(TOBI_[A-Za-z0-9_]*\)=.*/\1/p'); do unset "$name"; done
RANDOM=$SEED
echo "seed $SEED"
exec 2>/dev/null  # where bash would announce each job that was killed
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
out=$folder/out err=$folder/err
bench=$BIN/tobi-bench
failed=0
good() { echo "ok - $1"; }
wrong() { echo "not ok - $1 (seed $SEED): $2"; sed 's/^/# /' "$err" "$out" | head -n 8; failed=1; }
now_ms() { local t=$EPOCHREALTIME; echo $((10#${t/./} / 1000)); }
alive() { local p; for p in "$@"; do [ -e "/proc/$p/stat" ] && [ "$(awk '{print $3}' "/proc/$p/stat")" != Z ] && return 0; done; return 1; }
right() { grep -q "\"result\":$1,\"verified\":true" "$out" && [ ! -s "$err" ]; }
# Starts the bench with four workers; `all` are its processes, rank 0 first.
start() {  # provider, arguments
  TOBI_NODES=2 TOBI_TRANSPORT=ofi TOBI_OFI_PROVIDER=$1 "$bench" "${@:2}" --workers 4 --json >"$out" 2>"$err" </dev/null &
  first=$!
}
family() { all=("$first" $(cat "/proc/$first/task/$first/children")); }

# The worker itself would need a moment to open the fabric: one that is killed before has nothing to do with it.
killed() {  # provider, which try
  local rule="kill -9 of a worker over $1, try $2" victim begin status
  start "$1" uts --tree T1L
  sleep "0.$(printf %03d $((RANDOM % 600 + 200)))"
  family
  victim=$((RANDOM % ${#all[@]}))
  if ! kill -9 "${all[victim]}"; then wrong "$rule" "there was nobody to kill"; kill -9 "$first"; wait "$first"; return; fi
  begin=$(now_ms)
  while alive "${all[@]}"; do
    if [ $(($(now_ms) - begin)) -gt 1000 ]; then wrong "$rule" "still alive after a second"; kill -9 "${all[@]}"; break; fi
    sleep 0.01
  done
  wait "$first"; status=$?
  if [ $status -eq 0 ]; then wrong "$rule" "the status is 0"
  elif [ "$(wc -l <"$err")" != 1 ] || ! grep -q "rank $victim on .* was killed by signal 9 (SIGKILL)" "$err"; then
    wrong "$rule" "not one message that names rank $victim"
  else return 0; fi
}

# Nobody is lost who is only slow: no timeout ends the job.
stopped() {  # provider
  local rule="a worker that stands still for two seconds over $1 holds nobody back for good" status
  start "$1" uts --tree T1 --repeat 3 --verify
  sleep 0.4
  family
  local victim=${all[$((RANDOM % ${#all[@]}))]}
  if ! kill -STOP "$victim"; then wrong "$rule" "the job was over"; return; fi
  sleep 2
  alive "${all[@]}" || { wrong "$rule" "the job ended meanwhile"; return; }
  kill -CONT "$victim"
  ( sleep 60; kill -9 "$first" ) & local guard=$!
  wait "$first"; status=$?
  kill $guard; wait $guard
  if [ $status -eq 0 ] && right 4130071; then good "$rule"; else wrong "$rule" "status $status"; fi
}

faults() {  # provider
  local status
  TOBI_WRAP=fault TOBI_FAULT=again=1000 start "$1" btc --depth 19 --iter 1 --verify
  wait "$first"; status=$?
  if [ $status -eq 0 ] && right 1048575; then good "after 1,000 refused posts the result over $1 is right"
  else wrong "after 1,000 refused posts the result over $1 is right" "status $status"; fi
  local after
  for after in 0 5; do
    TOBI_WRAP=fault TOBI_FAULT=lose=1@$after start "$1" uts --tree T1
    wait "$first"; status=$?
    local rule="a peer that is lost after $after operations over $1 ends the job with its rank"
    if [ $status -eq 0 ] || [ $status -ge 124 ]; then wrong "$rule" "status $status"
    elif grep -q 'cannot reach rank 1 over .*ofi.* (.*peer_lost); the job ends' "$err"; then good "$rule"
    else wrong "$rule" "it does not say so"; fi
  done
}

for provider in 'tcp;ofi_rxm' shm; do
  start "$provider" fib --n 10
  wait "$first" || { echo "skip - provider $provider: $(tail -n 1 "$err")"; continue; }
  before=$failed
  for i in $(seq 1 "$TRIES"); do killed "$provider" "$i"; done
  [ $failed -ne "$before" ] || good "$TRIES kills of a worker over $provider: others gone within a second, one message with the rank"
  stopped "$provider"
  faults "$provider"
  # libfabric's shm provider keeps a file PID:UID:NUMBER in /dev/shm for every endpoint. It removes them when an endpoint is
  # closed and when its process gets a signal that it handles, and cannot when the process is killed. So files of killed
  # workers stay, 8 MB each at most, until the next job opens this provider: its workers remove what belongs to no process.
  if [ "$provider" = shm ]; then
    start shm fib --n 10
    wait "$first"
    left=
    for file in /dev/shm/[0-9]*:"$(id -u)":*; do
      pid=${file##*/} pid=${pid%%:*}
      [ ! -e "$file" ] || [ -d "/proc/$pid" ] || left="$left $file"
    done
    if [ -z "$left" ]; then good "the next job over shm leaves nothing of killed workers in /dev/shm"
    else wrong "the next job over shm leaves nothing of killed workers in /dev/shm" "$left"; fi
  fi
done
sleep 0.2
family
if ! alive "${all[@]}"; then good "no process is left"; else wrong "no process is left" "${all[*]}"; fi
exit $failed
