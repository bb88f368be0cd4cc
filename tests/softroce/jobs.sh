#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# soak: minutes of emulation
# Tests of tests/jobs over verbs: their jobs over a network, simulated or real, are over the two devices of the guest (TESTS_OVER).
# JOBS: which tests, where not these.
. "${BASH_SOURCE%/*}/inside.inc"
[ "${1:-}" = --inside ] || run_in_guest

: "${JOBS:=one_sided ityr_loops ityr_memory ityr_tasks ityr_hints global_algorithms global_orders global_refs global_vector
distributed_vector scattered_stores accumulate collections combined futures finish results on_all_workers}"
passes() { run "$BIN/../tests/$1_job_test" && says 'PASSED'; }
unset TOBI_HEAP_SIZE  # each test has its own, or heaps that grow
export TESTS_OVER=verbs
for job in $JOBS; do
  begin=$SECONDS
  rule "over verbs: $job" passes "$job"
  echo "# $job: $((SECONDS - begin)) s"
done
finish
