#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lane: sleeps, 16 s
# Jobs of three hosts, each with a network, processes and memory of its own: what the gate asks of them. The others of this folder ask
# the rest. Hosts are namespaces, which only root can make, and only where the machine lets it.
. "$(dirname "$0")/../harness.inc"
. tests/hosts/hosts.inc
if [ -z "${SITE:-}" ] && ! tests/hosts/site --can --no-slurm >"$out" 2>"$err"; then
  skip "three hosts: $(sed 's/^[^ ]*: //' "$err")"
  finish
fi
inside 3 --no-slurm
clean
trees="$bench uts --tree T1 --verify"
mpirun="mpirun.openmpi --bind-to none -x TOBI_TRANSPORT=ofi"
for processes in "per worker:$mpirun --host h1:2,h2:2,h3:2" "per host:$mpirun -x TOBI_WORKERS=2 --host h1,h2,h3"; do
  run ${processes#*:} $trees
  all "mpirun, a process ${processes%%:*}" '[ $status -eq 0 ]' 'says " 6 workers (.*ofi"' 'says yes' 'lines 3'
done
run env TOBI_TRANSPORT=ofi mpiexec.mpich -hosts h1,h2,h3 -ppn 1 -n 3 $trees
all "mpiexec of MPICH" 'says " 3 workers (.*ofi"' 'says yes'

cat >"$folder/odd" <<SCRIPT
#!/bin/bash
[ "\$(hostname)" != h2 ] || export TOBI_STACK_SIZE=pigeon
exec "\$@"
SCRIPT
chmod +x "$folder/odd"
run $mpirun -x TOBI_WORKERS=2 --host h1,h2,h3 "$folder/odd" $trees
all "a mistake on one host ends the job, and is told with its name" '[ $status -ne 0 ]' '! says yes' \
  'cat "$out" "$err" | grep -q "^tobi: .* on h2: TOBI_STACK_SIZE=pigeon"'

: >"$out"
$mpirun -x TOBI_WORKERS=2 --host h1,h2,h3 "$bench" $on_and_on >"$out" 2>"$err" </dev/null &
job=$!
begun "$out" || not_ok "a job on and on begins: $(cat "$err")"
kill -9 $(ranks h2)
wait $job; status=$?
all "a host whose processes die ends the job" '[ $status -ne 0 ]'
rule "and nothing is left on any of them" settled 60
finish
