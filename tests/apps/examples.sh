#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lane: beside, 10 s
# Each program of tools/examples says what it should, on one worker, on two, and on two nodes with the simulated network between
# them. An example without a row here is noticed, and so is the script for Slurm that names what is not there.
. "$(dirname "$0")/../harness.inc"
: "${CXX:=g++}"
examples=$BIN/../examples
declare -A says_of=(
  [collection]='148933 primes below 2000000'
  [fib]='832040'
  [gradients]='solved in 470 steps, 4865.7362 at the centre'
  [multigrid]='0.073670 at the centre'
  [neighbours]=' is the mean distance to the nearest of 20000 points'
  [particles]='208704 came back, 23425 went through, checksum b0bd4d6bac80160c'
  [pi]='3.141592653590'
  [queens]='724 ways for 10 queens'
  [sort]='10000000 numbers are sorted'
  [stencil]='mean temperature after 200 steps: 1.631835'
  [sweep]='400 queues, checksum 1fe6389b00c938c1, 9377065 ticks, 760490 of them in job 77'
  [tour]='3398 is the length of the shortest tour of 12 cities'
  [triangles]='48626 edges, 489239 triangles'
  [wavefront]='16 x 16 blocks'
  [words]='2049 of 40000 lines: "GET /page/0 HTTP/1.1" 200'
)
arguments_of_fib=30
nothing "each example has its row here" "$(for source in tools/examples/*.cc; do
  name=${source##*/} name=${name%.cc}
  [ -n "${says_of[$name]:-}" ] || echo "$name"
done)"
for name in "${!says_of[@]}"; do
  arguments=arguments_of_$name
  for how in "TOBI_WORKERS=1" "TOBI_WORKERS=2" "TOBI_WORKERS=2 TOBI_NODES=2 TOBI_TRANSPORT=sim"; do
    # shellcheck disable=SC2086 # words
    run $how "$examples/$name" ${!arguments:-}
    all "$name with $how" '[ $status -eq 0 ]' silent 'lines 1' 'grep -qF "${says_of[$name]}" "$out"'
  done
done
# A collection in the serial elision: each worker executes what was added to it.
"$CXX" -std=c++20 -O1 -DTOBI_ELIDE -I"$ROOT/libcore/include" "$ROOT/tools/examples/collection.cc" -o "$folder/elided" -L"$BIN/../lib" -ltobi -Wl,-rpath,"$BIN/../lib" >"$out" 2>&1
for workers in 1 2; do
  run TOBI_WORKERS=$workers "$folder/elided"
  all "collection, elided, on $workers" '[ $status -eq 0 ]' silent 'grep -qF "${says_of[collection]}" "$out"'
done
script=tools/examples/job.slurm
all "the script for Slurm can be read by a shell" "bash -n $script"
nothing "the settings of the script for Slurm are there" "$(grep -oE 'TOBI_[A-Z_]+' $script | sort -u | grep -vxFf <("$BIN/tobi-info" --settings --json | sed -n 's/.*"name":"\([^"]*\)".*/\1/p'))"
finish
