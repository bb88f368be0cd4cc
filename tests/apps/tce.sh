#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lane: computes, 8 s
# tobi-bench tce: the contraction is what a serial program makes it, by each scheme and over each kind of fabric, and each product
# of tiles is computed once in each iteration. No time is asserted.
program=tce
. "$(dirname "$0")/collection.inc"
run "$bench" tce --blocks 1 --inner 1 --tile 1 --workers 1 --iterations 0
if [ $status -eq 2 ] && complains OpenBLAS; then
  skip "tobi-bench tce: $(cat "$err")"
  finish
  exit
fi
# Blocks and tiles of several sizes; 2404 products.
small="--blocks 6,5,3,5 --inner 2,3,2,2 --tile 3"
tiny="--blocks 3,2,1,2 --inner 2,1,1,2 --tile 2"

norm() { sed -n 's/.*"norm":\([0-9.e+]*\).*/\1/p' "$out"; }

for scheme in $some_schemes; do
  for workers in ${SOAK:+1 2} 4; do
    right "$scheme on $workers workers" --scheme "$scheme" $small --workers $workers --iterations 3
    all "$scheme on $workers workers: four iterations of 2404 products" \
      '[ "$(grep -o "\"executed\":2404,\"null\":0" "$out" | wc -l)" -eq 4 ]' 'says "\"all_tasks\":2404,"'
  done
  over_sim "$scheme" 4 $small --iterations 1
  right "$scheme on two nodes over sim without chains" TOBI_NODES=2 TOBI_TRANSPORT=sim TOBI_SIM=nochain --scheme "$scheme" $tiny \
    --workers 2 --iterations 1
  over_sim_cached "$scheme" $small --iterations 1
  for server in native ${SOAK:+inline} worker; do
    over_ofi "on two nodes over libfabric, atomics by $server" "$scheme" TOBI_AMO_SERVER=$server $tiny --workers 4 --iterations 1
  done
  right "$scheme with more workers than tasks" --scheme "$scheme" --blocks 1 --inner 1 --workers 4 --iterations 1
  run "$bench" tce --scheme "$scheme" $small --workers 2 --iterations 0
  all "$scheme for people, iteration 0 alone" '[ $status -eq 0 ]' silent 'says "^ *0  *[0-9.]*  *[0-9.]*  *[0-9.]*  *2404 "' 'says "norm: "'
done

# What the tiles are does not change the contraction, and what the tensors are does.
norms=
for tile in 1 2 3 6 40; do
  run "$bench" tce --blocks 6,5,3,5 --inner 2,3,2,2 --tile $tile --workers 2 --iterations 0 --json
  norms="$norms $(norm | cut -c 1-10)"
done
all "the norm of C is the same with each size of tiles" '[ "$(echo $norms | tr " " "\n" | sort -u | wc -l)" -eq 1 ]' '[ "$(echo $norms | wc -w)" -eq 5 ]'
run "$bench" tce $small --seed 2 --workers 2 --iterations 0 --json
all "another seed makes another C" '[ $status -eq 0 ]' '[ -n "$(norm)" ]' '[ "$(norm | cut -c 1-10)" != "${norms##* }" ]'
# One block has no symmetry: all tiles exist.
right "one spatial block" --blocks 7 --inner 5 --tile 3 --workers 2 --iterations 0
all "one spatial block: each tile of C takes each pair of inner tiles" '[ "$(field all_tasks)" -eq 324 ]'
right "more blocks outside than inside" --blocks 2,2,2,2,2,2,2,2 --inner 3,2 --tile 2 --workers 2 --iterations 0
right "more blocks inside than outside" --blocks 3 --inner 2,2,2,2,2 --tile 2 --workers 2 --iterations 0
! in_soak || right "the sizes that it has by itself" --workers 2 --iterations 1

refuses "--scheme: " --scheme greedy
for bad in 0 -1 x 65536 3,,2 3, 3x 1,1,1,1,1,1,1,1,1; do refuses "--blocks: '$bad' is no list of 1 to 8 sizes" --blocks "$bad"; done
refuses "--inner: '0' is no list" --inner 0
refuses "an index has 120000 values" --blocks 60000,60000
for bad in 0 41 x; do refuses "--tile: " --tile $bad; done
refuses "can be kept count of" --blocks 240,180,100,210 --inner 20,24,20,20 --tile 2
refuses "extra" extra
finish
