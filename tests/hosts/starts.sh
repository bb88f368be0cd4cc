#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# soak: hosts that are namespaces, which only root can make; compares times with a bound
# Jobs start, do something and end, again and again, over ofi: each launcher, a process per worker and a process per node that forks
# a second worker, 2, 3 and 5 nodes; on hosts of their own, and on one host where TOBI_NODES makes the nodes. Each start reaches its
# first task within WITHIN seconds (5), and no job hangs. A row of the table in tests/hosts/README.md is printed for each. STARTS (3;
# in a soak 10) says how often; ROWS, a pattern, which rows; LOAD busy loops (0) run meanwhile. PRRTE (/opt/prrte) is a folder with
# prterun, which Debian does not have.
. "$(dirname "$0")/../harness.inc"
. tests/hosts/hosts.inc
: "${STARTS:=${SOAK:+10}}" "${STARTS:=3}" "${ROWS:=.}" "${LOAD:=0}" "${WITHIN:=$((LOAD == 0 ? 5 : 30))}" "${PRRTE:=/opt/prrte}"
export STARTS ROWS LOAD WITHIN PRRTE
inside 5
loops=
for _ in $(seq "$LOAD"); do (while [ -e "/proc/$$" ]; do for _ in {1..100000}; do :; done; done) & loops+=" $!"; done
start=$BIN/../tests/perf/start
echo "# | nodes | launcher | processes | starts | first task, median | longest |"
# starts WORDS-OF-A-ROW COMMAND...
starts() {
  local row=$1 n first times= late=0 wrong=0
  [[ $row =~ $ROWS ]] || return 0
  shift
  for n in $(seq "$STARTS"); do
    run "$@" "$start" "$(date +%s%N)"
    first=$(sed -n 's/^first \([0-9]*\) .*/\1/p' "$out")
    # MPICH may not return from MPI_Finalize over TCP; the job ends 10 s later all the same.
    [ $status -eq 0 ] || ! complains "MPI_Finalize does not return\|^\[mpiexec@" || status=0
    if [ $status -ne 0 ] || [ -z "$first" ]; then wrong=$((wrong + 1)); excerpt "$err"; continue; fi
    [ "$first" -le $((1000 * WITHIN)) ] || late=$((late + 1))
    times+="$first"$'\n'
  done
  times=$(sort -n <<<"${times%$'\n'}")
  echo "# | $row | $STARTS | $(sed -n "$(((STARTS + 1) / 2))p" <<<"$times") ms | $(tail -n 1 <<<"$times") ms |"
  all "$row: $STARTS of $STARTS start and end, within $WITHIN s each" '[ '$wrong' -eq 0 ]' '[ '$late' -eq 0 ]'
}
hosts_of() { seq -f "h%g:$2" -s , "$1"; }  # NODES SLOTS
settings="-x TOBI_TRANSPORT=ofi"
for nodes in 2 3 5; do
  per_host="$settings --bind-to none"
  starts "$nodes hosts | mpirun | per worker" mpirun.openmpi $settings --host "$(hosts_of $nodes 2)"
  starts "$nodes hosts | mpirun | per host" mpirun.openmpi $per_host -x TOBI_WORKERS=2 --host "$(hosts_of $nodes 1)"
  starts "$nodes hosts | srun | per worker" env TOBI_TRANSPORT=ofi srun --mpi=pmix -N $nodes --ntasks-per-node=2
  starts "$nodes hosts | srun | per host" env TOBI_TRANSPORT=ofi TOBI_WORKERS=2 srun --mpi=pmix -N $nodes --ntasks-per-node=1
  starts "$nodes hosts | mpiexec | per worker" mpiexec.mpich -genv TOBI_TRANSPORT ofi -genv LD_LIBRARY_PATH "$BIN/../lib" -hosts "$(hosts_of $nodes 2)" -n $((2 * nodes))
  if [ -x "$PRRTE/bin/prterun" ]; then
    prterun="env OPAL_PREFIX=$PRRTE PRTE_PREFIX=$PRRTE PMIX_PREFIX=$PRRTE PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1 $PRRTE/bin/prterun --prefix $PRRTE"
    starts "$nodes hosts | prterun | per worker" $prterun $settings --host "$(hosts_of $nodes 2)" -n $((2 * nodes))
    starts "$nodes hosts | prterun | per host" $prterun $per_host -x TOBI_WORKERS=2 --host "$(hosts_of $nodes 1)" -n $nodes
  fi
  one="mpirun.openmpi $settings -x TOBI_NODES=$nodes --oversubscribe"
  starts "$nodes nodes of one host | mpirun | per worker" $one -n $((2 * nodes))
  starts "$nodes nodes of one host | mpirun | forked" $one --bind-to none -x TOBI_WORKERS=$((2 * nodes)) -n 1
done
[ -x "$PRRTE/bin/prterun" ] || skip "prterun: there is none in $PRRTE"
for p in $loops; do kill "$p"; done
finish
