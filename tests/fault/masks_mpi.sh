#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# soak: the contract once for each mask
# MPI, Open MPI's and MPICH's, keeps the contract and runs UTS without each capability that TOBI_MASK names.
. "$(dirname "$0")/../harness.inc"
. tests/fault/masks.inc
for library in openmpi mpich; do
  case $library in openmpi) launcher="mpirun.openmpi --allow-run-as-root --oversubscribe" ;; mpich) launcher=mpiexec.mpich ;; esac
  if ! command -v "${launcher%% *}" >/dev/null || [ ! -e "$OUT/lib/libtobi-mpi-$library.so" ]; then
    skip "masks over $library: needs its packages"
    continue
  fi
  for mask in $all_masks; do
    # shellcheck disable=SC2086
    run TOBI_MASK="$mask" TOBI_TRANSPORT=mpi TOBI_NODES=2 $launcher -n 2 "$bench" uts --tree T1 --verify --json
    all "UTS T1 over mpi ($library) without $mask" '[ $status -eq 0 ]' 'says "\"verified\":true"'
    # shellcheck disable=SC2086
    run TOBI_MASK="$mask" $launcher -n 2 "$BIN/tobi-conform" mpi
    all "mpi ($library) without $mask keeps the contract" '[ $status -eq 0 ]' '[ "$(grep -c "^pass " "$out")" -ge 15 ]'
  done
done
finish
