#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# soak: 256 workers that poll hold up other tests
# Many more workers than cores: 256 on two cores start, are right and end, with a warning that says what to expect.
. "$(dirname "$0")/../harness.inc"

if [ "$(nproc)" -gt 3 ]; then
  expected='silent'
else
  expected='[ "$(wc -l < "$err")" -eq 1 ] && complains "^tobi: warning: 256 workers share [0-9]* cores*: they run in turns; "'
fi
right() {  # answer, arguments
  answer=$1
  shift
  run TOBI_TRANSPORT=shm "$bench" "$@" --workers 256 --repeat 1 --warmup 0 --verify --json
  all "$* is $answer on 256 workers" '[ $status -eq 0 ]' 'says "\"result\":$answer,\"verified\":true"' 'says "\"workers\":256,"' \
    "$expected"
}
right 75025 fib --n 25
right 4130071 uts --tree T1
# More than a poll looks at: soft atomics' requests are announced, by notices of the provider.
if [ "$(nproc)" -le 3 ]; then
  expected='complains "^tobi: warning: 136 workers share [0-9]* cores*: they run in turns; "'
fi
run TOBI_TRANSPORT=ofi TOBI_OFI_PROVIDER='tcp;ofi_rxm' TOBI_AMO_SERVER=inline TOBI_NODES=17 TOBI_HEAP_SIZE=32M "$bench" fib --n 25 \
  --workers 136 --repeat 1 --warmup 0 --verify --json
if [ "$status" -eq 2 ] && [ ! -s "$out" ]; then
  skip "136 workers over libfabric's tcp: $(tail -n 1 "$err")"
else
  all "fib is 75025 on 136 workers whose atomics are announced messages" '[ $status -eq 0 ]' \
    'says "\"result\":75025,\"verified\":true"' "$expected"
fi
finish
