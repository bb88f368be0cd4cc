#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# soak: three **emulated** machines, for minutes
# Three guests in one network, each with a kernel and a Soft-RoCE device of its own: verbs between kernels, by Open MPI's launcher over
# ssh, by Slurm's and without a launcher, and libfabric's verbs provider. Then links that lose and delay, a link that is cut, workers
# that are stopped and killed, faults by a seed (SEED, which is printed), and power that is lost. All processors are **emulated**: no
# time here says anything about the fabric.
. "$(dirname "$0")/../harness.inc"
if [ -z "${GUESTS:-}" ]; then
  command -v munged slurmctld slurmd srun >/dev/null && export GUEST_SLURM=1
  tests/softroce/guest --hosts 3 --cpus 1 --memory 3G --timeout $((10 * HANG_S)) -- "$(printf %q "$ROOT/tests/hosts/${0##*/}")" 2>"$err" | relay
  status=${PIPESTATUS[0]}
  if [ $status -eq 77 ]; then skip "$(tail -n 1 "$err")"; finish; fi
  [ $status -ne 124 ] || cp "$err" "$folder/late"
  [ $status -le 1 ] || not_ok "${0##*/} in the guests: status $status"
  [ $status -eq 0 ] || { echo x >>"$folder/failures"; tail -n 30 "$err" | sed 's/^/# /'; }
  finish
fi
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# A worker's heap and stack are registered, so every page of them is touched: slow in emulation.
export TOBI_HEAP_SIZE=128M TOBI_STACK_SIZE=1M TOBI_CACHE_SIZE=16M TOBI_VERBS_DEVICE=rxe0 TOBI_TRANSPORT=verbs
settings() { compgen -e | grep ^TOBI_ | sed 's/^/-x /'; }
# shellcheck disable=SC2046 # words
launched() { run mpirun.openmpi --host "$1" -n "$2" $(settings) "${@:3}"; }  # HOSTS PROCESSES COMMAND...
at() { printf 'cd %q && exec env ' "$ROOT"; compgen -e | grep ^TOBI_ | while read -r name; do printf '%s=%q ' "$name" "${!name}"; done; printf '%q ' "$@"; }
on() { ssh "$1" "$(at "${@:2}")"; }  # GUEST [NAME=VALUE...] COMMAND...
right() { all "$1" '[ $status -eq 0 ]' "says \"$2\"" 'says " yes$\|verified: yes"'; }  # WORDS PATTERN

# --- programs ---
for program in "uts --tree T1" "fib --n 25" "cilksort --n 300K" "lcs" "hf --atoms 4"; do
  # shellcheck disable=SC2086 # words
  launched g1,g2,g3 3 "$bench" $program --verify
  right "verbs between kernels, mpirun: $program" .
done
TOBI_WORKERS=2 launched g1,g2,g3 3 --bind-to none -x TOBI_WORKERS "$bench" uts --tree T1 --verify
right "a process per guest, which forks: neighbours by shared memory, the others by verbs" " 6 workers (shm+verbs"
TOBI_TRANSPORT=ofi TOBI_OFI_PROVIDER='verbs;ofi_rxm' launched g1,g2,g3 3 -x TOBI_OFI_PROVIDER "$bench" uts --tree T1 --verify
right "libfabric's verbs provider between kernels" " 3 workers (ofi"
together() {  # COMMAND...: without a launcher; what g1 says
  on g2 TOBI_CONNECT=g1 "$@" >"$folder/second" 2>&1 </dev/null & local second=$!
  on g3 TOBI_CONNECT=g1 "$@" >"$folder/third" 2>&1 </dev/null & local third=$!
  run TOBI_LISTEN=3 "$@"
  wait $second; second=$?
  wait $third; others="$second $?"
}
if [ -n "${GUEST_SLURM:-}" ]; then
  run srun --mpi=pmix -N 3 "$bench" uts --tree T1 --verify
  right "verbs between kernels, srun: a process per guest" " 3 workers (verbs"
  run TOBI_WORKERS=2 srun --mpi=pmix -N 3 "$bench" uts --tree T1 --verify
  right "srun: a process per guest, which forks" " 6 workers (shm+verbs"
  run TOBI_TRANSPORT=ofi TOBI_OFI_PROVIDER='verbs;ofi_rxm' srun --mpi=pmix -N 3 "$bench" fib --n 25 --verify
  right "srun: libfabric's verbs provider" " 3 workers (ofi"
  run srun -K --mpi=pmix -N 3 sh -c "[ \$SLURM_PROCID != 2 ] || { sleep 2; kill -9 \$\$; } & exec '$bench' uts --tree T1 --repeat 50"
  all "srun -K: a worker that is killed ends the job" '[ $status -ne 0 ]' '! complains "^ran for"'
  nothing "and leaves nothing on the guests" "$(for g in g1 g2 g3; do ssh $g pgrep -x tobi-bench; done)"
else
  skip "srun between kernels: needs the packages munge, slurmctld, slurmd, slurm-client"
fi
together "$bench" fib --n 25 --verify
right "verbs between kernels, without a launcher" " 3 workers (verbs"
equal "and the others end as well" "$others" "0 0"
on g2 "$BIN/tobi-conform" --listen >"$folder/second" 2>&1 </dev/null & listener=$!
run "$BIN/tobi-conform" verbs --connect g2
sed -n 's/^pass /ok - between kernels: /p; s/^fail /not ok - between kernels: /p' "$out" | relay
all "between kernels: tobi-conform passes" '[ $status -eq 0 ]' '[ "$(grep -c ^pass "$out")" -ge 30 ]'
wait $listener
on g2 "$BIN/tobi-perf" --listen >"$folder/second" 2>&1 </dev/null & listener=$!
run "$BIN/tobi-perf" get --transport verbs --raw --iters 100 --connect g2
all "tobi-perf get --raw between kernels" '[ $status -eq 0 ]' 'says "on g1"' 'says "on g2"' 'says "^get  *verbs "'
wait $listener

# --- what happens on the way ---
on g3 tc qdisc add dev eth0 root netem delay 1ms loss 1%
launched g1,g2,g3 3 "$bench" uts --tree T1 --verify
right "a link that loses 1 % and delays by 1 ms" " 3 workers (verbs"
on g3 tc qdisc del dev eth0 root
happens() {  # WORDS REPEATS COMMAND: what g3 does to itself once a tree has been counted; who says what is in $said
  local begin=$SECONDS
  : >"$out"
  { until_true "grep -q '^ *[0-9]' '$out'" && ssh g3 "setsid sh -c '$3' >/dev/null 2>&1 </dev/null &"; } &
  together "$bench" uts --tree T1 --repeat "$2" --verify
  wait
  said=$(cat "$err" "$folder/second" "$folder/third" | grep '^tobi: ')
  echo "# $1: g1 ended with $status, the others with $others, $((SECONDS - begin)) s after the start"
}
happens "nothing arrives for 2 s" 8 "tc qdisc add dev eth0 root netem loss 100%; sleep 2; tc qdisc del dev eth0 root"
right "a link that carries nothing for 2 s" " 3 workers (verbs"
nothing "and nobody says a word" "$said"
happens "a worker stops for 3 s" 8 "pkill -STOP -x tobi-bench; sleep 3; pkill -CONT -x tobi-bench"
right "a worker that stands still for 3 s" " 3 workers (verbs"
nothing "and nobody says a word of it" "$said"
# What passes, again and again: which fault, on which guest, for how long and how soon is the seed's.
RANDOM=${SEED:=$(date +%N | sed 's/^0*//')}
echo "# SEED=$SEED"
passes() {  # WHAT WHERE TENTHS
  case $1 in
    0) ssh "$2" "tc qdisc add dev eth0 root netem loss 100%; sleep 0.$3; tc qdisc del dev eth0 root" ;;
    1) ssh "$2" "tc qdisc add dev eth0 root netem delay 2ms 1ms loss 3% reorder 20%; sleep 1.$3; tc qdisc del dev eth0 root" ;;
    2) ssh "$2" "pkill -STOP -x tobi-bench; sleep 1.$3; pkill -CONT -x tobi-bench" ;;
  esac
}
{
  until_true "grep -q '^ *[0-9]' '$out'"
  while [ ! -e "$folder/over" ]; do
    passes $((RANDOM % 3)) g$((RANDOM % 2 + 2)) $((RANDOM % 10))
    sleep 0.$((RANDOM % 10))
  done
} 2>/dev/null &
chaos=$!
: >"$out"
together "$bench" uts --tree T1 --repeat 12 --verify
touch "$folder/over"
wait $chaos
right "faults that pass, one after the other" " 3 workers (verbs"
nothing "and nobody says a word of them" "$(cat "$err" "$folder/second" "$folder/third" | grep '^tobi: ')"
happens "a worker is killed" 50 "pkill -KILL -x tobi-bench"
all "a worker that is killed ends the job, and is named" '[ $status -eq 1 ]' '[ "$others" = "1 255" ]' 'grep -q "g3" <<<"$said"'
happens "link down" 50 "ip link set eth0 down; sleep 2; ip link set eth0 up"
all "a port that is down ends the job, on all" '[ $status -eq 1 ]' '[ "$others" = "1 1" ]' \
  'grep -q "rank [12] on g3: verbs: .*rxe0 port 1, which is down" <<<"$said"' '[ "$(grep -c "; the job ends" <<<"$said")" -eq 1 ]'
happens "power lost" 50 "sleep 1; echo b >/proc/sysrq-trigger"
all "so does a guest whose power is lost" '[ $status -eq 1 ]' '[ "${others% *}" = 1 ]' \
  '[ "$(grep -c "cannot reach rank [12] on g3 .*; the job ends\|rank [12] on g3 .*; the job ends" <<<"$said")" -eq 1 ]'
run pgrep -x tobi-bench
nothing "and leaves nothing on g1" "$(cat "$out")"
nothing "nor on g2" "$(ssh g2 "pgrep -x tobi-bench")"
finish
