#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lane: sleeps, 20 s
# Calls of libfabric that fail, as failing_calls.sh has the system's: in all workers at once, and in one of them. A job then goes on
# and is right, or it ends with a sentence; it is not killed by a signal and does not hang. FAIL_UP_TO (1) says how many calls of
# each.
. "$(dirname "$0")/../harness.inc"
if ! usable ofi; then
  skip "failing calls of libfabric: needs the packages libfabric-dev, at build time, and libfabric1"
  finish
fi
run "$CXX" -std=c++20 -O2 -DHAVE_OFI -shared -fPIC -o "$folder/failing.so" tests/fault/failing_fabric.cc -ldl ||
  { not_ok "tests/fault/failing_fabric.cc can be built"; finish; }
# once [NAME=VALUE...]: 0 if the job did what it may; else $why says what it did.
once() {
  local status=0
  limited env TOBI_TRANSPORT=ofi TOBI_NODES=3 TOBI_HEAP_SIZE=64M "$@" LD_PRELOAD="$folder/failing.so" \
    "$BIN/tobi-bench" fib --n 22 --workers 3 --verify >"$out" 2>"$err" </dev/null || status=$?
  why="status $status: $(tail -n 2 "$err" | tr '\n' ' ')"
  ended=$status
  if [ $status -eq 0 ]; then grep -q ' yes$' "$out"; return; fi
  [ $status -lt 124 ] && grep -qE '^(tobi|tobi-bench): .*\.$' "$err" && [ "$(wc -l <"$err")" -le 8 ]
}
nothing_wrong() { nothing "$1" "$(sed 's/; call/\n; call/g' <<<"${wrong#; }")"; }  # WORDS
# What is preloaded is in the way: without that all of this would hold.
once FAIL_CALL=fi_endpoint FAIL_AT=1
all "a call fails where it is to fail" '[ $ended -ne 0 ]' 'complains "making the endpoint failed"'
for call in fi_getinfo fi_fabric fi_domain fi_av_open fi_cq_open fi_endpoint fi_ep_bind fi_enable fi_getname fi_av_insert fi_mr_reg fi_readmsg fi_writemsg fi_fetch_atomicmsg fi_compare_atomicmsg fi_cq_read; do
  wrong=
  for at in $(seq "${FAIL_UP_TO:-1}"); do
    once FAIL_CALL=$call FAIL_AT="$at" || wrong+="; call $at: $why"
    once FAIL_CALL=$call FAIL_AT=$((at + 1)) FAIL_COUNT=job || wrong+="; call $((at + 1)) of all: $why"
  done
  [[ ${FAIL_UP_TO:-1} -eq 1 && $call != fi_cq_read ]] || once FAIL_CALL=$call FAIL_AT=2 FAIL_ON=all || wrong+="; call 2 and all behind it: $why"
  nothing_wrong "$call that fails"
done
for call in fi_readmsg fi_writemsg fi_compare_atomicmsg fi_cq_read; do
  wrong=
  once FAIL_CALL=$call FAIL_RATE=90 FAIL_WITH=11 || wrong="; call: $why"
  [ $ended -eq 0 ] || wrong+="; call: it has ended"
  nothing_wrong "$call that is to come again nine times out of ten: the job goes on and is right"
done
finish
