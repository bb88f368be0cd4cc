#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lane: beside, 60 s
# What reads bytes from others, fed by libFuzzer with what nobody meant (tests/fuzz/README.md). In the gate the inputs are the same
# ones each time, with one compiler; in a soak all targets run at once for an hour, with others. Arguments: the targets, or all.
. "$(dirname "$0")/../harness.inc"
declare -A sources=(
  [meeting]="bootstrap/tcp/messages.cc bootstrap/tcp/meeting.cc bootstrap/tcp/sockets.cc libcore/base/log.cc"
  [cards]="bootstrap/cards.cc bootstrap/came_with_program.cc bootstrap/layout.cc bootstrap/host_names.cc bootstrap/tcp/door.cc bootstrap/tcp/sockets.cc libcore/base/log.cc"
  [settings]="libcore/base/settings.cc transports/settings.cc libcore/base/log.cc"
  [cells]=
  [report]="tools/report/trace.cc tools/report/results.cc tools/report/activity.cc tools/report/where.cc tools/report/limit.cc"
  [topology]="arch/topology.cc"
)
pages=
if in_soak; then
  pages=-DPAGES
  sources[report]=$(ls tools/report/*.cc tools/plot/*.cc | grep -v /main.cc | tr '\n' ' ')
fi
declare -A libraries=([report]=-lfmt [topology]=-lhwloc)
# So many inputs take some seconds.
declare -A inputs=([meeting]=300000 [cards]=40000 [settings]=50000 [cells]=1000000 [report]=15000 [topology]=800)
compile="clang++ -std=c++20 -O1 -g1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -I. -Ilibcore/include -I$OUT/obj -DTOBI_VERSION=\"0\""
if ! echo 'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }' | $compile -x c++ - -o "$folder/none" 2>"$err"; then
  skip "fuzzing: needs the packages clang and libclang-rt-dev"
  finish
fi
[ $# -gt 0 ] || set -- meeting cards settings cells report topology
# Of what several targets read with, each file is compiled once.
built() {  # TARGET
  local from object objects=()
  for from in tests/fuzz/"$1.cc" ${sources[$1]}; do
    object=$folder/${from//\//_}.o
    # shellcheck disable=SC2086
    [ -e "$object" ] || HANG_S=600 run $compile $pages -c "$from" -o "$object" || return
    objects+=("$object")
  done
  # shellcheck disable=SC2086
  run $compile "${objects[@]}" ${libraries[$1]:-} -o "$folder/$1"
}
fed() {  # TARGET
  # libFuzzer learns from addresses that are compared, and takes up its own files again when their time comes.
  local leaks=1 fixed="setarch -R" how="-seed=1 -reload=0 -runs=${inputs[$1]}"
  ! in_soak || fixed='' how="-max_total_time=${FUZZ_S:-3600}"
  [ "$1" != topology ] || leaks=0  # hwloc 2.9 loses what it has read of a damaged file
  mkdir -p "build/fuzz/$1" "$folder/corpus.$1"
  # shellcheck disable=SC2086
  HANG_S=$((HANG_S + ${FUZZ_S:-3600})) out=$folder/$1.out err=$folder/$1.err run ASAN_OPTIONS=detect_leaks=$leaks $fixed "$folder/$1" $how \
    -rss_limit_mb=2000 -timeout=100 -detect_leaks=$leaks -artifact_prefix="build/fuzz/$1/" "$folder/corpus.$1" tests/fuzz/seeds/"$1"
  echo $status >"$folder/$1.status"
}
ready=()
for target in "$@"; do
  if built "$target"; then ready+=("$target"); else not_ok "$target: it can be built"; fi
done
for target in "${ready[@]}"; do
  if in_soak; then fed "$target" & else fed "$target"; fi
done
wait
for target in "${ready[@]}"; do
  out=$folder/$target.out err=$folder/$target.err status=$(cat "$folder/$target.status")
  all "$target: $(sed -n 's/^Done \([0-9]* runs\) in \([0-9]*\) second.*/\1, \2 s/p' "$err")" '[ $status -eq 0 ]' 'complains "^Done [0-9]"'
done
finish
