#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lane: beside, 75 s
# What reads bytes from others, fed by libFuzzer with what nobody meant (tests/fuzz/README.md). In the gate the inputs are the same
# ones each time; in a soak each target runs for an hour, with others. Arguments: the targets, or all.
. "$(dirname "$0")/../harness.inc"
declare -A sources=(
  [meeting]="bootstrap/tcp/messages.cc bootstrap/tcp/meeting.cc bootstrap/tcp/sockets.cc libcore/base/log.cc"
  [cards]="bootstrap/cards.cc bootstrap/layout.cc bootstrap/host_names.cc bootstrap/tcp/door.cc bootstrap/tcp/sockets.cc libcore/base/log.cc"
  [settings]="libcore/base/settings.cc transports/settings.cc libcore/base/log.cc"
  [cells]=
  [report]="tools/report/trace.cc tools/report/results.cc tools/report/activity.cc"
  [topology]="arch/topology.cc"
)
in_soak && sources[report]="-DPAGES $(ls tools/report/*.cc tools/plot/*.cc | grep -v /main.cc | tr '\n' ' ')"
declare -A libraries=([report]=-lfmt [topology]=-lhwloc)
# So many inputs take some seconds.
declare -A inputs=([meeting]=500000 [cards]=60000 [settings]=100000 [cells]=2000000 [report]=20000 [topology]=1500)
compile="clang++ -std=c++20 -O1 -g1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -I. -Ilibcore/include -I$OUT/obj -DTOBI_VERSION=\"0\""
if ! echo 'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }' | $compile -x c++ - -o "$folder/none" 2>"$err"; then
  skip "fuzzing: needs the packages clang and libclang-rt-dev"
  finish
fi
[ $# -gt 0 ] || set -- meeting cards settings cells report topology
for target in "$@"; do
  # shellcheck disable=SC2086
  if ! HANG_S=600 run $compile tests/fuzz/"$target.cc" ${sources[$target]} ${libraries[$target]:-} -o "$folder/$target"; then
    not_ok "$target: it can be built"
    continue
  fi
  found=build/fuzz/$target
  mkdir -p "$found" "$folder/corpus"
  if in_soak; then
    how="-max_total_time=${FUZZ_S:-3600}"
    HANG_S=$((${FUZZ_S:-3600} + 120))
  else
    how="-seed=1 -runs=${inputs[$target]}"
  fi
  leaks=1
  [ "$target" != topology ] || leaks=0  # hwloc 2.9 loses what it has read of a damaged file
  # shellcheck disable=SC2086
  run ASAN_OPTIONS=detect_leaks=$leaks "$folder/$target" $how -rss_limit_mb=2000 -timeout=25 -detect_leaks=$leaks \
    -artifact_prefix="$found/" "$folder/corpus" tests/fuzz/seeds/"$target"
  all "$target: $(sed -n 's/^Done \([0-9]* runs\) in \([0-9]*\) second.*/\1, \2 s/p' "$err")" '[ $status -eq 0 ]' 'complains "^Done [0-9]"'
  rm -rf "$folder/corpus"
done
finish
