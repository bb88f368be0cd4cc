#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# soak: hosts that are namespaces, which only root can make; compares times with a bound
# Eight hosts of eight workers share the machine's cores, so work that sleeps shows how a job scales: each program takes at least 0.9
# of an ideal machine's speed, in the median of RUNS (3; in a soak 5). And a job starts about as fast as an empty program of
# MPI: from srun, on three of the hosts, to its first task within 1.5 times the whole of the other, in the median of STARTS (5; in a
# soak 11). Both sides in turn. A row of the table in tests/hosts/README.md is printed for each.
. "$(dirname "$0")/../harness.inc"
. tests/hosts/hosts.inc
: "${RUNS:=${SOAK:+5}}" "${RUNS:=3}" "${STARTS:=${SOAK:+11}}" "${STARTS:=5}"
export RUNS STARTS
inside 8
median() { sort -g | awk '{ all[NR] = $1 } END { print all[int((NR + 1) / 2)] }'; }
# scales NAME FILTER WORDS...: FILTER makes of a line of --json what is to be at least 0.9.
scales() {
  local name=$1 filter=$2 all
  shift 2
  local names; names=$(seq -f h%g -s , 8)
  run mpirun.openmpi --bind-to none --host "$names" -x TOBI_TRANSPORT=ofi -x TOBI_WORKERS=8 -x TOBI_HEAP_SIZE=64M "$BIN/tobi-bench" "$@" --json
  all=$(jq -r "$filter | . * 1000 | round / 1000" "$out" | sort -g)
  echo "# | \`tobi-bench $*\` | $(median <<<"$all") | $(head -n 1 <<<"$all") |"
  all "$name: at least 0.9 of ideal" '[ $status -eq 0 ]' "[ -n '$all' ]" "jq -en '$(median <<<"$all") >= 0.9' >/dev/null"
}
echo "# | program | median | worst |"
for shape in tree parallel_for; do
  scales "a $shape of leaves" '(.ideal / .median, .ideal / .worst, .ideal / .median)' ramp --sleep --leaf 500ms --leaves 1280 --shape $shape --repeat "$RUNS"
done
scales "loops" .ideal_efficiency pfor --sleep --n 640 --k 2 --m 500000 --repeat "$RUNS"
scales "loops of a recursion" .ideal_efficiency recpfor --sleep --n 256 --k 1 --m 500000 --repeat "$RUNS"

start=$BIN/../tests/perf/start
echo 'int main(int argc, char** argv) { MPI_Init(&argc, &argv); MPI_Finalize(); }' >"$folder/empty.c"
run mpicc.openmpi -include mpi.h "$folder/empty.c" -o "$folder/empty"; verdict $status "an empty program of MPI"
echo "# | processes | first task | the whole of an empty program of MPI |"
# starts NAME SRUN'S-OPTIONS SETTING...
starts() {
  local name=$1 options=$2 ours= theirs= n began wrong=0
  shift 2
  for n in $(seq "$STARTS"); do
    run env TOBI_TRANSPORT=ofi "$@" srun --mpi=pmix -N 3 $options "$start" "$(date +%s%N)"
    [ $status -eq 0 ] || wrong=$((wrong + 1))
    ours+=$(sed -n 's/^first \([0-9]*\) .*/\1/p' "$out")$'\n'
    began=$(milliseconds)
    run srun --mpi=pmix -N 3 $options "$folder/empty"
    theirs+=$(($(milliseconds) - began))$'\n'
    [ $status -eq 0 ] || wrong=$((wrong + 1))
  done
  ours=$(median <<<"${ours%$'\n'}") theirs=$(median <<<"${theirs%$'\n'}")
  echo "# | $name | $ours ms | $theirs ms |"
  all "three hosts, $name: the first task within 1.5 times an empty program of MPI" "[ $wrong -eq 0 ]" "[ $((10 * ours)) -le $((15 * theirs)) ]"
}
starts "a process per worker" --ntasks-per-node=2
starts "a process per host" --ntasks-per-node=1 TOBI_WORKERS=2
finish
