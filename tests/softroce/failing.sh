#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# soak: minutes of emulation; the same calls fail in unit/verbs_faults_test
# Calls of libibverbs that fail, as on a device that has no more of something: in each worker, and in one of them. A job then goes on
# and is right, or it ends with a sentence; it is not killed by a signal and does not hang. See tests/fault/failing_fabric.sh. With
# FAIL_UP_TO (1) above 1 so many calls of more functions, 3 at most.
. "${BASH_SOURCE%/*}/inside.inc"
up_to=${FAIL_UP_TO:-1}
[ "$up_to" -le 3 ] || up_to=3  # a job takes some eight seconds there
if [ "${1:-}" != --inside ]; then
  mkdir -p build/softroce
  if ! "$CXX" -std=c++20 -O2 -DHAVE_VERBS -shared -fPIC -o build/softroce/failing.so tests/fault/failing_fabric.cc -ldl 2>"$err"; then
    not_ok "tests/fault/failing_fabric.cc can be built"
    finish
  fi
  run_in_guest
fi
begin=$SECONDS
export TOBI_TRANSPORT=verbs
job=("$BIN/tobi-bench" fib --n 20 --workers 3 --verify)
# once [NAME=VALUE...]: 0 if the job did what it may; else $why says what it did.
once() {
  local status=0
  limited env "$@" LD_PRELOAD=build/softroce/failing.so "${job[@]}" >$log 2>$log.err </dev/null || status=$?
  why="status $status: $(tail -n 2 $log.err | tr '\n' ' ')"
  ended=$status
  if [ $status -eq 0 ]; then grep -q ' yes$' $log; return; fi
  [ $status -lt 124 ] && grep -qE '^(tobi|tobi-[a-z]+): .*\.$' $log.err
}
nothing_wrong() { nothing "$1" "$(sed 's/; call/\n; call/g' <<<"${wrong#; }")"; }  # WORDS
once FAIL_CALL=ibv_alloc_pd FAIL_AT=1
wrong=; [ $ended -ne 0 ] && grep -q 'allocating a protection domain failed' $log.err || wrong="; call 1: $why"
nothing_wrong "a call fails where it is to fail"
calls="create_cq create_qp reg_mr modify_qp post_recv"
[ $up_to -eq 1 ] || calls="get_device_list open_device query_device query_gid create_comp_channel create_srq create_ah post_send poll_cq $calls"
for call in $calls; do
  wrong=
  for at in $(seq $up_to); do
    [ $up_to -eq 1 ] || once FAIL_CALL=ibv_$call FAIL_AT="$at" || wrong+="; call $at: $why"
    once FAIL_CALL=ibv_$call FAIL_AT=$((5 * at)) FAIL_COUNT=job || wrong+="; call $((5 * at)) of all: $why"
  done
  nothing_wrong "ibv_$call that fails in one worker"
done
# ends CALL WORDS [AT [NAME=VALUE]]: all calls from the fourth on, or that one, fail, and the job says why.
ends() {
  wrong=
  local at=${3:-4}
  once FAIL_CALL=ibv_$1 FAIL_AT="$at" FAIL_ON=all ${4:+"$4"} || wrong="; call $at and all behind it: $why"
  [ $ended -ne 0 ] && grep -q "$2" $log.err || wrong+="; call $at and all behind it: $why"
  nothing_wrong "ibv_$1 that fails from then on: the job says why it ends"
}
ends poll_cq 'completion queue cannot be read'
[ $up_to -eq 1 ] || ends create_ah 'no way to rank'
# A full queue is ENOMEM. How many calls fork-join makes is the thieves' affair; a thousand READs are a thousand calls at least.
fib=("${job[@]}") job=("$BIN/tobi-perf" get --size 8 -n 1000 --transport verbs)
ends post_send 'is empty and has been refusing operations' 500 FAIL_WITH=12
job=("${fib[@]}")
once FAIL_CALL=ibv_post_send FAIL_RATE=50 FAIL_WITH=12
wrong=; [ $ended -eq 0 ] || wrong="; call: $why"
nothing_wrong "a send queue that is full every other time: the job goes on and is right"
echo "# $((SECONDS - begin)) s inside"
finish
