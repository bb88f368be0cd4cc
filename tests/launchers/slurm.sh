#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# soak: the daemons of Slurm take what time and ports they like
# Jobs of Slurm's srun, on a Slurm of one node that this script starts and ends.
. "$(dirname "$0")/../harness.inc"
. tests/launchers/jobs.inc
. tests/launchers/slurm.inc
at_exit=stop_slurm
if ! start_slurm; then
  skip "Slurm: $no_slurm (packages slurmctld, slurmd, slurm-client, slurm-wlm-basic-plugins, munge)"
  finish
fi
if ! srun --mpi=list 2>&1 | grep -qw pmix; then
  skip "Slurm: srun --mpi=list does not name pmix (package slurm-wlm-basic-plugins)"
  finish
fi
if ! "$BIN/tobi-info" --json | grep '"name":"pmix"' | grep -q '"usable":true'; then
  skip "Slurm: needs the packages libpmix-dev, at build time, and libpmix2"
  finish
fi

run srun --mpi=pmix -n 2 "$bench" fib --verify
all "two tasks are one job of two workers, with the right result" '[ $status -eq 0 ]' 'says "2 workers"' 'says 9227465' 'says yes' 'lines 3'
run TOBI_STATS=1 srun --mpi=pmix -n 4 "$bench" uts --tree T1 --verify
all "four tasks are one job of four workers, and continuations moved between them" '[ $status -eq 0 ]' 'says "4 workers"' 'says yes' \
  '[ "$(awk "/steals, successful/ {print \$NF}" "$err")" -gt 0 ]'
run TOBI_WORKERS=3 srun --mpi=pmix -n 1 "$bench" uts --tree T1 --verify
all "one task on the node forks the other workers" '[ $status -eq 0 ]' 'says "3 workers"' 'says yes'
run TOBI_WORKERS=4 srun --mpi=pmix -n 2 "$bench" uts --tree T1 --verify
all "two tasks fork one more worker each when four are asked for" '[ $status -eq 0 ]' 'says "4 workers"' 'says yes'
run srun -n 2 "$bench" fib
all "srun without --mpi=pmix is an error that says what to do" '[ $status -eq 2 ]' '! says result' 'complains "srun without --mpi=pmix started this program.*srun --mpi=pmix"'
run srun --mpi=pmi2 -n 2 "$bench" fib
all "srun --mpi=pmi2 is an error that says what to do, once" '[ $status -ne 0 ]' '[ "$(grep -c "^tobi: " "$err")" -eq 1 ]' '! says result' 'complains "PMI but no PMIx.*srun --mpi=pmix"'
printf '#!/bin/sh\nTOBI_WORKERS=2 "%s" fib --verify\n' "$bench" > "$folder/batch"
run sbatch --wait -n 4 -o "$folder/batch.out" "$folder/batch"
cat "$folder/batch.out" >> "$out"
all "a batch script of four tasks runs a job on its node without srun" '[ $status -eq 0 ]' 'says "2 workers"' 'says yes'
deaths srun srun --mpi=pmix -n 4 "$bench" $on_and_on
launch 4 TOBI_WORKERS=4 srun --mpi=pmix -n 2 "$bench" $on_and_on
kill -KILL "$(client 1)"; await_end
all "SIGKILL of a task that has forked ends all ($gone_ms ms)" '[ $ended = yes ]' '[ $status -ne 0 ]' '[ "$(grep -c "^tobi: " "$err")" -eq 1 ]'
launch 4 srun --mpi=pmix -n 4 "$bench" $on_and_on
scancel --name=tobi-bench; await_end
all "scancel ends all, and no worker complains" '[ $ended = yes ]' '[ $status -ne 0 ]' '! complains "^tobi: "'
finish
