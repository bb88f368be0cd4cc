#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lane: sleeps, 6 s
# Who waits for the others of a job moves the fabric meanwhile, whatever has started the job: else a start of several nodes stalls
# until a limit strikes. tests/launchers/moves.cc has the played fabric; then the jobs that stalled, over libfabric.
. "$(dirname "$0")/../harness.inc"
moves=$BIN/../tests/moves
jobs=0
moved() {  # WORDS RANKS WAY [NAME=VALUE...] COMMAND...
  local words=$1 ranks=$2 way=$3
  shift 3
  run "$@" "$moves" "$folder/fabric$((++jobs))"
  all "$words" '[ $status -eq 0 ]' "says '^$ranks ranks by $way have moved in $((3 * ranks + 1)) fences'" '! complains "^tobi: "'
}
# Three processes that meet over TCP, in a network of their own, where nobody else has the port.
cat >"$folder/three" <<'SCRIPT'
#!/bin/bash
ip link set lo up || exit
TOBI_CONNECT=127.0.0.1 "$@" & a=$!
TOBI_CONNECT=127.0.0.1 "$@" & b=$!
TOBI_LISTEN=3 "$@"; listened=$?
wait $a && wait $b && exit $listened
SCRIPT
chmod +x "$folder/three"

moved "workers that one process has forked" 4 fork TOBI_WORKERS=4
if unshare -rn ip link set lo up 2>/dev/null; then
  moved "processes that meet over TCP" 3 tcp unshare -rn "$folder/three"
  moved "and fork" 6 tcp TOBI_WORKERS=6 unshare -rn "$folder/three"
else
  skip "processes that meet over TCP: unshare -rn ip makes no network here"
fi
if command -v mpirun.openmpi >/dev/null && "$BIN/tobi-info" --json | grep '"name":"pmix"' | grep -q '"usable":true'; then
  mpirun="mpirun.openmpi --allow-run-as-root --oversubscribe"
  moved "processes of mpirun, by PMIx" 4 pmix $mpirun -n 4
  moved "and fork" 4 pmix $mpirun --bind-to none -n 2 -x TOBI_WORKERS=4
  if provider_is_here 'tcp;ofi_rxm'; then
    for nodes in 2 3; do
      run $mpirun -n $((2 * nodes)) -x TOBI_NODES=$nodes -x TOBI_TRANSPORT=ofi "$bench" fib --n 22 --verify
      all "$nodes nodes of two processes over libfabric" '[ $status -eq 0 ]' 'says "shm+ofi"' 'says yes' '! complains "^tobi: "'
    done
  else
    skip "nodes over libfabric: $(head -n 1 "$err")"
  fi
else
  skip "processes of mpirun: needs the packages openmpi-bin, libpmix2 and, at build time, libpmix-dev"
fi
for library in openmpi mpich; do
  case $library in openmpi) launcher="mpirun.openmpi --allow-run-as-root --oversubscribe" ;; *) launcher=mpiexec.mpich ;; esac
  if command -v "${launcher%% *}" >/dev/null && [ -e "$BIN/../lib/libtobi-mpi-$library.so" ]; then
    moved "processes of $library, by MPI" 3 mpi TOBI_BOOTSTRAP=mpi $launcher -n 3
  else
    skip "processes of $library: needs its launcher, and its -dev package when Tobiuo is built"
  fi
done
finish
