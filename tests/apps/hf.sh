#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lane: computes, 9 s
# tobi-bench hf: energies are those that are published, and those of a serial program, by each scheme and over each kind of fabric;
# each task is executed once in each iteration. What an iteration is found to do is in the lines. No time is asserted.
program=hf
. "$(dirname "$0")/collection.inc"

energy() { sed -n 's/.*"energy":\(-[0-9.]*\).*/\1/p' "$out"; }
near() { awk -v a="$1" -v b="$2" 'BEGIN {d = a - b; exit !(a != "" && d < 3e-6 && d > -3e-6)}'; }

# Szabo and Ostlund have the first two; p functions do not change the energy of an atom of beryllium.
published() {  # ENERGY ARGUMENTS
  right "hf ${*:2}: a serial program agrees" "${@:2}" --workers 2
  all "hf ${*:2}: the published energy is $1 hartree" 'near "$(energy)" '"$1" 'says "\"converged\":true"' 'says "\"ended\":true"'
}
published -1.1167143 --molecule h2
published -2.8077840 --molecule he
published -14.3518805 --atoms 1 --basis sto-3g
published -14.5667640 --atoms 1
# Screening that is on changes nothing that can be seen.
published -14.5667640 --atoms 1 --threshold 1e-16 --tile 1
all "a published energy of another molecule would be noticed" '! near -14.5667640 -14.3518805'

for scheme in $some_schemes; do
  for workers in ${SOAK:+1 2} 4; do
    right "$scheme on $workers workers" --scheme "$scheme" --atoms 10 --tile 3 --workers $workers --iterations 4
    all "$scheme on $workers workers: five iterations" '[ "$(grep -o "\"utilisation\":" "$out" | wc -l)" -eq 5 ]' \
      'says "\"scheme\":\"$scheme\",\"workers\":$workers,\"servers\":0,\"nodes\":1,\"transport\":"' 'says "\"ended\":false"'
  done
  right "$scheme in a crystal" --scheme "$scheme" --layout crystal --atoms 6 --tile 4 --workers 2
  over_sim "$scheme" 4 --atoms 8 --tile 4
  over_sim_cached "$scheme" --atoms 6 --tile 4
  over_ofi 'on two nodes over libfabric' "$scheme" --atoms 5 --tile 4 --workers 2 --iterations 3
  right "$scheme with more workers than tasks" --scheme "$scheme" --molecule h2 --workers 4
  run "$bench" hf --scheme "$scheme" --atoms 4 --workers 2 --iterations 0
  all "$scheme for people, iteration 0 alone" '[ $status -eq 0 ]' silent 'says "^ *0  *[0-9.]*  *[0-9.]*  *[0-9.]*  *[0-9]* "' \
    '! says "^ *1 "' 'says "energy: -"' 'says "utilisation over time"'
done
for scheme in $some_schemes; do
  over_ofi 'with servers that run no tasks' "$scheme" TOBI_AMO_SERVER=worker --atoms 4 --tile 2 --workers 6 --iterations 2
  [ $ofi_works = no ] || all "$scheme with servers: four workers run tasks, two serve" 'says "\"workers\":4,\"servers\":2,"'
done
run "$bench" hf --atoms 4 --workers 2 --iterations 2 --repeat 2 --json
all "--repeat 2 has two lines of one energy" '[ $status -eq 0 ]' silent 'lines 2' '[ "$(energy | cut -c 1-12 | sort -u | wc -l)" -eq 1 ]'

# Null tasks are executed once, and never again but by steal_all. Two pairs of tiles that are far apart make one.
count() {  # FIELD: of all iterations, in order
  tr '{' '\n' <"$out" | sed -n 's/.*"executed":\([0-9]*\),"null":\([0-9]*\).*/\1 \2/p' | cut -d ' ' -f "$1" | tr '\n' ' '
}
for scheme in $schemes; do
  run "$bench" hf --scheme "$scheme" --atoms 12 --tile 6 --workers 2 --iterations 2 --json
  some=$(field non_null_tasks) all_of_them=$(field all_tasks)
  all "$scheme: null tasks are found in iteration 0" '[ "$all_of_them" -eq 231 ]' '[ "$some" -gt 0 ]' '[ "$some" -lt 231 ]'
  if [ "$scheme" = steal_all ]; then
    equal "$scheme executes all tasks in each iteration" "$(count 1)" "231 231 231 "
  else
    equal "$scheme executes the others alone in further iterations" "$(count 1)" "231 $some $some "
    equal "$scheme has null tasks in iteration 0 alone" "$(count 2)" "$((231 - some)) 0 0 "
  fi
done
number='[0-9][0-9.e+-]*'
spread="{\"mean\":$number,\"deviation\":$number}"
run "$bench" hf --atoms 8 --tile 4 --workers 2 --iterations 2 --json
all "a line has the numbers of each iteration" '[ $status -eq 0 ]' silent 'lines 1' \
  'says "\"params\":{\"molecule\":\"be8-chain\",\"basis\":\"6-31g\",\"atoms\":8,\"functions\":24,\"tile\":4,\"threshold\":1e-10}"' \
  'says "\"seconds\":$number,\"first_seconds\":$number,\"ideal_seconds\":$number,\"efficiency\":$number,\"all_tasks\":231,"' \
  'says "{\"seconds\":$number,\"ideal_seconds\":$number,\"efficiency\":$number,\"moved\":0,\"balance_seconds\":$number,\"between_seconds\":$number,\"executed\":"' \
  'says "\"tasks\":$spread,\"attempted_steals\":$spread,\"steals\":$spread,\"stolen\":$spread,\"utilisation\":\[$number,"' \
  'says "\"result\":{\"energy\":-$number,\"steps\":3,\"converged\":false},\"verified\":null}"'

# Iteration 1 of a balancer is stolen, 2 is kept, and what is behind them is rebalanced.
for scheme in plb_central plb_hier; do
  run "$bench" hf --scheme "$scheme" --layout crystal --atoms 12 --tile 3 --workers 4 --iterations 5 --json
  tr '{' '\n' <"$out" | sed -n 's/.*"moved":\([0-9]*\),"balance_seconds":\([0-9.e-]*\),.*/\1 \2/p' >"$folder/moved"
  all "$scheme moves tasks before iterations 3, 4 and 5" '[ $status -eq 0 ]' silent \
    '[ "$(head -n 3 "$folder/moved" | sort -u)" = "0 0.0" ]' '[ "$(tail -n 3 "$folder/moved" | grep -vc " 0.0$")" -eq 3 ]' \
    '[ "$(tail -n 3 "$folder/moved" | awk "{ sum += \$1 } END { print sum }")" -gt 0 ]'
  all "$scheme does not steal behind iteration 1" '[ "$(grep -o "\"attempted_steals\":{\"mean\":0.0," "$out" | wc -l)" -eq 4 ]'
done

refuses "--scheme: " --scheme greedy
refuses "--molecule: " --molecule h3
refuses "--layout: " --layout star
refuses "--basis: " --basis 3-21g
refuses "choose sto-3g" --molecule he --basis 6-31g
for bad in 0 -1 257 x ''; do refuses "--atoms: " --atoms "$bad"; done
for bad in 0 -1 129 x; do refuses "--tile: " --tile $bad; done
for bad in -1 10001 x; do refuses "--iterations: " --iterations $bad; done
for bad in 0 1 -1 nan x; do refuses "--threshold: " --threshold $bad; done
for bad in 0 99999; do refuses "--workers: " --workers $bad; done
refuses "can be kept count of" --atoms 256 --tile 1
refuses "choose fewer --atoms" --atoms 256 --tile 16 --layout crystal --verify
refuses "extra" extra
finish
