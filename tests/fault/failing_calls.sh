#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lane: sleeps, 33 s
# Calls of the system that fail, each in turn: the first, the second, and so on, and from one on all. A job then goes on and is
# right, or it ends with a sentence; it is not killed by a signal, does not hang, and leaves no process behind, which
# tools/make/check sees. FAIL_UP_TO (3) says how many calls of each.
. "$(dirname "$0")/../harness.inc"
run "$CXX" -std=c++20 -O1 -shared -fPIC -o "$folder/failing.so" tests/fault/failing_calls.cc -ldl || { not_ok "tests/fault/failing_calls.cc can be built"; finish; }

# once TRANSPORT CALL AT [ON]: 0 if the job did what it may; else $why says what it did.
once() {
  status=0
  limited env TOBI_TRANSPORT="$1" TOBI_HEAP_SIZE=64M FAIL_CALL="$2" FAIL_AT="$3" ${4:+FAIL_ON="$4"} \
    LD_PRELOAD="$folder/failing.so" "$BIN/tobi-bench" fib --n 18 --workers 3 --verify >"$out" 2>"$err" </dev/null || status=$?
  why="status $status: $(tail -n 2 "$err" | tr '\n' ' ')"
  if [ $status -eq 0 ]; then grep -q ' yes$' "$out"; return; fi
  [ $status -lt 124 ] && grep -qE '^(tobi|tobi-bench): .*\.$' "$err"
}
for transport in shm ofi; do
  for call in mmap mprotect madvise memfd_create ftruncate fallocate pipe2 eventfd fork open readlink close pthread_create sched_setaffinity getrandom 434 438 324; do
    wrong=
    for at in $(seq "${FAIL_UP_TO:-3}"); do
      once $transport $call "$at" || wrong+="; call $at: $why"
    done
    for at in 1 3; do
      once $transport $call $at all || wrong+="; from call $at on: $why"
    done
    nothing "$transport: $call that fails" "$(sed 's/; call/\n; call/g' <<<"${wrong#; }")"
  done
done
# Without a second mapping of shared memory (mremap, 25), blocks of neighbours are cached: as many bytes, in other ways.
case $(uname -m) in
  x86_64)
    run TOBI_TRANSPORT=shm FAIL_CALL=25 FAIL_AT=1 FAIL_ON=all TOBI_LOG=info LD_PRELOAD="$folder/failing.so" \
      "$BIN/tobi-bench" cilksort --n 300000 --workers 3 --verify
    all "shm: a second mapping that is refused" '[ $status -eq 0 ]' 'says " yes$"' 'grep -q "no second mapping of shared memory" "$err"'
    ;;
esac
# What the runtime's containers are made of. One count for all: a single worker meets it.
new_fails() {  # TRANSPORT NODES "PROGRAM ITS-ARGUMENTS" WHAT-IT-SAYS AT...
  local transport=$1 nodes=$2 program=$3 says=$4 at status
  wrong=
  shift 4
  for at in "$@"; do
    status=0
    # shellcheck disable=SC2086 # a program and its arguments
    limited env TOBI_TRANSPORT="$transport" TOBI_NODES="$nodes" TOBI_WORKERS=3 TOBI_HEAP_SIZE=64M TOBI_CACHE_SIZE=4M FAIL_CALL=new \
      FAIL_AT="$at" FAIL_COUNT=job LD_PRELOAD="$folder/failing.so" "$BIN/../examples/"$program >"$out" 2>"$err" </dev/null || status=$?
    if [ $status -eq 0 ]; then grep -q "$says" "$out" && continue; fi
    [ $status -lt 124 ] && grep -qE '^tobi: .*\.$' "$err" || wrong+="; call $at: status $status: $(tail -n 2 "$err" | tr '\n' ' ')"
  done
  nothing "$transport, $program: operator new that fails" "$(sed 's/; call/\n; call/g' <<<"${wrong#; }")"
}
step=$((160 / ${FAIL_UP_TO:-3}))
# shellcheck disable=SC2046 # numbers
{
  # The set-up, in a program that allocates nothing itself; then a collection, which is made and processed, and the cache.
  new_fails shm 1 'fib 25' 75025 $(seq 1 $step 430)
  new_fails ofi 3 'fib 25' 75025 451 460 $(seq 11 $((3 * step)) 620)
  new_fails shm 1 collection '148933 primes' $(seq 420 $((step / 2)) 600)
  new_fails ofi 3 collection '148933 primes' $(seq 600 $step 1200)
  new_fails ofi 3 stencil 'mean temperature after 200 steps: 1.631835' $(seq 600 $((7 * step)) 5000)
}
finish
