#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lane: computes, 9 s
# Over an emulated provider of libfabric that is strict about the rules of its manual (tests/emulators/fabric), with the documented
# attributes of real ones: tobi-conform, and a tree on two nodes. A broken rule ends the process with a sentence. In a soak: every
# profile, and more programs.
. "$(dirname "$0")/../harness.inc"
if ! usable ofi; then
  skip "ofi over the strict provider: needs the packages libfabric-dev, at build time, and libfabric1"
  finish
fi
provider=$(cd "$OUT/tests/fabric" 2>/dev/null && pwd)
[ -e "$provider/libstrict-fi.so" ] || { not_ok "there is no $OUT/tests/fabric/libstrict-fi.so: make tests"; finish; }
export FI_PROVIDER_PATH=$provider TOBI_OFI_PROVIDER=strict
profiles="cxi psm3 worst${SOAK:+ plain cxi-early efa efa-direct opx rxm}"
right() { [ $status -eq 0 ] && says ' yes$' && ! complains 'strict fabric'; }

# A user sees what it is, and an application that does not do what is asked is not served.
run FI_STRICT_PROFILE=cxi TOBI_TRANSPORT=ofi TOBI_LOG=info TOBI_NODES=2 "$bench" fib --n 20 --workers 2 --verify
all "what runs over it says that it is emulated" right 'complains "provider strict, domain emulated-cxi"'
run FI_STRICT_MR_MODE=raw TOBI_TRANSPORT=ofi "$bench" fib --n 20 --workers 2
all "a provider that asks for raw keys is refused in a sentence" '[ $status -eq 2 ]' 'complains "no provider \"strict\" that can serve"'
# The program is caught, and not only the tests' own uses: a rule is made that it breaks.
run FI_STRICT_PROFILE=cxi FI_STRICT_MR_CNT=0 TOBI_TRANSPORT=ofi TOBI_NODES=2 "$bench" fib --n 20 --workers 2
all "a provider without room for a region ends the job with a sentence" '[ $status -ne 0 ]' '[ $status -lt 124 ]' 'complains "^tobi: "'
# What the owner of a word rests on is tried where the provider does not promise it.
run FI_STRICT_FETCH_DELIVERY=0 TOBI_LOG=info TOBI_TRANSPORT=ofi TOBI_NODES=2 "$bench" uts --tree T1 --workers 4 --verify
all "a provider that refuses delivery completion of atomics is told, tried and used (emulated)" right \
  'complains "refuses FI_DELIVERY_COMPLETE for atomics that fetch"'
run FI_STRICT_FETCH_DELIVERY=0 FI_STRICT_FETCH_LATE=1 TOBI_TRANSPORT=ofi TOBI_NODES=2 "$bench" uts --tree T1 --workers 4 --verify
all "atomics that are complete before they have stored end the job with a sentence (emulated)" '[ $status -eq 1 ]' \
  'complains "strict says that an atomic is complete before .*; set TOBI_AMO_SERVER=thread"'
run FI_STRICT_FETCH_DELIVERY=0 FI_STRICT_FETCH_LATE=1 TOBI_AMO_SERVER=thread TOBI_TRANSPORT=ofi TOBI_NODES=2 \
  "$bench" uts --tree T1 --workers 4 --verify
rule "and without the provider's atomics it is right (emulated)" right

# A provider that needs memory to be there when it is registered, by its pages.
run FI_STRICT_PROFILE=worst TOBI_LOG=info TOBI_TRANSPORT=ofi TOBI_NODES=2 "$bench" cilksort --n 10000000 --workers 2 --warmup 0 --verify
all "heaps grow while tasks run (emulated, worst)" right 'complains "rank 1 .*the heap of this worker grows to 64M"'

for profile in $profiles; do
  run FI_STRICT_PROFILE="$profile" TOBI_TRANSPORT=ofi TOBI_NODES=2 "$bench" uts --tree T1 --workers 4 --verify
  rule "uts T1 on two nodes (emulated, $profile)" right
done
for profile in $(in_soak && echo $profiles || echo worst); do
  run FI_STRICT_PROFILE="$profile" "$BIN/tobi-conform" ofi --ranks 3 $shortly
  sed -n "s/^fail /not ok - tobi-conform (emulated, $profile): /p" "$out" | relay
  passed=$(grep -c '^pass ' "$out")
  all "tobi-conform ofi: $passed rules hold (emulated, $profile)" '[ $status -eq 0 ]' '[ "$passed" -ge 28 ]' 'says "^[a-z]* peer-death"' \
    '! complains "strict fabric"'
done
if [ -n "${SOAK:-}" ]; then
  for profile in $profiles; do
    for program in 'fib --n 27' 'cilksort --n 300000' 'lcs --n 2048' 'uts-mem -t 1 -a 3 -d 4 -b 4 -r 19'; do
      wrong=
      for workers in 2 6; do
        # shellcheck disable=SC2086
        run FI_STRICT_PROFILE="$profile" TOBI_TRANSPORT=ofi TOBI_NODES=2 "$bench" $program --workers $workers --verify
        right || wrong+="$workers workers, status $status: $(tail -n 2 "$err"); "
      done
      nothing "$program on two nodes (emulated, $profile)" "$wrong"
    done
  done
  for seed in 1 2 3 4 5; do
    run FI_STRICT_PROFILE=worst FI_STRICT_SEED=$seed TOBI_TRANSPORT=ofi TOBI_NODES=3 "$bench" uts --tree T1 --workers 6 --verify
    rule "uts T1 on three nodes (emulated, worst, seed $seed)" right
  done
  for progress in manual thread; do
    for profile in cxi psm3 worst; do
      run FI_STRICT_PROFILE=$profile TOBI_OFI_PROGRESS=$progress TOBI_TRANSPORT=ofi TOBI_NODES=2 "$bench" uts --tree T1 --workers 4 --verify
      rule "uts T1, TOBI_OFI_PROGRESS=$progress (emulated, $profile)" right
    done
  done
fi
finish
