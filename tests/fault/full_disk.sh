#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# soak: mounts a file system, which only root can
# Files that cannot grow: the limit of file sizes (ulimit -f), whose signal ends a process that has not asked for it, and a file
# system that is full. The job ends with a sentence, and leaves no file.
. "$(dirname "$0")/../harness.inc"
nothing_left() { [ -z "$(ls -A "$folder/disk")" ]; }
mkdir "$folder/disk"

# Memory of the workers is files without a name.
for transport in shm ofi; do
  (ulimit -f 1024 && limited env TOBI_TRANSPORT=$transport TOBI_WORKERS=2 "$bench" fib --n 20 > "$out" 2> "$err")
  status=$?
  if complains "libfabric is not installed"; then skip "$transport: no libfabric"; continue; fi
  all "$transport: a limit of file sizes below the heap's is told" '[ $status -eq 1 ]' 'complains "limit of file sizes.*ulimit -f"' '[ "$(wc -l < "$err")" -eq 1 ]'
done

# While the trace is written. The limit comes when the job has begun: its memory has been made.
if command -v prlimit > /dev/null; then
  TOBI_TRACE=$folder/disk/trace TOBI_WORKERS=4 "$bench" uts --tree T1 --repeat 2 > "$out" 2> "$err" &
  job=$!
  for _ in $(seq 100); do
    grep -q memfd:tobi /proc/$job/maps && break
    sleep 0.02
  done
  sleep 0.3
  prlimit --pid $job --fsize=8192
  wait $job
  status=$?
  all "a trace that grows beyond the limit is told" '[ $status -eq 1 ]' 'complains "TOBI_TRACE=.*/disk/trace cannot be written (File too large)"' nothing_left
else
  skip "a trace beyond the limit: prlimit is missing; install the package util-linux"
fi
if [ "$(id -u)" -eq 0 ] && mount -t tmpfs -o size=16k none "$folder/disk" 2> /dev/null; then
  at_exit='umount "$folder/disk"'
  run TOBI_TRACE="$folder/disk/trace" TOBI_WORKERS=4 "$bench" uts --tree T1 --repeat 2
  all "a trace on a full file system is told" '[ $status -eq 1 ]' 'complains "TOBI_TRACE=.*/disk/trace cannot be written (No space left on device)"' nothing_left
else
  skip "a full file system: to mount one needs root's rights"
fi
finish
