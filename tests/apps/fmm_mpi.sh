#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lane: computes, 60 s
# fmm-mpi, which tobi-bench fmm is compared with: the fields on any number of processes, and what is refused.
. "$(dirname "$0")/../harness.inc"
fmm=$BIN/fmm-mpi
if ! [ -e "$fmm" ]; then
  skip "fmm-mpi: needs the package libopenmpi-dev or libmpich-dev, at build time"
  finish
fi
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
if ldd "$fmm" | grep -q libmpich; then launcher="mpiexec.mpich -n"; else launcher="mpirun.openmpi --oversubscribe --bind-to none -n"; fi
if ! command -v "${launcher%% *}" >/dev/null; then
  skip "fmm-mpi: there is no ${launcher%% *}"
  finish
fi
on() {  # PROCESSES ARGUMENT...
  local processes=$1
  shift
  run $launcher "$processes" "$fmm" "$@"
}
# value NAME: of the JSON that was printed. A number that is below another: less NUMBER NUMBER.
value() { sed -n "s/.*\"$1\":\([^,}]*\).*/\1/p" "$out"; }
less() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a != "" && a + 0 < b + 0) }'; }

# --- the fields ---
for shape in cube sphere plummer; do
  energy=
  for processes in 1 2 3 4; do
    on $processes --n 6K --shape $shape --check 500 --json
    all "$shape on $processes: the errors are those that ExaFMM allows" '[ $status -eq 0 ]' 'lines 1' \
      'says "\"processes\":$processes,.*\"verified\":true"' 'less "$(value potential)" 5e-4' 'less "$(value force)" 5e-3'
  done
  on 3 --n 6K --shape $shape --check 500 --json --order 8 --theta 0.4
  all "$shape: and they are smaller of a higher order" '[ $status -eq 0 ]' 'less "$(value potential)" 1e-5' 'less "$(value force)" 1e-4'
  # Expansions of order 12 are as good as exact, so a difference would be a body that is missed or counted twice.
  for processes in 1 2 3 4; do
    on $processes --n 1K --shape $shape --check 1K --json --order 12
    energies="$energy $(value energy)"
    all "$shape on $processes: all fields are right to ten digits, and so is their sum" '[ $status -eq 0 ]' 'less "$(value potential)" 1e-10' \
      'less "$(value force)" 1e-8' 'awk -v e="$energies" "BEGIN { n = split(e, x, \" \"); d = (x[1] - x[n]) / x[1]; exit !(n > 0 && d * d < 1e-22) }"'
    : "${energy:=$(value energy)}"
  done
done
on 3 --n 2K --theta 0 --check 2K --json
all "without expansions all pairs are computed" '[ $status -eq 0 ]' 'says "\"pairs\":4000000,"' 'says "\"cells\":0,"' 'less "$(value force)" 1e-13'
for n in 1 2 3; do
  on 4 --n $n --check 3 --json
  all "4 processes with $n bodies" '[ $status -eq 0 ]' 'says "\"verified\":true"' "less \"\$(value pairs)\" $((n * n + 1))"
done
on 2 --n 3K --threads 2 --check 500 --json
all "with two threads of each process" '[ $status -eq 0 ]' 'says "\"workers\":4,"' 'says "\"verified\":true"'
on 2 --n 3K --ncrit 1 --check 500 --json
all "a body per leaf" '[ $status -eq 0 ]' 'says "\"verified\":true"'
on 2 --n 3K --ncrit 100000 --check 500 --json
all "all bodies in one leaf of each process" '[ $status -eq 0 ]' 'says "\"verified\":true"' 'says "\"pairs\":9000000,"'

# --- time steps ---
energy=
for processes in 1 3; do
  for balance in count work; do
    on $processes --n 1K --shape plummer --order 12 --steps 4 --balance $balance --check 1K --json
    energies="$energy $(value energy)"
    all "four steps on $processes by $balance end in the same fields" '[ $status -eq 0 ]' 'less "$(value force)" 1e-8' \
      'awk -v e="$energies" "BEGIN { n = split(e, x, \" \"); d = (x[1] - x[n]) / x[1]; exit !(n > 0 && d * d < 1e-20) }"'
    : "${energy:=$(value energy)}"
  done
done
on 4 --n 20K --shape plummer --theta 0.5 --steps 3 --json
counted=$(value imbalance)
on 4 --n 20K --shape plummer --theta 0.5 --steps 3 --balance work --json
all "the same work of each process is more even than the same number of bodies" '[ $status -eq 0 ]' 'less "$(value imbalance)" "$counted"' \
  'less "$(value imbalance)" 1.1'

# --- what is printed, and what is refused ---
on 2 --n 1K --repeat 3
all "for people: a table with a line per run" '[ $status -eq 0 ]' 'lines 5' silent \
  'says "^fmm-mpi n=1000 shape=cube order=4 theta=0.2 ncrit=32 seed=1 steps=1 balance=count, 2 processes of 1 thread$"' 'says "^ *seconds  *partition s .*idleness"'
on 2 --n 1K --repeat 3 --json --seed 7
all "JSON: an object per run" '[ $status -eq 0 ]' 'lines 3' '[ "$(grep -c "^{\"app\":\"fmm-mpi\",\"params\":{\"n\":1000,.*\"seed\":7,.*\"idleness\":[0-9.e-]*,.*}$" "$out")" -eq 3 ]'
on 1 --n 2K --theta 1 --shape plummer --order 12 --check 2K
all "fields that are too wrong are told, by the status too" '[ $status -eq 1 ]' 'says " NO$"'
run "$fmm" --help
all "--help needs no launcher" '[ $status -eq 0 ]' 'says "--theta"' silent
refused() {  # WHAT ARGUMENT...
  local words=$1
  shift
  on 2 "$@"
  all "refused by one sentence of all processes: $words" '[ $status -ne 0 ]' '! says .' '[ "$(grep -c "^fmm-mpi: .*fmm-mpi --help says more" "$err")" -eq 1 ]'
}
refused 'no bodies' --n 0
refused 'a number that is none' --n many
refused 'a shape that there is not' --shape cone
refused 'an order above 12' --order 13
refused 'an order of 0' --order 0
refused 'a theta above 1' --theta 1.5
refused 'no leaf without a body' --ncrit 0
refused 'an option that there is not' --bogus
refused 'a balance that there is not' --balance none
finish
