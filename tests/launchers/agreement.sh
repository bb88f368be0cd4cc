#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lane: sleeps, 24 s
# Processes of a launcher that have different environments: what must be one for all is rank 0's, and a rank that says
# otherwise is named before anything is harmed.
. "$(dirname "$0")/../harness.inc"
. tests/launchers/jobs.inc

if ! command -v mpirun.openmpi > /dev/null; then
  skip "processes with different environments: needs the package openmpi-bin"
  finish
fi
if ! "$BIN/tobi-info" --json --no-measure | grep '"name":"pmix"' | grep -q '"usable":true'; then
  skip "processes with different environments: needs the packages libpmix-dev, at build time, and libpmix2"
  finish
fi
fib="$bench fib --n 20"
trees="$bench uts --tree T3 --verify"
two() {  # settings of rank 0, of rank 1, the program
  at0=$1 at1=$2
  shift 2
  # shellcheck disable=SC2086
  run mpirun.openmpi --allow-run-as-root --oversubscribe -x MARK -n 1 env $at0 "$@" : -n 1 env $at1 "$@"
}
one_message() { [ "$(grep -c '^tobi: ' "$err")" -eq 1 ]; }
host=$(hostname)

# --- every setting that is rank 0's to give ---
"$BIN/tobi-info" --settings --json > "$folder/settings"
rows() { sed -n "s/.*\"name\":\"\([^\"]*\)\".*\"rank0\":\"$1\".*/\1/p" "$folder/settings"; }
default_of() { sed -n "s/.*\"default\":\"\([^\"]*\)\".*\"name\":\"$1\".*/\1/p; s/.*\"name\":\"$1\".*\"default\":\"\([^\"]*\)\".*/\1/p" "$folder/settings"; }
other() {  # a value that is not the default
  case $1 in
    TOBI_TRANSPORT) echo shm ;;
    TOBI_NODES) echo 2 ;;
    TOBI_PEER_TIMEOUT) echo 20 ;;
    TOBI_OFI_PROVIDER) echo tcp ;;
    TOBI_OFI_PROGRESS | TOBI_AMO_SERVER) echo thread ;;
    TOBI_MPI) echo openmpi ;;
    TOBI_UTOFU_ORDER) echo all ;;
    TOBI_SIM) echo nochain ;;
    TOBI_MASK) echo chain ;;
    TOBI_SIM_SEED) echo 7 ;;
    TOBI_SCHED) echo child_full ;;
    TOBI_DEQUE) echo the ;;
    TOBI_STACK_SIZE) echo 32M ;;
    TOBI_TASK_STACK_SIZE) echo 128K ;;
    TOBI_HEAP_SIZE) echo 512M ;;
    TOBI_DEQUE_SIZE) echo 512K ;;
    TOBI_LOCAL_COLLECTION | TOBI_CACHE_SHARED) echo 0 ;;
    TOBI_CACHE_POLICY) echo write_back ;;
    TOBI_CACHE_SIZE) echo 32M ;;
    TOBI_BLOCK_SIZE) echo 128K ;;
    TOBI_SUB_BLOCK_SIZE) echo 8K ;;
    TOBI_READ_AHEAD) echo 64K ;;
    TOBI_GLOBAL_SIZE) echo 128G ;;
    TOBI_TRACE_SIZE) echo 8M ;;
    TOBI_DEBUG_GLOBAL | TOBI_LABEL | TOBI_STATS | TOBI_DEBUG_MIGRATE) echo 1 ;;
  esac
}
given=$(rows gives)
all "there are settings that rank 0 gives, some that it offers, and some that are each process's own" \
  '[ "$(echo "$given" | wc -l)" -gt 20 ]' '[ -n "$(rows offers)" ]' '[ -n "$(rows "has its own")" ]'
for name in $given; do
  value=$(other "$name")
  if [ -z "$value" ]; then
    verdict 1 "$name has a value here to be tried with"
    continue
  fi
  two A=1 "$name=$value" $fib
  all "$name=$value on rank 1 alone is an error that names it, both ranks and both values" '[ $status -eq 2 ]' '! says result' one_message \
    'complains "$name is $value on rank 1 on $host, and on rank 0 on $host it is .*, the default; all ranks need the same"'
done
run mpirun.openmpi --allow-run-as-root --oversubscribe -x MARK -n 9 $fib : -n 1 env TOBI_SCHED=child_full $fib : -n 2 env TOBI_DEQUE=the $fib
all "of twelve processes the first that says otherwise is named" '[ $status -eq 2 ]' '! says result' one_message \
  'complains "TOBI_SCHED is child_full on rank 9 on $host, and on rank 0 on $host it is .*, the default"'
two TOBI_STACK_SIZE=64M TOBI_STACK_SIZE=32M $trees
all "stacks of two sizes are refused" '[ $status -eq 2 ]' '! says result' one_message \
  'complains "TOBI_STACK_SIZE is 32M on rank 1 on $host, and on rank 0 on $host it is 64M; all ranks"'
two TOBI_HEAP_SIZE=64M TOBI_HEAP_SIZE=65536K $trees
all "one size in two ways to write it is one size" '[ $status -eq 0 ]' 'says "2 workers"' 'says yes'

# --- what rank 0 says, the others have ---
two TOBI_STATS=1 A=1 $fib
all "TOBI_STATS=1 on rank 0 alone is for all" '[ $status -eq 0 ]' 'says 6765' 'complains "statistics of 2 workers"'
everything=$(for name in $given; do
  case $name in  # values that cannot be together
    TOBI_SCHED | TOBI_SIM | TOBI_SIM_SEED | TOBI_MPI | TOBI_TRANSPORT | TOBI_DEBUG_GLOBAL | TOBI_OFI_PROVIDER) ;;
    *) echo "$name=$(other "$name")" ;;
  esac
done)
two "$everything TOBI_TRANSPORT=ofi TOBI_OFI_PROVIDER=tcp" A=1 $fib
all "rank 0 alone says nearly everything" '[ $status -eq 0 ]' 'says "2 workers (ofi.*the)"' 'says 6765'
two TOBI_SCHED=child_full A=1 $trees
all "rank 0 alone says the scheduler" '[ $status -eq 0 ]' 'says "child_full"' 'says yes'
two TOBI_TRACE="$folder/trace.json" A=1 $fib
all "rank 0 alone asks for a trace" '[ $status -eq 0 ]' '[ -s "$folder/trace.json" ]'
for way in 'TOBI_WORK_SPAN=$folder/w.json A=1' 'A=1 TOBI_WORK_SPAN=$folder/w.json'; do
  eval "two $way $fib"
  all "a program that two processes run is not measured, whoever asks for it" '[ $status -eq 2 ]' '! says result' one_message \
    'complains "TOBI_WORK_SPAN measures a program on one worker, and this job has 2; start one process"' '[ ! -e "$folder/w.json" ]'
done
two TOBI_LOG=info TOBI_LOG=error $fib
all "each process logs what it is told to" '[ $status -eq 0 ]' 'complains "info: rank 0"' '! complains "info: rank 1"'
two TOBI_PIN=none TOBI_PIN=auto $fib
all "what machines may differ in may differ" '[ $status -eq 0 ]' 'says 6765' '! complains .'
two TOBI_WORKERS=4 A=1 $fib
all "the number of workers is a node's, whoever says it" '[ $status -eq 0 ]' 'says "4 workers"'
two TOBI_WORKERS=4 TOBI_WORKERS=6 $fib
all "two numbers of workers on one node are refused" '[ $status -eq 2 ]' one_message \
  'complains "process 1 on $host asks for 6 workers there and process 0 for 4 workers; set TOBI_WORKERS alike"'

# --- what cannot be given: each machine has what it has ---
mkdir "$folder/broken"
: > "$folder/broken/libfabric.so.1"
two "TOBI_NODES=2 TOBI_TRANSPORT=ofi" "LD_LIBRARY_PATH=$folder/broken" $fib
all "a transport that one rank cannot use is an error that names the rank and the reason" '[ $status -eq 2 ]' '! says result' one_message \
  'complains "rank 1 on $host: the transport ofi, which rank 0 on $host has chosen for all, cannot be used here: .*libfabric"'
two "TOBI_NODES=2 TOBI_TRANSPORT=ofi LD_LIBRARY_PATH=$folder/broken" A=1 $fib
all "and where rank 0 is the one that cannot" '[ $status -eq 2 ]' one_message 'complains "rank 0 on $host: TOBI_TRANSPORT=ofi cannot be used: .*libfabric"'
# Over mpi the others would wait in MPI_Init for the one that cannot.
if [ -e "$BIN/../lib/libtobi-mpi-openmpi.so" ]; then
  mkdir "$folder/lone"
  cp "$bench" "$folder/lone/"  # the same program, without the plugins beside it
  run mpirun.openmpi --allow-run-as-root --oversubscribe -x TOBI_TRANSPORT=mpi -n 2 $fib : -n 1 "$folder/lone/tobi-bench" fib --n 20
  all "a rank that cannot use mpi says so, and the others do not wait for it" '[ $status -eq 2 ]' '! says result' one_message \
    'complains "rank 2 on $host: the transport mpi, which rank 0 on $host has chosen for all, cannot be used here: .*plugin"'
else
  skip "a rank that cannot use mpi: needs libopenmpi-dev when Tobiuo is built"
fi
finish
