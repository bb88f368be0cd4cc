#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Two namespaces of process ids with one /dev/shm, as containers have it: a job in one leaves the other's files alone.
. "$(dirname "$0")/../harness.inc"
if ! usable ofi; then
  skip "namespaces: needs the packages libfabric-dev, at build time, and libfabric1"
  finish
fi
if ! unshare --pid --fork --mount-proc true 2> /dev/null; then
  skip "namespaces: a namespace of process ids needs root's rights"
  finish
fi
# A process with a file as libfabric's provider shm makes it, alive until it is told otherwise.
bash -c 'exec 3<> "/dev/shm/$$:$(id -u):77"; echo ready; exec sleep $((10 * HANG_S))' > "$folder/holder" &
holder=$!
while [ ! -s "$folder/holder" ]; do sleep 0.05; done
live=/dev/shm/$holder:$(id -u):77
inside() { run unshare --pid --fork --mount-proc env TOBI_WORKERS=2 TOBI_NODES=2 TOBI_TRANSPORT=ofi TOBI_OFI_PROVIDER=shm "$bench" fib --n 20; }
inside
all "a job in a namespace of its own runs, and leaves the file of a process outside" '[ $status -eq 0 ]' 'says 6765' '[ -e "$live" ]'
kill "$holder"
wait "$holder" 2> /dev/null
inside
all "and removes it when that process has died" '[ $status -eq 0 ]' '[ ! -e "$live" ]'
rm -f "$live"
finish
