#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lane: computes, 23 s
# The transport mpi, and the exchange over MPI, with both libraries and their own launchers. In a soak: every program with both
# deques, and the contract with each way of atomics.
. "$(dirname "$0")/../harness.inc"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1  # for tobi-perf, which starts mpirun itself

run TOBI_TRANSPORT=mpi "$bench" fib
all "mpi without a launcher is an error that says what to do" '[ $status -eq 2 ]' '! says result' 'complains "no MPI launcher has started this program; start it with mpirun"'
run TOBI_BOOTSTRAP=mpi "$bench" fib
all "TOBI_BOOTSTRAP=mpi without a launcher is an error" '[ $status -eq 2 ]' '! says result' 'complains "no launcher of Open MPI or MPICH"'
run TOBI_TRANSPORT=mpi TOBI_MPI=nonsense "$bench" fib
all "an MPI library that is none is an error with the good names" '[ $status -eq 2 ]' 'complains "one of auto, openmpi, mpich"'

# One process cannot begin, and the others wait for it in MPI_Init: the job ends, and says once which one and why.
mkdir "$folder/lone"
cp "$bench" "$folder/lone/"  # the same program, without the plugins beside it
one_message() { [ "$(grep -c "^tobi: " "$err")" -eq 1 ]; }
fails_alone() {  # COMMAND...
  for odd in "env TOBI_STACK_SIZE=pigeon $bench" "$folder/lone/tobi-bench"; do
    case $odd in
      env*) why="TOBI_STACK_SIZE=pigeon is not a size" words="with a mistake" ;;
      *) why="the plugin for $library cannot be loaded (.*install Tobiuo's plugins" words="without the plugin" ;;
    esac
    run TOBI_BOOTSTRAP=mpi "$@" -n 1 $odd fib : -n 2 "$bench" fib
    all "$library: process 0 $words" '[ $status -eq 2 ]' '! says result' one_message 'complains "^tobi: process 0 on $(hostname): .*$why"'
    run TOBI_BOOTSTRAP=mpi "$@" -n 2 "$bench" fib : -n 1 $odd fib
    all "$library: process 2 $words" '[ $status -eq 2 ]' '! says result' one_message 'complains "^tobi: process 2 on $(hostname): .*$why"'
  done
  run TOBI_BOOTSTRAP=mpi "$@" -n 3 "$folder/lone/tobi-bench" fib
  all "$library: three without the plugin are one message" '[ $status -eq 2 ]' '! says result' one_message 'complains "^tobi: process 0 on .*$why"'
}

conform() {  # what to call it, settings and command: each rule of the contract counts
  local what=$1
  shift
  run "$@"
  sed -n "s/^pass \(.*\)/ok - $what: \1/p; s/^fail \(.*\)/not ok - $what: \1/p" "$out" | relay
  all "$what: tobi-conform ends well" "[ $status -eq 0 ]" '[ "$(grep -c ^pass "$out")" -ge 20 ]'
}
for library in openmpi mpich; do
  case $library in
    openmpi) launcher="mpirun.openmpi --oversubscribe" plugin=libopenmpi-dev ;;
    mpich) launcher=mpiexec.mpich plugin=libmpich-dev ;;
  esac
  if ! command -v "${launcher%% *}" > /dev/null || ! [ -e "$BIN/../lib/libtobi-mpi-$library.so" ]; then
    skip "$library: needs its launcher, and $plugin when Tobiuo is built"
    continue
  fi
  fails_alone ${launcher/--oversubscribe/--oversubscribe -x TOBI_BOOTSTRAP}
  conform "$library, software atomics" $launcher -n 2 "$BIN/tobi-conform" mpi $shortly
  [ $library = openmpi ] || ! in_soak || conform "$library, its own atomics" TOBI_AMO_SERVER=native $launcher -n 2 "$BIN/tobi-conform" mpi $shortly
  right=0 times=${SOAK:+3}
  for _ in 1 ${SOAK:+2 3}; do
    run TOBI_NODES=2 TOBI_TRANSPORT=mpi $launcher -n 4 "$bench" uts --tree T1 --verify && says yes && right=$((right + 1))
  done
  all "$library: T1 on two nodes of two workers${SOAK:+, three times}" "[ $right -eq ${times:-1} ]"
  run TOBI_TRANSPORT=mpi TOBI_LOG=info $launcher -n 2 "$bench" uts --tree T1 --verify
  all "$library: it says what was measured of one-sidedness" '[ $status -eq 0 ]' 'complains "as measured at the start, gets are"'
  for program in "fib --n 27" ${SOAK:+"btc" "nqueens --n 10"}; do
    for deque in steal_word ${SOAK:+the}; do
      run TOBI_NODES=2 TOBI_TRANSPORT=mpi TOBI_DEQUE=$deque $launcher -n 4 "$bench" $program --verify
      all "$library: $program with $deque" '[ $status -eq 0 ]' 'says yes'
    done
  done
  [ -z "${SOAK:-}" ] || conform "$library, a worker for atomics" TOBI_AMO_SERVER=worker $launcher -n 3 "$BIN/tobi-conform" mpi $shortly
  for program in ${SOAK:+"uts --tree T1"} "fib --n 25"; do
    run TOBI_NODES=2 TOBI_TRANSPORT=mpi TOBI_AMO_SERVER=worker $launcher -n 4 "$bench" $program --verify
    all "$library: $program with a worker of each node for atomics" '[ $status -eq 0 ]' 'says yes' 'says "2 workers and 2 servers (shm+mpi"'
  done
  [ $library = mpich ] || in_soak || continue  # the rest does not look at which library it is
  for scheme in steal_retentive ${SOAK:+plb_hier steal_all steal plb_central fork_join}; do
    for program in "hf --atoms 12 --tile 6 --iterations 3" ${SOAK:+"tce --blocks 8,6,3,7 --inner 4,5,4,4 --tile 4 --iterations 2"}; do
      run TOBI_NODES=2 TOBI_TRANSPORT=mpi $launcher -n 4 "$bench" $program --scheme $scheme --verify
      all "$library: ${program%% *} by $scheme on two nodes" '[ $status -eq 0 ]' 'says "verified: yes"'
    done
  done
  run TOBI_TRANSPORT=mpi TOBI_AMO_SERVER=thread $launcher -n 2 "$bench" fib
  all "$library: a thread for atomics is refused" '[ $status -ne 0 ]' '! says result' 'complains "TOBI_AMO_SERVER=thread cannot be used with mpi"'
  run TOBI_TRANSPORT=mpi TOBI_WORKERS=4 $launcher -n 2 "$bench" fib
  all "$library: workers that are no processes of MPI are refused" '[ $status -ne 0 ]' '! says result' 'complains "mpirun -n 4\|start 4 processes"'
  run TOBI_MPI=$library "$BIN/tobi-perf" get --transport mpi --raw --json --iters 200
  all "$library: tobi-perf beside MPI's own calls" '[ $status -eq 0 ]' '[ "$(grep -c "\"transport\":\"mpi\".*\"raw\":true" "$out")" -eq 1 ]'
done
if command -v mpiexec.mpich > /dev/null && [ -e "$BIN/../lib/libtobi-mpi-mpich.so" ]; then
  run TOBI_NODES=5 TOBI_TRANSPORT=sim mpiexec.mpich -n 10 "$bench" uts --tree T1 --verify
  all "MPICH's launcher: ten processes as five nodes" '[ $status -eq 0 ]' 'says "10 workers"' 'says yes'
  run mpiexec.mpich -n 1 "$bench" fib --verify
  all "one process of MPICH's launcher, which may not fork, is one worker" '[ $status -eq 0 ]' silent 'says "1 worker "' 'says yes'
  run mpiexec.mpich -n 3 "$bench" uts --tree T1 --verify
  all "MPICH's launcher, which speaks no PMIx, makes one job" '[ $status -eq 0 ]' 'says "3 workers (shm"' 'says yes'
fi
finish
