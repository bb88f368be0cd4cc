#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Two namespaces of process ids with one /dev/shm, as containers have it: a job in one leaves the other's files alone, also where
# its processes have the same ids.
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
apart="unshare --pid --fork --kill-child --mount-proc env TOBI_WORKERS=2 TOBI_NODES=2 TOBI_TRANSPORT=ofi TOBI_OFI_PROVIDER=shm"
inside() { run $apart "$bench" fib --n 20; }
inside
all "a job in a namespace of its own runs, and leaves the file of a process outside" '[ $status -eq 0 ]' 'says 6765' '[ -e "$live" ]'
kill "$holder"
wait "$holder" 2> /dev/null
inside
all "and removes it when that process has died" '[ $status -eq 0 ]' '[ ! -e "$live" ]'
rm -f "$live"

# The processes of both jobs have the ids 1 and 2.
$apart "$bench" $on_and_on >"$folder/first" 2>"$folder/first.err" </dev/null &
first=$!
begun "$folder/first" || not_ok "a job in one namespace begins: $(cat "$folder/first.err")"
worker=$(children "$first")
# shellcheck disable=SC2046
kill -STOP $worker $(children "${worker% }")  # its files are there, and it leaves the cores alone
inside
all "a job of the same process ids in another namespace runs beside it" '[ $status -eq 0 ]' 'says 6765' '! complains .'
run TOBI_WORKERS=2 TOBI_NODES=2 TOBI_TRANSPORT=ofi TOBI_OFI_PROVIDER=shm unshare --pid --fork --mount-proc "$BIN/tobi-perf" get --transport ofi --size 8 --iters 200 --raw
all "and so does tobi-perf, which calls libfabric itself" '[ $status -eq 0 ]' '[ "$(grep -c "^get " "$out")" -eq 2 ]'
# What a killed job leaves is named after ids that the next container's processes have too.
mapfile -t left < <(sed -n 's|.* \(/dev/shm/[0-9]*\.[0-9a-f]*:.*\)|\1|p' "/proc/${worker% }/maps" | sort -u)
all "the first one's files are there" '[ ${#left[@]} -eq 2 ]' 'ls "${left[@]}" >/dev/null'
kill -KILL "$first"
wait "$first" 2>/dev/null
until_true '! lives $worker' || not_ok "the first job is gone"  # with its namespace
inside
all "what it leaves where it is killed, the next job removes, which has its process ids" '[ $status -eq 0 ]' '! ls "${left[@]}" 2>/dev/null | grep .'

# Without a /proc of its own: none at all, or that of the processes outside, which are called by other numbers.
for without in "unshare --mount bash -c 'mount -t tmpfs none /proc && exec \"\$@\"' job" "unshare --pid --fork --kill-child"; do
  for nodes in 1 2; do
    eval "run TOBI_WORKERS=4 TOBI_NODES=$nodes $without \"\$bench\" uts --tree T3 --verify"
    all "a job of $nodes nodes without a /proc of its own: ${without%% bash*}" '[ $status -eq 0 ]' 'says yes' silent
  done
done
finish
