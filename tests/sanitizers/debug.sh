#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lane: beside, 400 s
# soak: the whole library is compiled once more, which takes as long as all of the gate's tests
# MODE=debug: each file is compiled by itself, so that a missing include is noticed, and the protocols look at their invariants
# (libcore/base/invariants.hpp). Unit tests, and jobs with deques, collections and a cache.
. "${BASH_SOURCE%/*}/sanitized.inc"
jobs=(collections_job_test global_memory_job_test schedulers_job_test task_job_test)
env MAKEFLAGS= "$MAKE" --no-print-directory MODE=debug -k -j2 all "${jobs[@]/#/build/debug/tests/}" >"$out" 2>"$err"; verdict $? "MODE=debug builds the library, the tools and jobs"
sanitized debug plain-tests
for job in "${jobs[@]}"; do
  run "build/debug/tests/$job"
  all "debug: $job" '[ $status -eq 0 ]' '! complains "does not hold"'
done
finish
