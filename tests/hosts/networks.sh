#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# soak: three hosts that are namespaces, which only root can make; real timeouts of networks
# A host is lost to the others though nobody has killed a process there: its link is down, for two seconds and for good, its processes
# are stopped, its power is gone. What passes is waited for, and the result is right. What does not ends the job on all hosts, also where
# the launcher tells nobody (srun without -K). A host may be silent for 5 s here. In a soak: each host, and the sort.
. "$(dirname "$0")/../harness.inc"
. tests/hosts/hosts.inc
. tests/hosts/losses.inc
inside 5
clean
export TOBI_PEER_TIMEOUT=5
srun="srun --mpi=pmix --ntasks-per-node=2"
# mpirun notices by itself, later than the job: by keepalive where it is silent, and by the kernel's retries where it has sent something.
keepalive="--mca oob_tcp_keepalive_time 10 --mca oob_tcp_keepalive_intvl 1 --mca oob_tcp_keepalive_probes 3"
sysctl -qw net.ipv4.tcp_retries2=5
mpirun="mpirun.openmpi $keepalive -x TOBI_PEER_TIMEOUT"
on_hosts() {  # LAUNCHER HOSTS: two workers on each
  case $1 in srun*) echo "$1 -N $(wc -w <<<"$2") -w $(tr ' ' , <<<"$2")" ;; *) echo "$1 --host $(sed 's/ \|$/:2,/g; s/,$//' <<<"$2")" ;; esac
}
cut_link() { ip -n "$1" link set eth0 down; }
mend_link() { ip -n "$1" link set eth0 up; }
lose_power() { cut_link "$1"; kill -KILL "$(init "$1")"; }  # its last words do not get out

# --- what passes ---
goes_on() {  # WORDS
  local end=$((SECONDS + 180))
  while kill -0 $job 2>/dev/null && [ $SECONDS -lt $end ]; do sleep 0.1; done
  kill -KILL $job 2>/dev/null
  wait $job
  status=$?
  all "$1: the job goes on, and its result is right" '[ $status -eq 0 ]' 'says yes' '! complains "^tobi: "'
}
for launcher in "$srun" "$mpirun"; do
  name=${launcher%%[ .]*}
  for program in "uts --tree T1L --verify" ${SOAK:+"cilksort --n 10000000 --verify"}; do
    long="$bench $program"
    launch $(on_hosts "$launcher" "h1 h2 h3")
    cut_link h2
    sleep 2
    mend_link h2
    goes_on "$name: ${program%% *}, link of h2 down for 2 s"
  done
  long="$bench uts --tree T1L --verify --repeat 2"
  for n in 2 ${SOAK:+0 3}; do
    launch $(on_hosts "$launcher" "h1 h2 h3")
    for _ in $(seq 50); do
      stopped=$(rank "$n")
      [ -z "$stopped" ] || break
      sleep 0.1
    done
    if kill -STOP "$stopped"; then sleep 8; else not_ok "$name: rank $n is there to be stopped"; fi
    kill -CONT "$stopped"
    goes_on "$name: rank $n stopped for 8 s, longer than a host may be silent"
  done
done

# --- what does not ---
lost() { echo "^tobi: host $1 (ranks [0-9]* to [0-9]*) $2"; }
long="$bench uts --tree T1XL"
for launcher in "$srun" "$mpirun"; do
  name=${launcher%%[ .]*}
  if [ "$name" = srun ]; then
    launch $(on_hosts "$launcher" "h1 h2 h3")
    kill -KILL $(ranks h2)
    ends "SIGKILL of all processes of h2" "srun without -K" 20 "$(lost h2 "is lost: its processes have ended")\|: cannot reach rank [23] on h2 \|^srun: error: h2: task"
  fi
  for host in h2 ${SOAK:+h1 h3}; do
    launch $(on_hosts "$launcher" "h1 h2 h3")
    cut_link $host
    ends "link of $host down for good" "$name" 40 "$(lost $host "has been silent for 5 s")"
    mend_link $host
    settled 20
  done
done
for host in h5 h4; do
  if [ $host = h5 ]; then launcher=$srun; else launcher=$mpirun; fi
  launch $(on_hosts "$launcher" "h1 h2 $host")
  lose_power $host
  ends "power of $host" "${launcher%%[ .]*}" 40 "$(lost $host "has been silent for 5 s")"
done
finish
