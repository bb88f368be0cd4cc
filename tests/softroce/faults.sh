#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# soak: cables and timers run on in real time while the emulated processors do not
# The verbs transport when something goes wrong: workers that die or stop, a cable that is cut, memory that is gone, and
# settings that cannot be. However it goes, a job ends, soon, with a message that names the rank, the device or the setting.
#
# A worker that is stopped (SIGSTOP) is served on: its device, not its process, answers for its memory. Only a first
# connection to it waits, for ten seconds at most.
. "${BASH_SOURCE%/*}/inside.inc"
if [ "${1:-}" != --inside ]; then
  mkdir -p build/softroce
  # shellcheck disable=SC2046 # words
  for program in refused come_and_go stranger; do
    if ! "$CXX" -std=c++20 -O1 -I. tests/softroce/$program.cc -o build/softroce/$program "$BIN/../lib/libtobi.a" -lhwloc -lpthread -ldl -lm 2>"$err"; then
      not_ok "tests/softroce/$program.cc can be built"
      finish
    fi
  done
  # Before any guest: a machine without RDMA devices says so.
  if [ ! -d /sys/class/infiniband ] || [ -z "$(ls /sys/class/infiniband)" ]; then
    said=$(TOBI_TRANSPORT=verbs "$BIN/tobi-bench" fib --n 20 --workers 2 2>&1)
    if [ $? -eq 2 ] && [[ $said == *"no RDMA device"* || $said == *"libibverbs"* ]]; then ok "no device is an error that says so"; else
      not_ok "no device is an error that says so" "$said"
    fi
  fi
  run_in_guest
fi
begin=$SECONDS
export TOBI_TRANSPORT=verbs

now_ms() { local t=${EPOCHREALTIME/./}; echo $((t / 1000)); }
start() { "$BIN/tobi-bench" uts "$@" >$log 2>&1 & first=$!; }
child() { awk "{ print \$$1 }" "/proc/$first/task/$first/children"; }
# The job in $first ends within LIMIT ms, and not well; $took says after how long.
ends_badly_within() {
  local from status=0
  from=$(now_ms)
  # shellcheck disable=SC2016 # the inner shell's
  limited tail -f -s 0.05 --pid=$first /dev/null || { kill -KILL $first; took=for-ever; return 1; }
  took=$(($(now_ms) - from))
  wait $first || status=$?
  [ $status -ne 0 ] && [ "$took" -le "$1" ]
}
count() { grep -cE -- "$1" $log; }

# --- workers ---
start --tree T1L --workers 4
until_true '[ "$(children $first | wc -w)" -eq 3 ]'
kill -KILL "$(child 2)"
rule "a killed worker ends the job" ends_badly_within 20000
echo "# after $took ms"
rule "and is named, once" [ "$(count 'rank [0-3] .*was killed by signal 9')" = 1 ]

start --tree T1 --repeat 3 --verify --workers 3
sleep 2.5
stopped=$(child 1)
kill -STOP "$stopped"
sleep 3
kill -CONT "$stopped"
wait $first
rule "a worker that was stopped for three seconds: the job is right" [ "$? $(count ' yes$')" = "0 3" ]

# --- the cable ---
start --tree T1L --workers 4
sleep 3
tests/softroce/cable down
rule "a cable that is cut ends the job within 20 seconds" ends_badly_within 20000
echo "# after $took ms: $(head -n 1 $log)"
rule "and the message names the device" says 'rxe[01]'
run "$BIN/tobi-info"
rule "tobi-info says why neither device can serve" [ "$(count 'rxe[01] .*port 1 is down')" = 2 ]
run "$BIN/tobi-bench" fib --n 20 --workers 2
rule "a port that is down is an error that says so" [ "$? $(count 'rxe0: port 1 is down')" = "2 1" ]
tests/softroce/cable up

start --tree T1 --repeat 3 --verify --workers 2
sleep 2.5
tests/softroce/cable lose
sleep 1
tests/softroce/cable up
wait $first
rule "a second of lost packets: the job is right" [ "$? $(count ' yes$')" = "0 3" ]

start --tree T1L --workers 2
sleep 3
tests/softroce/cable lose
rule "packets that are lost for good end the job within 35 seconds" ends_badly_within 35000
echo "# after $took ms: $(head -n 1 $log)"
rule "and the message names the device and the peer" says 'rank [01] on [^ ]* does not respond on rxe[01]'
tests/softroce/cable up

# Whether something was on its way at that moment decides whether the job ends or goes on.
start --tree T1 --repeat 2 --verify --workers 2
sleep 2
tests/softroce/cable down
tests/softroce/cable up
if ends_badly_within 20000; then echo "# ended after $took ms: $(head -n 1 $log)"; else echo "# went on, for $took ms"; fi
rule "a cable that is cut for a moment: the job does not hang" [ "$took" != for-ever ]
rule "it says which device failed" says 'rxe[01]'
rule "and that it cannot go on, or is right" says ' yes$|the job ends|does not respond'
run "$BIN/tobi-bench" uts --tree T1 --verify --workers 2
rule "the next job works" says ' yes$'

# --- peers that come and go, and memory that is gone ---
export TOBI_VERBS_CONNECTIONS=1
few_queue_pairs() {  # one for datagrams, one to itself, one from each of the others, and one on its way out
  run build/softroce/come_and_go || return 1
  grep '^at most' $log | sed 's/^/# /'
  local most; most=$(sed -n 's/^at most \([0-9]*\) .*/\1/p' $log)
  [ "${most:-0}" -ge 2 ] && [ "$most" -le 6 ]
}
rule "120 connections that come and go leave nothing at a worker that computes" few_queue_pairs
run build/softroce/refused
rule "deregistered memory is a lost peer; the others are reached" [ "$? $(count 'all as it should be')" = "0 1" ]
rule "and the message says what was refused" says 'rank 2 on [^ ]* refused an operation of rxe[01]'
unset TOBI_VERBS_CONNECTIONS

# --- strangers ---
TOBI_LOG=info run build/softroce/stranger
rule "datagrams of a stranger, and old ones: the job is right" [ "$? $(count 'all as it should be')" = "0 1" ]
rule "a wrong secret, rank or length is dropped and counted" says 'rank 0 .* 8 requests to connect were not this job.s'
rule "what belongs to an earlier connection is dropped and counted" says 'rank 0 .* 2 requests to connect came too late'

# --- settings ---
fails() {  # WORDS PATTERN: with status 2, one sentence, which has PATTERN
  local status=0
  run "$BIN/tobi-bench" fib --n 20 --workers 2 || status=$?
  rule "$1" [ "$status $(count "$2") $(count .)" = "2 1 1" ]
}
TOBI_VERBS_DEVICE=nonsense fails "an unknown device: the good ones are listed" 'no RDMA device "nonsense".*rxe0, rxe1'
TOBI_VERBS_PORT=9 fails "a port that there is not" 'TOBI_VERBS_PORT=9 is not one of'
TOBI_VERBS_GID_INDEX=200 fails "an address that there is not" 'GID 200 is empty'
run "$BIN/tobi-info"
rule "tobi-info lists both devices" [ "$(count 'rxe[01] .*port 1, GID')" = 2 ]
chmod a+rw /dev/infiniband/*
run setpriv --reuid 65534 --regid 65534 --clear-groups bash -c "ulimit -l 8192; '$BIN/tobi-bench' fib --n 20 --workers 2"
rule "too little memory may be locked: the limit, the need and the command" \
  [ "$? $(($(count 'limit of locked memory is 8M, and this worker needs [0-9]*[MK] .*ulimit -l unlimited')))" = "1 1" ]
# A heap of which the user has said nothing begins with 32M, and grows where that may be locked.
sort="$BIN/tobi-bench cilksort --n 8000000 --workers 2 --verify --warmup 0"
# shellcheck disable=SC2086 # words
(unset TOBI_HEAP_SIZE && TOBI_LOG=info run $sort)
rule "a heap grows while tasks run: the sort is right, and each worker says so" \
  [ "$(count ' yes$') $(count 'rank [01] .*the heap of this worker grows to 64M')" = "1 2" ]
(unset TOBI_HEAP_SIZE && run setpriv --reuid 65534 --regid 65534 --clear-groups bash -c "ulimit -l 49152; $sort")
rule "too little may be locked for that: the limit, the command, and what has no room" \
  [ "$(count 'stays at 32M: verbs does not register [0-9]*M more .*the limit of locked memory is 48M.*ulimit -l unlimited') $(count 'out of global memory: ')" = "2 1" ]
echo "# $((SECONDS - begin)) s inside"
finish
