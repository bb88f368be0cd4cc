#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lane: computes, 9 s
# The transport of the Tofu interconnects over the emulator of their interface (tests/emulators/utofu), between two nodes of two workers
# each: the contract, and programs whose answers are known, as a Tofu-D and as a Tofu 1, which has no atomics and moves whole words.
# Everything here is emulated. In a soak: the contract of a Tofu 1 and in more modes, and each program 20 times (RUNS).
. "$(dirname "$0")/../harness.inc"
ok() { echo "ok - emulated: $1"; }
emulator=$PWD/$OUT/tests/emulators/libtofucom.so
if [ ! -e "$emulator" ]; then not_ok "there is no $emulator: make tests"; finish; fi
export TOBI_UTOFU_LIBRARY=$emulator TOFU_EMULATOR_MACHINE=utofu.sh.$$
shared=/dev/shm/tofu-emulator-$(id -u)-$TOFU_EMULATOR_MACHINE
at_exit="rm -rf $shared"

ranks=3
[ -z "${SOAK:-}" ] || ranks=4
# conform WORDS LEAST NAME=VALUE...: all rules hold, and so many do at least.
conform() {
  local words=$1 least=$2 passed
  shift 2
  run "$@" "$BIN/tobi-conform" utofu --ranks $ranks $shortly
  passed=$(grep -c '^pass ' "$out")
  if [ $status -eq 0 ] && [ "$passed" -ge "$least" ] && ! grep -q '^fail' "$out"; then
    ok "$words: $passed rules of the contract"
  else
    not_ok "$words: status $status, $passed rules, and not $least" "$(grep '^fail ' "$out")"
  fi
}
# breaks RULE WORDS NAME=VALUE...: that rule fails, or one that it builds upon, where the device does what it tells of.
breaks() {
  local rule=$1 words=$2
  shift 2
  run "$@" "$BIN/tobi-conform" utofu --rule "$rule"
  all "$words" '[ $status -eq 1 ]' "says '^fail \($rule\|flush\): '"
}
conform "a Tofu-D" 34 TOFU_EMULATOR=
breaks chain-order-of-one-word "what order is trusted and not kept is found" TOBI_UTOFU_ORDER=all TOFU_EMULATOR=order=writes
breaks stores-next-to-puts "a device that loses writes next to a CPU's stores is found" TOFU_EMULATOR=latency=50000,lines=lose
if [ -n "${SOAK:-}" ]; then
  conform "a Tofu 1, atomics by messages" 28 TOFU_EMULATOR=tofu1
  conform "a Tofu-D that orders gets" 34 TOBI_UTOFU_ORDER=all TOFU_EMULATOR=order=all,seed=2
  conform "a Tofu-D with short queues" 34 TOFU_EMULATOR=toq=4,mrq=256,seed=3
  conform "a Tofu-D that tells of each put that lands" 34 TOFU_EMULATOR=notices=always,mrq=100000,seed=4
  conform "a Tofu-D whose requests take 20 us" 34 TOFU_EMULATOR=latency=20000,seed=5
  conform "a Tofu-D whose atomics are messages, by a thread" 28 TOFU_EMULATOR=seed=6 TOBI_AMO_SERVER=thread
  conform "a Tofu 1, atomics by a thread" 28 TOFU_EMULATOR=tofu1,seed=7 TOBI_AMO_SERVER=thread
fi

# right RUNS DEVICE ANSWER ARGUMENTS...: the program's verified answer, so many times, each time with another seed.
right() {
  local runs=$1 device=$2 answer=$3 words i
  shift 3
  words="$* over ${device:-a Tofu-D}, $runs times"
  for ((i = 1; i <= runs; i++)); do
    run TOFU_EMULATOR="$device,seed=$i" TOBI_NODES=2 TOBI_TRANSPORT=utofu "$bench" "$@" --workers 4 --verify --json
    if [ $status -ne 0 ] || ! silent || ! says '"transport":"shm+utofu"' || ! says "$answer" || ! says '"verified":true'; then
      not_ok "$words: run $i, with seed=$i"
      return
    fi
  done
  ok "$words"
}
right 1 '' '"result":4130071' uts --tree T1
right 1 tofu1 '"result":832040' fib --n 30
right 1 tofu1 '' cilksort --n 300000 --cutoff 4096
runs=${RUNS:-20}
[ -n "${SOAK:-}" ] && for device in '' tofu1; do
  right $runs "$device" '"result":4130071' uts --tree T1
  right $runs "$device" '"result":832040' fib --n 30
  right $runs "$device" '' cilksort --n 300000 --cutoff 4096
  right $runs "$device" '"result":223' lcs --n 2048 --c 128
  right $runs "$device" '' hf --atoms 8 --tile 4 --iterations 3
done
TOBI_DEQUE=the right 1 "" '"deque":"the".*"result":832040' fib --n 30

# Registered memory is locked there, so heaps begin small.
run TOBI_LOG=info TOBI_NODES=2 TOBI_TRANSPORT=utofu "$bench" cilksort --n 10000000 --workers 2 --warmup 0 --verify
all "heaps grow while tasks run" '[ $status -eq 0 ]' 'says " yes$"' 'complains "rank 1 .*the heap of this worker grows to 64M"'

# What cannot be is one sentence.
refused() {  # WORDS NAME=VALUE...
  local words=$1
  shift
  run TOBI_NODES=2 TOBI_TRANSPORT=utofu "$@" "$bench" fib --n 5 --workers 2
  all "refused: $*" '[ $status -eq 2 ]' '[ "$(wc -l <"$err")" -eq 1 ]' "complains '$words'"
}
refused 'the uTofu library is not here (nowhere.so.*TOBI_UTOFU_LIBRARY says where it is' TOBI_UTOFU_LIBRARY=nowhere.so
refused 'libm.so.6 has no utofu_' TOBI_UTOFU_LIBRARY=libm.so.6
refused 'TOBI_UTOFU_TNI=7 is not one of .* network interfaces: 0, 1, 2, 3, 4, 5' TOBI_UTOFU_TNI=7
refused 'TNI 0 has descriptors of 128 bytes, and there is room for 64' TOFU_EMULATOR=desc=128
refused 'TOBI_UTOFU_ORDER=some is not one of writes, all' TOBI_UTOFU_ORDER=some
run TOBI_LOG=info TOBI_NODES=2 TOBI_TRANSPORT=utofu "$bench" fib --n 5 --workers 2
all "what was opened is said" '[ $status -eq 0 ]' 'complains "utofu: .*, emulated, Tofu 2 and later, at 0,0,0,0,0,0 TNI 0 CQ [01] of 6 TNIs, atomic among"'
run "$BIN/tobi-info" --no-measure
all "tobi-info lists the interfaces, and says that they are emulated" '[ $status -eq 0 ]' 'says "TNI 5 .*emulated, atomics"'

# A job that is killed leaves nothing that hurts the next, and what it leaves goes with the next.
: >"$out"
# shellcheck disable=SC2086 # words
TOBI_NODES=2 TOBI_TRANSPORT=utofu "$bench" $on_and_on --workers 4 >"$out" 2>"$err" &
job=$!
begun "$out"
workers=$(children $job)
kill -9 $job
wait $job 2>/dev/null
rule "a job that was killed ends" gone $workers
run TOBI_NODES=2 TOBI_TRANSPORT=utofu "$bench" fib --n 20 --workers 4 --verify
all "a job that was killed leaves nothing that hurts the next" '[ $status -eq 0 ]' silent '[ ! -e "$shared" ]'
finish
