#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# soak: guesses and waits as long as a stranger does
# Processes that are none of a job's, beside it: they get nothing, and the job goes on and is right.
. "$(dirname "$0")/../harness.inc"
if ! usable ofi; then
  skip "strangers over libfabric: needs the packages libfabric-dev, at build time, and libfabric1"
  finish
fi
if ! $CXX -std=c++20 -O1 "$ROOT/tests/fault/stranger.cc" -o "$folder/stranger" -lfabric > "$out" 2> "$err"; then
  verdict 1 "tests/fault/stranger.cc can be built"
  finish
fi
chmod 755 "$folder" "$folder/stranger"

# A job in the background that runs until goes_on_well ends it: $pids are its processes.
job=
at_exit='[ -z "$job" ] || kill "$job" 2> /dev/null'
begin() {  # settings and command
  env "$@" > "$folder/job" 2> "$folder/job.err" &
  job=$!
  for _ in $(seq 100); do
    sleep 0.05
    pids="$job $(sed 's/ *$//' "/proc/$job/task/$job/children")"
    [ "$(echo "$pids" | wc -w)" -ge 2 ] && grep -q memfd:tobi "/proc/${pids##* }/maps" && break
  done
  sleep 0.5
}
right() { grep -c ' yes$' "$folder/job"; }
goes_on_well() {  # ends the job when it has counted once more
  local before until=$((SECONDS + 40)) well=0
  before=$(right)
  until [ "$(right)" -gt "$before" ]; do
    if ! kill -0 "$job" 2> /dev/null || [ $SECONDS -ge $until ]; then well=1; break; fi
    sleep 0.05
  done
  [ ! -s "$folder/job.err" ] && ! grep -q ' NO$' "$folder/job" || well=1
  kill "$job" 2> /dev/null
  wait "$job" 2> /dev/null
  return $well
}
beside() {  # command: what it does while the job is there
  run "$@"
  sed 's/^/# /' "$out" | tail -n 3
  kill -0 "$job" 2> /dev/null || echo "# the job has ended before"
}
over="TOBI_TRANSPORT=ofi TOBI_NODES=2 TOBI_WORKERS=2 TOBI_HEAP_SIZE=64M"
counts="$bench uts --tree T1 --verify --repeat"
on_and_on="$counts 10000"

# shellcheck disable=SC2086 # words
begin $over TOBI_OFI_PROVIDER=tcp $on_and_on
# shellcheck disable=SC2086 # words
beside "$folder/stranger" keys $pids
all "keys that are guessed open no memory over tcp;ofi_rxm" '[ $status -eq 0 ]' 'says "refused [1-9][0-9]* got 0$"'
all "and the job goes on and is right" 'goes_on_well'
# shellcheck disable=SC2086 # words
begin $over TOBI_OFI_PROVIDER=tcp $on_and_on
# shellcheck disable=SC2086 # words
beside "$folder/stranger" noise $pids
all "garbage and silence on the workers' ports" '[ $status -eq 0 ]' 'says "tried [1-9]"'
all "and the job goes on and is right" 'goes_on_well'

# Two jobs that share the machine, its ports and /dev/shm.
for fabric in tcp shm; do
  for second in same other; do
    as=
    if [ $second = other ]; then
      as="setpriv --reuid 65534 --regid 65534 --clear-groups"
      if [ "$(id -u)" -ne 0 ] || ! $as test -x "$bench"; then
        skip "two users' jobs over $fabric: needs root's rights, and a folder that others can read"
        continue
      fi
    fi
    # shellcheck disable=SC2086 # words
    begin $over TOBI_OFI_PROVIDER=$fabric $on_and_on
    # shellcheck disable=SC2086 # words
    run $over TOBI_OFI_PROVIDER=$fabric $as $counts 1
    all "two jobs over $fabric, the second of the $second user: both are right" '[ $status -eq 0 ]' 'says " yes$"' 'goes_on_well'
  done
done

for fabric in tcp shm; do
  # shellcheck disable=SC2086 # words
  begin $over TOBI_OFI_PROVIDER=$fabric $on_and_on
  # shellcheck disable=SC2086 # words
  beside "$folder/stranger" files $pids
  all "the same user reaches a job's memory, over $fabric" 'says "got [1-9]"'
  if [ "$(id -u)" -eq 0 ]; then
    # shellcheck disable=SC2086 # words
    beside setpriv --reuid 65534 --regid 65534 --clear-groups "$folder/stranger" files $pids
    all "another user does not" '[ $status -eq 0 ]' 'says "tried [1-9][0-9]* .*got 0$"'
  else
    skip "another user's look at a job over $fabric: needs root's rights"
  fi
  all "and the job is right" 'goes_on_well'
done
finish
