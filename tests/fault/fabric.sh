#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# soak: kills at random moments
# What goes wrong while a job runs over a network: two nodes on this machine (TOBI_NODES=2), four workers, libfabric's providers.
# TRIES (3; in a soak 5) kills for each provider; SEED may be given.
. "$(dirname "$0")/../harness.inc"
: "${TRIES:=$([ -n "${SOAK:-}" ] && echo 5 || echo 3)}" "${SEED:=$$}"
RANDOM=$SEED
echo "seed $SEED"
exec 2>/dev/null  # where bash would announce each job that was killed
wrong() { not_ok "$1 (seed $SEED): $2"; }
now_ms() { local t=$EPOCHREALTIME; echo $((10#${t/./} / 1000)); }
alive() { local p; for p in "$@"; do [[ $(awk '{print $3}' "/proc/$p/stat") == [^Z] ]] && return 0; done; return 1; }
right() { grep -q "\"result\":$1,\"verified\":true" "$out" && [ ! -s "$err" ]; }
# Starts the bench with four workers; `all` are its processes, rank 0 first.
start() {  # provider, arguments
  TOBI_NODES=2 TOBI_TRANSPORT=ofi TOBI_OFI_PROVIDER=$1 "$bench" "${@:2}" --workers 4 --json >"$out" 2>"$err" </dev/null &
  first=$!
}
family() { all=("$first" $(children "$first")); }
complete() { family; [ ${#all[@]} -eq 4 ]; }

# The worker itself would need a moment to open the fabric: one that is killed before has nothing to do with it.
killed() {  # provider, which try
  local rule="kill -9 of a worker over $1, try $2" victim begin status
  start "$1" $on_and_on
  until_true complete || wrong "$rule" "not each worker began"
  sleep "0.$(printf %03d $((RANDOM % 600 + 200)))"
  victim=$((RANDOM % ${#all[@]}))
  if ! kill -9 "${all[victim]}"; then wrong "$rule" "there was nobody to kill"; kill -9 "$first"; wait "$first"; return; fi
  begin=$(now_ms)
  while alive "${all[@]}"; do
    if [ $(($(now_ms) - begin)) -gt 10000 ]; then wrong "$rule" "still alive after ten seconds"; kill -9 "${all[@]}"; break; fi
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
  until_true complete
  sleep 0.4
  local victim=${all[$((RANDOM % ${#all[@]}))]}
  if ! kill -STOP "$victim"; then wrong "$rule" "the job was over"; return; fi
  sleep 2
  alive "${all[@]}" || { wrong "$rule" "the job ended meanwhile"; return; }
  kill -CONT "$victim"
  ( sleep 60; kill -9 "$first" ) >/dev/null 2>&1 & local guard=$!
  wait "$first"; status=$?
  kill $guard; wait $guard
  if [ $status -eq 0 ] && right 4130071; then ok "$rule"; else wrong "$rule" "status $status"; fi
}

faults() {  # provider
  local status
  TOBI_WRAP=fault TOBI_FAULT=again=1000 start "$1" btc --depth 19 --iter 1 --verify
  wait "$first"; status=$?
  if [ $status -eq 0 ] && right 1048575; then ok "after 1,000 refused posts the result over $1 is right"
  else wrong "after 1,000 refused posts the result over $1 is right" "status $status"; fi
  local after
  for after in 0 5; do
    TOBI_WRAP=fault TOBI_FAULT=lose=1@$after start "$1" uts --tree T1L
    wait "$first"; status=$?
    local rule="a peer that is lost after $after operations over $1 ends the job with its rank"
    if [ $status -eq 0 ] || [ $status -ge 124 ]; then wrong "$rule" "status $status"
    elif grep -q 'cannot reach rank 1 on [^ ]* over .*ofi.* (.*peer_lost); the job ends' "$err"; then ok "$rule"
    else wrong "$rule" "it does not say so"; fi
  done
}

# libfabric's shm provider keeps a file in /dev/shm for every endpoint (transports/ofi/shm_files.hpp), and cannot remove it when its
# process is killed. Whoever is left of a job does.
files_of() { local p; for p in "$@"; do compgen -G "/dev/shm/$p.*:$(id -u):*"; done; }  # PROCESS...
each_has_a_file() { local p; complete && for p in "${all[@]}"; do [ -n "$(files_of "$p")" ] || return; done; }
leaves_nothing() {
  local how rule
  for how in "KILL 0" "KILL 3" "TERM 0" "TERM 2" "SEGV 0" "SEGV 1" "ABRT 1"; do
    rule="SIG${how% *} to rank ${how#* } over shm leaves nothing in /dev/shm"
    start shm $on_and_on
    if ! until_true each_has_a_file; then
      wrong "$rule" "not each worker had a file: $(files_of "${all[@]}")"
      kill -9 "${all[@]}"
    else
      kill -"${how% *}" "${all[${how#* }]}"
      until_true '! alive "${all[@]}"' || { wrong "$rule" "the job has not ended"; kill -9 "${all[@]}"; }
    fi
    wait "$first"
    nothing "$rule" "$(files_of "${all[@]}")"
  done
  rule="a job that ends itself over shm leaves nothing in /dev/shm"
  TOBI_WRAP=fault TOBI_FAULT=lose=1@1000 start shm btc --depth 2 --iter 1000 --repeat 100000
  local had=  # looked at once more, they may be gone
  until_true '{ each_has_a_file && had=yes; } || ! alive "$first"'
  [ -n "$had" ] || wrong "$rule" "it ended before each worker had a file"
  wait "$first"
  nothing "$rule" "$(files_of "${all[@]}")"
}

for provider in 'tcp;ofi_rxm' shm; do
  start "$provider" fib --n 10
  wait "$first" || { skip "provider $provider: $(tail -n 1 "$err")"; continue; }
  before=$(failures)
  for i in $(seq 1 "$TRIES"); do killed "$provider" "$i"; done
  [ "$(failures)" != "$before" ] || ok "$TRIES kills of a worker over $provider: others gone, one message with the rank"
  stopped "$provider"
  faults "$provider"
  [ "$provider" != shm ] || leaves_nothing
done
sleep 0.2
family
if ! alive "${all[@]}"; then ok "no process is left"; else wrong "no process is left" "${all[*]}"; fi
finish
