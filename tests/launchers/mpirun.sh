#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lane: sleeps, 45 s
# Jobs of Open MPI's mpirun, whose server speaks PMIx; launchers that the workers cannot join; processes that cannot be one job.
. "$(dirname "$0")/../harness.inc"
. tests/launchers/jobs.inc
examples=$BIN/../examples

# --- no launcher, and the wrong ones ---
run TOBI_BOOTSTRAP=pmix "$bench" fib
all "TOBI_BOOTSTRAP=pmix without a launcher is an error that says what to do" '[ $status -eq 2 ]' '! says .' \
  'complains "TOBI_BOOTSTRAP=pmix, but PMIX_RANK is not set: start the program with srun --mpi=pmix, mpirun or prterun"' '[ "$(wc -l < "$err")" -eq 1 ]'
run SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=2 "$bench" fib
all "srun without --mpi=pmix is an error that says what to do" '[ $status -eq 2 ]' '! says .' 'complains "srun without --mpi=pmix started this program"'
run SLURM_PROCID=0 SLURM_NTASKS=4 TOBI_WORKERS=2 "$bench" fib
all "a batch script is no launcher" '[ $status -eq 0 ]' 'says "2 workers"'
run PMIX_RANK=0 PMIX_NAMESPACE=nobody "$bench" fib
all "a PMIx environment without a server is an error" '[ $status -ne 0 ]' '! says .' 'complains "^tobi: "'
if command -v mpiexec.mpich > /dev/null; then
  run mpiexec.mpich -n 2 -env TOBI_BOOTSTRAP fork -env TOBI_WORKERS 1 "$bench" fib
  all "TOBI_BOOTSTRAP=fork makes them jobs of their own" '[ $status -eq 0 ]' '[ "$(grep -c " 1 worker" "$out")" -eq 2 ]'
else
  skip "MPICH's launcher: needs the package mpich"
fi

# --- Open MPI ---
if ! command -v mpirun.openmpi > /dev/null; then
  skip "Open MPI's mpirun: needs the package openmpi-bin"
  finish
fi
if ! "$BIN/tobi-info" --json | grep '"name":"pmix"' | grep -q '"usable":true'; then
  skip "Open MPI's mpirun: needs the packages libpmix-dev, at build time, and libpmix2"
  finish
fi
mpirun() { echo mpirun.openmpi --allow-run-as-root --oversubscribe -x MARK "$@"; }
trees="$bench uts --tree T1 --verify"

# shellcheck disable=SC2046
continuations_moved() {
  run $(mpirun -n 4 -x TOBI_STATS=1) $trees || return 0
  [ "$(awk "/steals, successful/ {print \$NF}" "$err")" -gt 0 ]
}
until_true continuations_moved
all "four processes are one job of four workers, with the right result" '[ $status -eq 0 ]' 'says "4 workers (shm"' 'says yes' 'lines 3'
all "continuations moved between them" '[ "$(awk "/steals, successful/ {print \$NF}" "$err")" -gt 0 ]'
run $(mpirun -n 3 -x TOBI_DEQUE=the) $trees
all "three processes with the other deque" '[ $status -eq 0 ]' 'says "3 workers"' 'says yes'
run $(mpirun -n 2 -x TOBI_WORKERS=6) $trees
all "two processes fork two more each when six workers are asked for" '[ $status -eq 0 ]' 'says "6 workers"' 'says yes'
run $(mpirun -n 10) $trees
all "ten processes settle what they must, in two rounds of eights" '[ $status -eq 0 ]' 'says "10 workers"' 'says yes'
run $(mpirun -n 10 -x TOBI_NODES=5 -x TOBI_TRANSPORT=sim) $trees
all "and reach each other between nodes, by cards that they ask for when they need them" '[ $status -eq 0 ]' 'says "10 workers"' 'says yes'
run $(mpirun -n 1 --bind-to none -x TOBI_WORKERS=3) $trees
all "a single process forks the rest" '[ $status -eq 0 ]' 'says "3 workers"' 'says yes'
cores=$("$BIN/tobi-info" --json | sed -n 's/.*"kind":"machine".*"workers":\([0-9]*\).*/\1/p')
run $(mpirun -n 1 --bind-to none) $trees
all "and takes a worker for each core where none is said" '[ $status -eq 0 ]' 'says " $cores worker"' 'says yes'
run $(mpirun -n 4 -x TOBI_LOG=info) "$bench" fib
all "the version of PMIx is told once" '[ $status -eq 0 ]' '[ "$(grep -c "OpenPMIx [45]" "$err")" -eq 1 ]'
run $(mpirun -n 2 -x TOBI_DEBUG_MIGRATE=1) "$bench" fib --n 15
all "with a move at every fork" '[ $status -eq 0 ]' 'says 610'
run $(mpirun -n 2 -x TOBI_WORKERS=3) "$bench" fib
all "workers that cannot be shared out are an error that says so once" '[ $status -eq 2 ]' '! says result' \
  '[ "$(grep -c "3 workers on .* cannot be shared equally by the 2 processes" "$err")" -eq 1 ]'
run $(mpirun -n 4 -x TOBI_TRANSPORT=pigeon) "$bench" fib
all "a mistake that every process finds is one message" '[ $status -eq 2 ]' 'complains "^tobi: process 0 on $(hostname): "' '[ "$(grep -c "^tobi: .*pigeon is not" "$err")" -eq 1 ]'

run $(mpirun -n 2) "$bench" fib : -n 1 env TOBI_STACK_SIZE=pigeon "$bench" fib
all "a mistake of one process ends the job, and names it" '[ $status -eq 2 ]' '! says result' '[ "$(grep -c "^tobi: " "$err")" -eq 1 ]' \
  'complains "^tobi: process 2 on $(hostname): TOBI_STACK_SIZE=pigeon"'
run $(mpirun -n 2 --bind-to none) "$BIN/tobi-perf" steal --iters 200
all "tobi-perf measures steals between two processes" '[ $status -eq 0 ]' 'says "^steal.*shm"' '! complains "^tobi"'
run $(mpirun -n 2 --bind-to none) "$BIN/tobi-perf" all --iters 48 --size 8,4K
all "tobi-perf makes a cost sheet of two processes, with steals, and says what it lacks" '[ $status -eq 1 ]' \
  '[ "$(grep -c "^The costs of shm$" "$out")" -eq 1 ]' 'says "^  steal.steal_word "' 'says "^  steal.the "' \
  'says "not measured: 3 processes are needed, and 2 were started"' '! complains "^tobi:"'
run $(mpirun -n 3 --bind-to none) "$BIN/tobi-perf" get --all-to-all 3 --iters 60
all "tobi-perf measures three processes at once" '[ $status -eq 0 ]' 'says "^get-all *shm"'

# --- what cannot be one job ---
run $(mpirun -n 1) "$examples/fib" : -n 1 "$examples/pi"
all "another program on one rank is refused, with both names" '[ $status -eq 2 ]' '! says .' \
  '[ "$(grep -c "rank 1 on .* runs another program than rank 0 on .*pi, build id.*fib, build id" "$err")" -eq 1 ]'
cp "$bench" "$folder/same-build"
run $(mpirun -n 1) $trees : -n 1 "$folder/same-build" uts --tree T1 --verify
all "a copy of the same build is the same program" '[ $status -eq 0 ]' 'says "2 workers"' 'says yes'
: "${CXX:=g++}"
echo 'int nothing;' | $CXX -shared -fPIC -x c++ - -o "$folder/libpreloaded.so"
run $(mpirun -n 1) $trees : -n 1 env LD_PRELOAD="$folder/libpreloaded.so" $trees
all "a library that only one rank has is refused by name" '[ $status -eq 2 ]' 'complains "has loaded libpreloaded.so and rank 0 on"'
if $CXX -o "$folder/no_personality" "$ROOT/tests/launchers/no_personality.cc"; then
  run $(mpirun -n 2) "$folder/no_personality" "$bench" fib
  all "a container that forbids the call personality is an error that says so" '[ $status -eq 1 ]' '! says result' \
    'complains "randomized addresses.*personality(ADDR_NO_RANDOMIZE).*seccomp"'
  run $(mpirun -n 2) setarch -R "$folder/no_personality" $trees
  all "and setarch -R outside of it helps" '[ $status -eq 0 ]' 'says yes'
else
  verdict 1 "the program that forbids personality builds"
fi
mkdir "$folder/broken"; : > "$folder/broken/libpmix.so.2"
run $(mpirun -n 1) env LD_LIBRARY_PATH="$folder/broken" "$bench" fib
all "a PMIx library that cannot be loaded is one sentence" '[ $status -eq 1 ]' 'complains "^tobi: process 0 on .*: the PMIx library cannot be loaded (.*install libpmix2"'
run $(mpirun -n 2 -x TOBI_STACK_SIZE=64K) "$bench" uts --tree T3
all "a full stack is explained, and ends the job" '[ $status -eq 1 ]' '! says result' 'complains "the stack of the nested tasks is full.*TOBI_STACK_SIZE"'

# --- cores ---
masks() { for p in $(ranks); do awk '/^Cpus_allowed_list:/ {print $2}' "/proc/$p/status"; done | sort; }
if [ "$cores" -ge 2 ]; then
  launch 2 $(mpirun -n 2 --bind-to core) "$bench" $on_and_on
  all "a launcher that binds each process to a core is respected" '[ "$(masks | uniq | wc -l)" -eq 2 ]' '! masks | grep -q "[-,]"'
  kill "$job"; await_end
  launch 2 $(mpirun -n 2 --bind-to none) "$bench" $on_and_on
  all "without binding, each worker takes a core of its own" '[ "$(masks | uniq | wc -l)" -eq 2 ]' '! masks | grep -q "[-,]"'
  kill "$job"; await_end
  launch $((cores + 1)) $(mpirun -n $((cores + 1)) --bind-to none) "$bench" $on_and_on
  all "more workers than cores are not bound" '[ "$(masks | uniq | wc -l)" -eq 1 ]' 'masks | grep -q "[-,]"'
  kill "$job"; await_end
else
  skip "binding: this machine has one core"
fi

# --- deaths ---
deaths mpirun $(mpirun -n 4) "$bench" $on_and_on
launch 4 $(mpirun -n 2 --bind-to none -x TOBI_WORKERS=4) "$bench" $on_and_on
kill -KILL "$(client 1)"; await_end
all "SIGKILL of a process that has forked ends all ($gone_ms ms)" '[ $ended = yes ]' '[ $status -ne 0 ]' '[ "$(grep -c "^tobi: " "$err")" -eq 1 ]'
launch 4 $(mpirun -n 4) "$bench" $on_and_on
kill -TERM "$job"; await_end
all "SIGTERM to the launcher ends all, and no worker complains" '[ $ended = yes ]' '! complains "^tobi: "'
finish
