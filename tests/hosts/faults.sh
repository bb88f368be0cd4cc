#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# soak: three hosts that are namespaces, which only root can make; real timeouts of networks
# A part of a job on several hosts is lost: a worker, or all processes of a host. The job ends on all hosts and leaves nothing. Where a
# worker of the same host is left, it says who is gone; else the launcher does (srun with -K). What has happened is printed as rows of
# the table in tests/hosts/README.md. In a soak: each host, and a process per host that forks.
. "$(dirname "$0")/../harness.inc"
. tests/hosts/hosts.inc
inside 3
clean
srun="srun -K --mpi=pmix -N 3 --ntasks-per-node=2"
mpirun="mpirun.openmpi --host h1:2,h2:2,h3:2"
forks="env TOBI_WORKERS=2 srun -K --mpi=pmix -N 3 --ntasks-per-node=1"
long="$bench uts --tree T1XL"
. tests/hosts/losses.inc

for launcher in "$mpirun" "$srun" ${SOAK:+"$forks"}; do
  for n in ${SOAK:+1 3} 5; do
    [ "$launcher" != "$forks" ] || n=$((n / 2))
    launch $launcher
    kill -KILL "$(rank $n)"
    case $launcher in
      "$forks") ends "SIGKILL of the first process of h$((n + 1))" "$launcher" 20 "h$((n + 1)): task $n: Killed" ;;
      *) ends "SIGKILL of rank $n" "$launcher" 20 "^tobi: rank $n on h$((n / 2 + 1)) is gone" ;;
    esac
  done
  for host in h2 ${SOAK:+h1 h3}; do
    launch $launcher
    kill -KILL $(ranks $host)
    ends "SIGKILL of all processes of $host" "$launcher" 20 "$host: task.* Killed\|on node $host exited on signal 9"
  done
done
# Hydra's proxy is lost, and its processes are not: the job has no use for it before its end. mpiexec notices nothing until then.
long="$bench uts --tree T1L --verify"
launch mpiexec.mpich -hosts h1:2,h2:2,h3:2 -n 6
rule "MPICH's proxy of h3 is killed" on h3 pkill -KILL hydra_pmi_prox
all "while the job has no result yet" '! says yes'
await_end 120
all "the job goes on, its results are right, and mpiexec ends" '[ -n "$ended_ms" ]' 'says yes'
rule "and nothing is left" settled 30
finish
