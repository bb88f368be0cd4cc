#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# soak: three hosts that are namespaces, which only root can make, and their daemons
# Jobs of several hosts by their launchers: Slurm's srun, Open MPI's mpirun, MPICH's mpiexec. In a soak: every program of tobi-bench, by
# srun and mpirun.
. "$(dirname "$0")/../harness.inc"
. tests/hosts/hosts.inc
inside 3
clean
trees="$bench uts --tree T1 --verify"
per_node="srun --mpi=pmix -N 3 --ntasks-per-node=1"
per_worker="srun --mpi=pmix -N 3 --ntasks-per-node=2"
mpirun="mpirun.openmpi --host h1:2,h2:2,h3:2"
one_each="mpirun.openmpi --host h1,h2,h3"
mpiexec="mpiexec.mpich -hosts h1:2,h2:2,h3:2 -n 6"
tcp='TOBI_OFI_PROVIDER=tcp;ofi_rxm'
one_message() { [ "$(cat "$out" "$err" | grep -c '^tobi: ')" -eq 1 ]; }
# mpirun's own children and it move each of them to a group of its own, and one may come second.
silent_but_for_mpirun() { ! grep -qv 'plm:rsh: Warning: setpgid' "$err"; }
right() {  # WORDS WORKERS COMMAND...: a job with the right result and no complaint
  local words=$1 workers=$2
  shift 2
  run "$@"
  all "$words" '[ $status -eq 0 ]' "says \" $workers workers (.*\(ofi\|mpi\)\"" 'says yes' 'lines 3' '! complains "^tobi: "'
}

# --- srun ---
right "srun, a process per host that forks its workers" 6 TOBI_WORKERS=2 $per_node $trees
right "srun, a process per worker" 6 $per_worker $trees
right "srun over tcp" 6 "$tcp" $per_worker $trees
run TOBI_WORKERS=2 TOBI_STATS=1 $per_node $trees
all "continuations move between the hosts" '[ $status -eq 0 ]' '[ "$(awk "/steals, successful/ {print \$NF}" "$err")" -gt 0 ]'
right "srun in another folder" 6 $per_worker --chdir=/var/tmp $trees
# Slurm lets a fence of PMIx that asks for no values pass at once, unless it is told otherwise.
fences="$BIN/../tests/fences"
for launcher in "$per_node" "$per_worker" "$mpirun" "mpiexec.mpich -hosts h1,h2,h3 -n 3"; do
  run $launcher "$fences"
  all "nobody leaves a fence before all have come: $launcher" 'says "^[36] ranks, 60 of 60 fences held"' '! complains "^ran for"'
done
run srun -N 3 "$bench" fib
all "srun without --mpi=pmix is one error" '[ $status -eq 2 ]' '! says result' 'complains "srun without --mpi=pmix started this program"'
# One process cannot begin, and the others wait for it in a fence: without srun -K, too, the job ends.
cat >"$folder/mistaken" <<SCRIPT
#!/bin/bash
case \$(hostname) in h2) export TOBI_STACK_SIZE=pigeon ;; esac
exec "$bench" fib
SCRIPT
chmod +x "$folder/mistaken"
for launcher in "$per_node" "$one_each" "$mpiexec"; do
  run $launcher "$folder/mistaken"
  all "a mistake on one host ends the job, and names it: ${launcher%% *}" '[ $status -ne 0 ]' '! says result' \
    'messages=$(cat "$out" "$err" | grep "^tobi: ")' '[ "$(wc -l <<<"$messages")" -le 2 ]' \
    '! grep -qv "^tobi: process [0-9] on h2: TOBI_STACK_SIZE=pigeon" <<<"$messages"'
done
run srun --mpi=pmix -N 2 "$BIN/tobi-perf" get --size 8,64 --iters 200
all "srun -N 2 tobi-perf get measures between two hosts, and names both" '[ $status -eq 0 ]' 'says "rank 0 on h1.*, rank 1 on h2"' \
  '[ "$(grep -c "^get  *ofi " "$out")" -eq 2 ]' silent
run srun --mpi=pmix -N 2 --ntasks-per-node=2 "$BIN/tobi-perf" rate --pairs 2 --bidirectional --iters 4096
all "two pairs across two hosts, in both directions" '[ $status -eq 0 ]' 'says "rank 0 on h1.*, rank 2 on h2"' \
  '[ "$(grep -c "^rate-both  *ofi " "$out")" -eq 1 ]' silent
# The pairs of its sheet are of both hosts, and so are its crowds and its steals. All hosts here have the same cores.
run TOBI_PIN=none srun --mpi=pmix -N 2 --ntasks-per-node=2 "$BIN/tobi-perf" all --json -n 48 -w 5 --size 8,4K
all "srun -N 2 tobi-perf all makes the sheet between two hosts, of several ranks and of steals" '[ $status -le 1 ]' '! complains "^tobi: "' \
  '[ "$(grep -c "rank 0 on h1[^,]*, rank 1 on h2" "$out")" -eq 4 ]' 'jq -se "map(select(.ranks)) | length == 4 and all(.[]; .median_us)" "$out" >/dev/null' \
  'jq -se "map(select(.op)) | map(.op) | contains([\"get\", \"rate\", \"steal.steal_word\", \"steal.the\"])" "$out" >/dev/null'
run srun --mpi=pmix -N 2 "$BIN/tobi-conform" ofi --rule put-integrity --rule get-integrity
all "and tobi-conform asks its rules" '[ $status -eq 0 ]' '[ "$(grep -c ^pass "$out")" -eq 2 ]' '! says "^fail"'
cat >"$folder/odd" <<SCRIPT
#!/bin/bash
case \$(hostname) in h2) export TOBI_STACK_SIZE=1M ;; h3) ulimit -l 64 ;; esac
exec "$BIN/tobi-info" --no-measure "\$@"
SCRIPT
chmod +x "$folder/odd"
run srun --mpi=pmix -N 3 "$BIN/tobi-info" --no-measure
all "tobi-info shows all hosts in one table, and that they are alike" '[ $status -eq 0 ]' silent '[ "$(grep -c "^  h[123] .*ranks [012] " "$out")" -eq 3 ]' \
  '[ "$(grep -c ^machine "$out")" -eq 1 ]' '! says differs'
run srun --mpi=pmix -N 3 "$folder/odd"
all "and marks what differs, with its ranks and hosts" '[ $status -eq 0 ]' silent 'says "^  h2 .*differs from rank 0"' 'says "^  TOBI_STACK_SIZE"' \
  'says "rank 1 on h2: 1M"' 'says "ranks 0, 2 on h1 h3: 64M"' 'says "^  pages locked_limit_bytes"' 'says "rank 2 on h3: 65536"'
run $one_each "$BIN/tobi-info" --json
all "and so under mpirun, where MPI is not opened twice" '[ $status -eq 0 ]' silent_but_for_mpirun '[ "$(grep -c "\"kind\":\"host\"" "$out")" -eq 3 ]'

# --- mpirun of Open MPI ---
right "mpirun, a process per worker" 6 $mpirun $trees
right "mpirun, a process per host that forks its workers" 6 $one_each -x TOBI_WORKERS=2 --bind-to none $trees
right "mpirun over tcp" 6 $mpirun -x "$tcp" $trees
run $mpirun -x TOBI_TRANSPORT=mpi $trees
all "Open MPI has no windows over TCP, and says so once" '[ $status -eq 2 ]' one_message \
  'complains "on h1: this MPI library cannot make a dynamic window"'
run $one_each -x TOBI_WORKERS=2 -x TOBI_LABEL=1 -x TOBI_LOG=info $trees
all "TOBI_LABEL=1 names the rank and host of each line" '[ $status -eq 0 ]' 'says "^\[0 h1\] .* yes$"' \
  '[ "$(grep -o "^\[[0-9] h[123]\] tobi: " "$err" | sort -u | wc -l)" -eq 6 ]'
run TOBI_STATS=1 $one_each $trees
all "without -x mpirun gives no setting to other hosts" '[ $status -eq 0 ]' 'says yes' '! complains statistics'
right "mpirun with another folder on each host" 6 mpirun.openmpi -n 1 --host h1 --wdir /tmp $trees : -n 1 --host h2 --wdir / $trees : \
  -n 1 --host h3 --wdir /var $trees

# --- mpiexec of MPICH: its MPI_Finalize may not return over TCP, and the job ends 10 s later all the same ---
ends_right() {  # WORDS COMMAND...
  local words=$1
  shift
  run "$@"
  all "$words" '! complains "^ran for"' 'says " 6 workers (.*\(ofi\|mpi\)"' 'says yes' \
    '[ $status -eq 0 ] || complains "^tobi: rank 0: the job is over and its results are whole, but MPI_Finalize\|^\[mpiexec@"'
}
ends_right "mpiexec, which speaks no PMIx" $mpiexec $trees
ends_right "mpiexec over MPI" $mpiexec -genv TOBI_TRANSPORT mpi $trees
ends_right "mpiexec over tcp" $mpiexec -genv TOBI_OFI_PROVIDER 'tcp;ofi_rxm' $trees

# --- a host that does not start ---
if [ -n "${SOAK:-}" ]; then
  run srun --mpi=pmix -N 3 --ntasks-per-node=1 bash -c "[ \$(hostname) != h2 ] || exit 1; exec $trees"
  all "where a host does not start, srun without -K waits and the others say so once, or Slurm finds it" '! complains "^ran for"' \
    '[ "$(grep -c "^tobi: .*not all of the 3 processes" "$err")" -eq 1 ] || complains "pmixp.*Cannot establish"'
  run srun -K --mpi=pmix -N 3 --ntasks-per-node=1 bash -c "[ \$(hostname) != h2 ] || exit 1; exec $trees"
  all "with -K the job ends" '[ $status -ne 0 ]' '! complains "^ran for"'
fi

# --- hosts that are not alike ---
run mpirun.openmpi -n 1 --host h1 $bench fib : -n 1 --host h2 env TOBI_DEQUE=the $bench fib
all "a setting of one host alone is refused, and both hosts are named" '[ $status -eq 2 ]' one_message \
  'complains "TOBI_DEQUE is the on rank 1 on h2, and on rank 0 on h1 it is"'
for host in $(hosts); do on "$host" hostname localnode; done
run mpirun.openmpi -n 1 --host h1 $bench fib : -n 1 --host h2 env TOBI_DEQUE=the $bench fib
all "hosts of one name are told apart by their addresses" '[ $status -eq 2 ]' one_message \
  'complains "rank 1 on localnode@10.77.0.2, and on rank 0 on localnode@10.77.0.1 it is"'
run mpirun.openmpi --host h1,h2,h3 "$BIN/tobi-info" --no-measure --json
all "tobi-info has a line for each of them" '[ $status -eq 0 ]' '[ "$(grep -c "\"kind\":\"host\",\"host\":\"localnode@10" "$out")" -eq 3 ]'
for host in $(hosts); do on "$host" hostname "$host"; done
head -c 20 /dev/zero | cat <(printf '\4\0\0\0\24\0\0\0\3\0\0\0GNU\0') - >"$folder/id"
objcopy --update-section .note.gnu.build-id="$folder/id" "$bench" "$folder/other-build"
on h2 mount --bind "$folder/other-build" "$bench"
run $per_node $trees
all "another build at the same place of one host is refused, and both are named" '[ $status -ne 0 ]' '! says yes' one_message \
  'complains "rank [1-9] on h2 runs another program than rank 0 on h1"'
on h2 umount "$bench"
mkdir "$folder/lib"
cp -L "$(ldd "$bench" | awk '/libhwloc/ {print $3}')" "$folder/lib/"
run mpirun.openmpi -n 1 --host h1 $trees : -n 1 --host h2 -x LD_LIBRARY_PATH="$folder/lib" $trees
all "a library at another place on one host is refused, and both are named" '[ $status -eq 2 ]' '! says yes' one_message \
  'complains "libhwloc.*rank 0 on h1.*rank 1 on h2"'
for host in $(hosts); do
  sed "s/^.* $host\$/127.0.1.1 $host/" /etc/hosts >"$folder/hosts.$host"
  on "$host" mount --bind "$folder/hosts.$host" /etc/hosts
done
right "srun where the name of each host leads to itself" 6 $per_worker $trees
right "mpirun where the name of each host leads to itself" 6 $mpirun $trees
for host in $(hosts); do on "$host" umount /etc/hosts; done


# --- a host with less, or that counts other seconds ---
cat >"$folder/few" <<SCRIPT
#!/bin/bash
case \$(hostname) in h2) ulimit -n 24 ;; esac
exec "$bench" "\$@"
SCRIPT
cat >"$folder/little" <<SCRIPT
#!/bin/bash
case \$(hostname) in h2) ulimit -l 64; ulimit -v \$((8 << 20)) ;; esac
exec "$bench" "\$@"
SCRIPT
chmod +x "$folder/few" "$folder/little"
for launcher in "env TOBI_WORKERS=2 $per_node" "$per_worker" "$mpirun"; do
  run $launcher "$folder/few" uts --tree T1 --verify
  all "24 open files on one host are too few, and say so once: $launcher" '[ $status -ne 0 ]' '! complains "^ran for"' one_message \
    'complains "on h2: .*of the 24 files that this process may open are taken: raise the limit (ulimit -Hn"'
  right "little locked memory and 8 GiB of addresses on one host: $launcher" 6 $launcher "$folder/little" uts --tree T1 --verify
done
run $mpiexec "$folder/few" uts --tree T1 --verify
all "with 24 open files MPICH does not start, and names the host and the limit" '[ $status -ne 0 ]' '! complains "^ran for"' \
  'cat "$out" "$err" | grep -q "\[h2:.*ulimit -n"'
on h2 sh -c 'rm -f /dev/shm/mpich_shar_tmp*'  # MPICH leaves it
ends_right "little locked memory and addresses on one host: mpiexec" $mpiexec "$folder/little" uts --tree T1 --verify
mkdir /tmp/only && on h1 mkdir /tmp/only
for launcher in "$per_worker" "$mpirun"; do
  run env -C /tmp/only $launcher "$bench" uts --tree T1 --verify
  all "a folder that one host has: $launcher" '[ $status -eq 0 ]' 'says yes' '! complains "^tobi: "'
done
run env -C /tmp/only $mpiexec "$bench" uts --tree T1 --verify
all "and mpiexec, which may or may not name it, does not start there" '[ $status -ne 0 ]' '! says yes' '! complains "^ran for"'
rmdir /tmp/only && on h1 rmdir /tmp/only
plugin=$(cd "$BIN/../lib" && pwd)/libtobi-mpi-mpich.so
on h2 mount --bind /dev/null "$plugin"
run $mpiexec $trees
all "MPICH's plugin is missing on one host" '[ $status -ne 0 ]' '! says yes' '! complains "^ran for"' \
  'cat "$out" "$err" | grep -q "^tobi: process [23] on h2: TOBI_BOOTSTRAP=mpi cannot be used: the plugin for mpich cannot be loaded"'
on h2 umount "$plugin"
# The kernel's namespaces of time are newer than the others.
if [ "$(($(on h2 cut -d . -f 1 /proc/uptime) - $(on h1 cut -d . -f 1 /proc/uptime)))" -lt 3000 ]; then
  skip "hosts that have been up for hours more than each other: the kernel has no namespaces of time"
fi
run TOBI_TRACE="$folder/trace" $per_worker $bench uts --tree T3
all "a trace of hosts whose clocks differ has one time line" '[ $status -eq 0 ]' '"$BIN/tobi-report" "$folder/trace" >"$out"' \
  'awk "NR == 1 { exit !(\$(NF - 3) < 3000) }" "$out"' \
  'jq -e "(.otherData.ranks | map(.clock_error_ns) | 2 * max / 1000 + 0.002) as \$bound | [.traceEvents[] | select(.cat == \"arrow\")] | group_by(.id) |
    length > 0 and all((map(select(.ph == \"s\").ts) | sort) as \$from | (map(select(.ph == \"f\").ts) | sort) as \$to |
      (\$from | length) == (\$to | length) and all(range(\$to | length); \$to[.] >= \$from[.] - \$bound))" "$folder/trace" >/dev/null'

# --- every program ---
programs() {
  cat <<END
fib --n 24
cilksort --n 60000 --cutoff 2000
lcs --n 2048 --c 128
END
  [ -z "${SOAK:-}" ] || cat <<END
nqueens --n 9
btc --depth 12
pfor --n 256 --m 1
recpfor --n 32 --m 1
hf --atoms 12 --tile 6 --iterations 2
tce --blocks 8,6,3,7 --inner 4,5,4,4 --tile 4 --iterations 2
uts-mem --tree T1
gups --n 16384
stream --n 60000
histogram --scale 8
pagerank --scale 8 --iterations 3
fmm --n 2000 --nspawn 200
END
}
while read -r program; do
  for launcher in "env TOBI_WORKERS=2 $per_node" "$mpirun" ${SOAK:+"$per_worker"}; do
    run $launcher "$bench" $program --verify
    all "${program%% *}: ${launcher##*[ /]TOBI_WORKERS=2 }" '[ $status -eq 0 ]' 'says yes' '! complains "^tobi: "'
  done
done < <(programs)

rule "nothing is left on any host" settled 10
nothing "what is left" "$left"
finish
