#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# soak: three hosts that are namespaces, which only root can make; as many faults as there is time for
# FAULTS random faults (20; make soak: 200) of jobs on three hosts: which launcher, which program, when, to whom and what is by
# SEED, which is printed. What passes (a link down for a moment, a process stopped for one) is waited for, and the result is right. What
# does not ends the job on all hosts, says why at most once, and leaves nothing. Neither hangs.
. "$(dirname "$0")/../harness.inc"
. tests/hosts/hosts.inc
. tests/hosts/losses.inc
: "${FAULTS:=20}" "${SEED:=$$}"
export FAULTS SEED TOBI_PEER_TIMEOUT=5
inside 3
clean
echo "seed $SEED"
RANDOM=$SEED
one_of() { local all=("$@"); echo "${all[RANDOM % $#]}"; }
sysctl -qw net.ipv4.tcp_retries2=5  # mpirun's own daemons notice by these
mpirun="mpirun.openmpi --mca oob_tcp_keepalive_time 10 --mca oob_tcp_keepalive_intvl 1 --mca oob_tcp_keepalive_probes 3 \
-x TOBI_PEER_TIMEOUT --host h1:2,h2:2,h3:2"
per_worker="srun --mpi=pmix -N 3 --ntasks-per-node=2"
per_host="env TOBI_WORKERS=2 srun -K --mpi=pmix -N 3 --ntasks-per-node=1"
endless=("uts --tree T1XL" "fib --n 47" "cilksort --n 1000000 --repeat 1000" "hf --atoms 24 --tile 6 --iterations 1000")
ending=("uts --tree T1L --verify" "fib --n 41 --verify" "cilksort --n 4000000 --repeat 3 --verify" "recpfor --n 64 --m 20 --verify")
moment() { sleep "$((RANDOM % 3)).$((RANDOM % 10))"; }
wrong=
is_wrong() { wrong+="fault $i of seed $SEED: $words: $1; $(said | head -n 2 | tr '\n' ' ')"$'\n'; }

passes() {  # what is lost comes back
  local end=$((SECONDS + 240))
  while kill -0 $job 2>/dev/null && [ $SECONDS -lt $end ]; do sleep 0.1; done
  kill -0 $job 2>/dev/null && is_wrong "it hangs" && kill -KILL $job
  wait $job
  status=$?
  [ $status -eq 0 ] && says yes && ! complains '^tobi: ' || is_wrong "status $status"
}
lasts() {  # what is lost is lost
  await_end 60
  [ -n "$gone_ms" ] && [ -n "$ended_ms" ] || is_wrong "it is still there after 60 s"
  [ $status -ne 0 ] || is_wrong "the status is 0"
  [ "$(said | wc -l)" -le 1 ] || is_wrong "more than one message"
  [ -z "$gone_ms" ] || [ "$gone_ms" -le "${longest[$kind]:-0}" ] || longest[$kind]=$gone_ms
}

declare -A longest times
for ((i = 1; i <= FAULTS; ++i)); do
  kind=$(one_of "kill a worker" "kill a host" "link down" "link down for a moment" "stop a worker for a moment")
  launcher=$(one_of "$mpirun" "$per_worker" "$per_host")
  case $kind in *moment) program=$(one_of "${ending[@]}") ;; *) program=$(one_of "${endless[@]}") ;; esac
  host=h$((RANDOM % 3 + 1))
  words="$kind, $host, ${launcher##*/}, $program"
  long="$bench $program"
  launch $launcher
  moment
  times[$kind]=$((${times[$kind]:-0} + 1))
  victims=($(ranks $host))
  victim=${victims[RANDOM % 2]:-}
  case $kind in
    "kill a worker") kill -KILL $victim && lasts ;;
    "kill a host") kill -KILL "${victims[@]}" && lasts ;;
    "link down") ip -n $host link set eth0 down; lasts; ip -n $host link set eth0 up ;;
    "link down for a moment") ip -n $host link set eth0 down; sleep 1.$((RANDOM % 10)); ip -n $host link set eth0 up; passes ;;
    *) [ -z "$victim" ] || kill -STOP $victim; sleep "$((RANDOM % 7)).5"; [ -z "$victim" ] || kill -CONT $victim; passes ;;
  esac
  settled 20 || is_wrong "left: $left"
done
for kind in "${!times[@]}"; do echo "# $kind: ${times[$kind]}${longest[$kind]:+, gone after ${longest[$kind]} ms at most}"; done
nothing "$FAULTS random faults: none hangs, what passes is waited for, what does not ends the job everywhere (seed $SEED)" "$wrong"
finish
