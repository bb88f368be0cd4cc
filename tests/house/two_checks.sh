#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lane: alone, 240 s
# soak: two checks at the same time; what they could find of each other is in the tests themselves
# Two checks of two checkouts run at the same time on one machine and do not see each other: the tests that name processes, ports,
# files in /dev/shm and jobs of launchers, in both at once.
. "$(dirname "$0")/../harness.inc"
only='^(fault/(kill_random|signals|start_and_memory|namespaces|site_settings|wrap)|launchers/(mpi|mpirun|agreement)|conform/contract|apps/(utofu|peers|nodes|info)|unit/(ring|door|sockets|left_files|utofu_emulator|soft)|jobs/(fault_handler|helper_threads|registered_memory))'
for n in 1 2; do
  mkdir "$folder/$n"
  # With their times, so that nothing is built again.
  { git ls-files -z; [ "$OUT" = "${OUT#/}" ] && printf '%s\0' "$OUT"; } | xargs -0 tar -c | tar -x -C "$folder/$n" || not_ok "checkout $n can be made"
done
check() {  # N: as a user begins it, with nothing of this test's in its environment
  cd "$folder/$1" || return
  limited env -u SOAK -u ROOT -u OUT -u BIN -u CHECK_MARK -u HANG_S -u MAKEFLAGS -u MFLAGS -u MAKELEVEL \
    -u RUNS -u SEEDS -u FAIL_UP_TO -u BUDGET -u TRIES -u SECONDS_EACH -u COHERENCE_SEEDS -u COHERENCE_EACH \
    -u COHERENCE_POLICY -u COHERENCE_SHARED -u FAULTS -u SEED -u FIRST_SEED \
    ONLY="$only" "$MAKE" check >"$folder/said.$1" 2>&1 </dev/null
}
check 1 &
first=$!
check 2
second=$?
wait $first
first=$?
for n in 1 2; do
  out=$folder/said.$n err=/dev/null
  [ $n = 1 ] && status=$first || status=$second
  all "checkout $n: $(tail -n 1 "$out")" '[ $status -eq 0 ]' 'says "^[1-9][0-9]* passed, 0 failed, "' '! says "^LATE"'
done
finish
